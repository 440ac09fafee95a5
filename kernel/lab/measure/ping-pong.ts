import type { Machine } from "../machine.js";
import type { ProbeOperation } from "../operations.js";
import { program } from "../program.js";
import { expectMachine, expectNames, expectOptions, expectSome } from "./expect.js";
import { listOf, type ProbeOptions, probeFields, runCells } from "./probe-cells.js";
import { type Table, tableOf } from "./table.js";

type Store = Extract<ProbeOperation, { kind: "ping-pong" }>["store"];

export interface PingPongOptions extends ProbeOptions {
  from: number;
  /** The same GPU as `from` is allowed: two kernels on two streams. */
  to: number;
  /** How flags are stored and polled; default `release`. */
  store?: Store | readonly Store[];
  /** Rounds of one repetition; default 1000. */
  rounds?: number;
}

/**
 * How long a flag takes from a kernel on one GPU to a kernel on another that waits for it: half of the round trip between two
 * resident kernels. Each flag lies in the memory of the GPU that polls it, so that a flag crosses the link once. A sample is
 * the mean of `rounds` rounds; the quantiles are over these means.
 *
 * @returns a row a store: `from`, `to`, `store`, `rounds`, `one_way_ns` (median), `ci_low_ns`, `ci_high_ns`, `p05_ns`,
 * `p95_ns`, `mean_ns`, `n`, `converged`, `clock_ghz`, `verified` (both flags hold the last round, seen by their owners), `note`,
 * and the provenance columns. A store that could not be had is null and says why in `note`: which flag was lost, for one.
 */
export async function pingPong(machine: Machine, options: PingPongOptions): Promise<Table> {
  expectMachine(machine, "lab.pingPong");
  expectOptions(options, "lab.pingPong");
  expectNames(options, ["from", "to", "store", "rounds", "sampling", "signal"], "lab.pingPong");
  const { from, to, rounds = 1000 } = options;
  const stores = expectSome(listOf(options.store ?? "release"), "store", "lab.pingPong");
  const cells = stores.map((store) => ({
    label: `ping-pong ${from} ⇄ ${to} ${store}`,
    program: program()
      .buffer("flag", { gpu: from, bytes: 8 })
      .buffer("otherFlag", { gpu: to, bytes: 8 })
      .stream("s", { gpu: from })
      .stream("t", { gpu: to })
      .probePingPong("s", "t", { flag: "flag", otherFlag: "otherFlag" }, { rounds, store }),
  }));
  const results = await runCells(machine, cells, options);
  return tableOf(
    results.map((result, index) => ({
      from,
      to,
      store: stores[index],
      rounds,
      ...probeFields("one_way_ns", result, machine),
    })),
  );
}
