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

type Atomic = Extract<ProbeOperation, { kind: "atomic" }>;

export interface AtomicsOptions extends ProbeOptions {
  /** GPU that runs them; default 0. */
  gpu?: number;
  /** Where the word lies; default the GPU's own memory. */
  memory?: Memory | readonly Memory[];
  /** Default all three. */
  operation?: Atomic["operation"] | readonly Atomic["operation"][];
  /** Default both. */
  scope?: Atomic["scope"] | readonly Atomic["scope"][];
  /** Atomics of one repetition; default 1000. */
  accesses?: number;
}

const OPERATIONS = ["add", "exchange", "compare-and-swap"] as const;
const SCOPES = ["gpu", "system"] as const;

/**
 * Latency of an atomic: one thread, each atomic needing what the one before gave, 8 bytes, relaxed. The loop around it is
 * measured without the atomic and taken out.
 *
 * @returns a row a memory, operation and scope: `gpu`, `memory`, `operation`, `scope`, `native` (whether the driver reports
 * native atomics over the link; null for local and host memory or where it does not say), `atomic_ns` (median), `ci_low_ns`,
 * `ci_high_ns`, `p05_ns`, `p95_ns`, `mean_ns`, `n`, `converged`, `clock_ghz`, `verified` (every atomic counted), `note`, and the
 * provenance columns. A cell that could not be had is null and says why in `note`.
 */
export async function atomics(machine: Machine, options: AtomicsOptions = {}): Promise<Table> {
  expectMachine(machine, "lab.atomics");
  expectOptions(options, "lab.atomics");
  expectNames(
    options,
    ["gpu", "memory", "operation", "scope", "accesses", "sampling", "signal"],
    "lab.atomics",
  );
  const { gpu = 0, accesses = 1000 } = options;
  const memories = expectMemories(
    expectSome(listOf(options.memory ?? { gpu }), "memory", "lab.atomics"),
    "lab.atomics",
  );
  const operations = expectSome(listOf(options.operation ?? OPERATIONS), "operation", "lab.atomics");
  const scopes = expectSome(listOf(options.scope ?? SCOPES), "scope", "lab.atomics");
  const cells = memories.flatMap((memory) =>
    operations.flatMap((operation) => scopes.map((scope) => ({ memory, operation, scope }))),
  );
  const results = await runCells(
    machine,
    cells.map(({ memory, operation, scope }) => ({
      label: `atomic ${operation} ${memoryName(memory)}`,
      program: program()
        .buffer("word", { ...memorySpec(memory), bytes: 8 })
        .stream("s", { gpu })
        .probeAtomic("s", "word", { operation, scope, accesses }),
    })),
    options,
  );
  return tableOf(
    cells.map(({ memory, operation, scope }, index) => ({
      gpu,
      memory: memoryName(memory),
      operation,
      scope,
      native:
        memory === "host"
          ? null
          : (machine.info.pairs.find((pair) => pair.from === gpu && pair.to === memory.gpu)?.nativeAtomics ??
            null),
      ...probeFields("atomic_ns", results[index] as (typeof results)[number], machine),
    })),
  );
}
