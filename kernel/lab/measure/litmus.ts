import type { Machine } from "../machine.js";
import type { ProbeOperation } from "../operations.js";
import { program } from "../program.js";
import { expectMachine, expectNames, expectOptions, expectSome } from "./expect.js";
import {
  expectMemories,
  listOf,
  type Memory,
  memoryName,
  memorySpec,
  type ProbeOptions,
  probeFields,
  runCells,
} from "./probe-cells.js";
import { type Table, tableOf } from "./table.js";

type Fence = Extract<ProbeOperation, { kind: "message-passing" }>["fence"];

export interface LitmusOptions extends ProbeOptions {
  /** GPU of the kernel that stores data, then flag. */
  from: number;
  /** GPU of the kernel that loads flag, then data; the same GPU is allowed. */
  to: number;
  /** Where the data lies; default the receiver's memory. */
  data?: Memory;
  /** Where the flag lies; default the receiver's memory. */
  flag?: Memory;
  /** Between the two stores and between the two loads; default all three. */
  fence?: Fence | readonly Fence[];
  /** Default 100,000. */
  rounds?: number;
}

const FENCES = ["none", "gpu", "system"] as const;

/**
 * The litmus test of message passing: can a receiver see the flag and still read old data? Both kernels start each round
 * together and wait a random time; all accesses are relaxed at system scope.
 *
 * @returns a row a fence: `from`, `to`, `data`, `flag`, `fence`, `rounds`, `flag_old_data_old`, `flag_old_data_new`,
 * `flag_new_data_old`, `flag_new_data_new` (how often each was seen), `reaches` (whether the memory model lets the fence order
 * the two: `system` always, `gpu` on one GPU's own memory, `none` never), `verdict` (`ordered`: old data behind a new flag was
 * never seen, and the fence forbids it; `luck`: never seen, though nothing forbids it; `reordered`: it was, as the model allows;
 * `violation`: it was, though the fence forbids it), `round_ns` and the columns that summarise it, `verified`, `note`, and the
 * provenance columns. A fence that could not be had is null and says why in `note`.
 */
export async function litmus(machine: Machine, options: LitmusOptions): Promise<Table> {
  expectMachine(machine, "lab.litmus");
  expectOptions(options, "lab.litmus");
  expectNames(options, ["from", "to", "data", "flag", "fence", "rounds", "sampling", "signal"], "lab.litmus");
  const { from, to, rounds = 100_000 } = options;
  const data = options.data ?? { gpu: to };
  const flag = options.flag ?? { gpu: to };
  expectMemories([data, flag], "lab.litmus");
  const fences = expectSome(listOf(options.fence ?? FENCES), "fence", "lab.litmus");
  const oneGpu = [data, flag].every((memory) => memory !== "host" && memory.gpu === from) && from === to;
  const results = await runCells(
    machine,
    fences.map((fence) => ({
      label: `message passing ${from} → ${to}, fence ${fence}`,
      program: program()
        .buffer("data", { ...memorySpec(data), bytes: 8 })
        .buffer("flag", { ...memorySpec(flag), bytes: 8 })
        .stream("s", { gpu: from })
        .stream("t", { gpu: to })
        .probeMessagePassing("s", "t", { data: "data", flag: "flag" }, { fence, rounds }),
    })),
    options,
  );
  return tableOf(
    fences.map((fence, index) => {
      const result = results[index] as (typeof results)[number];
      const counts = result.run?.counts;
      const reaches = fence === "system" || (fence === "gpu" && oneGpu);
      const early = counts?.flagNewDataOld ?? null;
      return {
        from,
        to,
        data: memoryName(data),
        flag: memoryName(flag),
        fence,
        rounds: counts ? Object.values(counts).reduce((sum, count) => sum + count, 0) : null,
        flag_old_data_old: counts?.flagOldDataOld ?? null,
        flag_old_data_new: counts?.flagOldDataNew ?? null,
        flag_new_data_old: early,
        flag_new_data_new: counts?.flagNewDataNew ?? null,
        reaches,
        verdict: early === null ? null : verdictOf(early > 0, reaches),
        ...probeFields("round_ns", result, machine),
      };
    }),
  );
}

/** @param reaches whether the fence forbids what was `seen` or not. */
function verdictOf(seen: boolean, reaches: boolean): string {
  if (seen) return reaches ? "violation" : "reordered";
  return reaches ? "ordered" : "luck";
}
