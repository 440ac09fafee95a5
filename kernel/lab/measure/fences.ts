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

type Fence = Extract<ProbeOperation, { kind: "fence" }>;

export interface FencesOptions extends ProbeOptions {
  /** GPU that runs them; default 0. */
  gpu?: number;
  /** Where the stores go; default the GPU's own memory. */
  memory?: Memory | readonly Memory[];
  /** Default all three. */
  scope?: Fence["scope"] | readonly Fence["scope"][];
  /** Stores of 8 bytes, side by side, before each fence; default 0, 1 and 16. */
  stores?: number | readonly number[];
  /** Fences of one repetition; default 1000. */
  accesses?: number;
}

const SCOPES = ["block", "gpu", "system"] as const;

/**
 * What a fence costs one thread (`__threadfence_block`, `__threadfence`, `__threadfence_system`), with nothing outstanding and
 * behind stores that are still under way: a sample is the mean time of the stores and their fence. The empty loop is
 * measured and taken out.
 *
 * @returns a row a memory, scope and number of stores: `gpu`, `memory`, `scope`, `stores`, `fence_ns` (median), `ci_low_ns`,
 * `ci_high_ns`, `p05_ns`, `p95_ns`, `mean_ns`, `n`, `converged`, `clock_ghz`, `verified`, `note`, and the provenance columns. A cell that
 * could not be had is null and says why in `note`.
 */
export async function fences(machine: Machine, options: FencesOptions = {}): Promise<Table> {
  expectMachine(machine, "lab.fences");
  expectOptions(options, "lab.fences");
  expectNames(options, ["gpu", "memory", "scope", "stores", "accesses", "sampling", "signal"], "lab.fences");
  const { gpu = 0, accesses = 1000 } = options;
  const memories = expectMemories(
    expectSome(listOf(options.memory ?? { gpu }), "memory", "lab.fences"),
    "lab.fences",
  );
  const scopes = expectSome(listOf(options.scope ?? SCOPES), "scope", "lab.fences");
  const counts = expectSome(listOf(options.stores ?? [0, 1, 16]), "stores", "lab.fences");
  const cells = memories.flatMap((memory) =>
    scopes.flatMap((scope) => counts.map((stores) => ({ memory, scope, stores }))),
  );
  const results = await runCells(
    machine,
    cells.map(({ memory, scope, stores }) => ({
      label: `fence ${scope} ${memoryName(memory)}`,
      program: program()
        .buffer("words", { ...memorySpec(memory), bytes: Math.max(8, stores * 8) })
        .stream("s", { gpu })
        .probeFence("s", "words", { scope, stores, accesses }),
    })),
    options,
  );
  return tableOf(
    cells.map(({ memory, scope, stores }, index) => ({
      gpu,
      memory: memoryName(memory),
      scope,
      stores,
      ...probeFields("fence_ns", results[index] as (typeof results)[number], machine),
    })),
  );
}
