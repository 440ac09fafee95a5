/** Copies between a GPU and host memory: what the PCIe link carries. */
import type { Machine } from "../machine.js";
import { type Program, program } from "../program.js";
import { type Bytes, parseBytes } from "../units.js";
import { listOf } from "./axes.js";
import { expectMachine, expectNames, expectOptions, expectSome, expectWord } from "./expect.js";
import { stopped } from "./partial.js";
import { METRICS, type Metric, modeOf, SUMMARY_COLUMNS, summaryFields } from "./summary.js";
import { PROVENANCE_COLUMNS, provenanceFields, type Table, tableOf } from "./table.js";
import { type VisitOptions, visit } from "./visits.js";

/** `pinned`: page-locked, the copy engine reads it itself. `pageable`: the driver stages it through memory of its own. */
export type HostMemory = "pinned" | "pageable";
/** Which way the data flows. */
export type HostDirection = "to-gpu" | "to-host";

export interface HostCopiesOptions extends Omit<VisitOptions, "mode" | "report"> {
  /** Default all GPUs of the machine. */
  gpu?: number | readonly number[];
  bytes: Bytes | readonly Bytes[];
  /** Default both. */
  memory?: HostMemory | readonly HostMemory[];
  /** Default both. */
  direction?: HostDirection | readonly HostDirection[];
  /** `latency` (default): one copy, until the host knows. `bandwidth`: back to back behind a gate; pinned memory only. */
  metric?: Metric;
}

const MEMORIES: readonly HostMemory[] = ["pinned", "pageable"];
const DIRECTIONS: readonly HostDirection[] = ["to-gpu", "to-host"];
const NO_BATCH = "copies of pageable memory are waited for one by one: measure them by latency";
const OPTIONS = ["gpu", "bytes", "memory", "direction", "metric", "rounds", "sampling", "signal"];

/**
 * Times copies between each GPU and host memory, page-locked and pageable, both ways.
 *
 * @returns a row a GPU, direction, memory and size: `gpu`, `direction`, `memory`, `bytes`, `metric`, the columns of
 * {@link ../sweep.sweep} from `total_us` on, `reason` (why a cell is null: one that is not recorded, or pageable memory in
 * metric `bandwidth`, whose copies the host waits for one by one), and the provenance columns.
 * @throws P2pError `usage` for options that there are not; CancelledError with the cells that were done; what the first cell
 * failed with when none could be had.
 */
export async function hostCopies(machine: Machine, options: HostCopiesOptions): Promise<Table> {
  expectMachine(machine, "lab.hostCopies");
  expectOptions(options, "lab.hostCopies");
  expectNames(options, OPTIONS, "lab.hostCopies");
  const metric = expectWord("metric", options.metric ?? "latency", METRICS);
  const some = <T>(value: T | readonly T[], what: string) =>
    expectSome([...new Set(listOf(value))], what, "lab.hostCopies");
  const gpus = some(options.gpu ?? machine.info.gpus.map(({ index }) => index), "gpu");
  const sizes = some(listOf(options.bytes).map(parseBytes), "bytes");
  const memories = some(options.memory ?? MEMORIES, "memory");
  const directions = some(options.direction ?? DIRECTIONS, "direction");
  const cells = gpus.flatMap((gpu) =>
    directions.flatMap((direction) =>
      memories.flatMap((memory) =>
        sizes.map((bytes) => ({
          head: {
            gpu,
            direction: expectWord("direction", direction, DIRECTIONS),
            memory: expectWord("memory", memory, MEMORIES),
            bytes,
            metric,
          },
          label: `GPU ${gpu} ${direction} ${memory}`,
          program: hostCopy(gpu, direction, memory, bytes),
        })),
      ),
    ),
  );
  // Behind a gate the driver's own staging would wait for the gate, and the host for the staging.
  const timed = cells.filter(({ head }) => metric === "latency" || head.memory === "pinned");
  const visited = await visit(machine, timed, { ...options, mode: modeOf(metric) }, "keep");
  const rows = cells.flatMap((cell): Record<string, unknown>[] => {
    const { head } = cell;
    const index = timed.indexOf(cell);
    if (index < 0) return [{ ...head, reason: NO_BATCH, ...provenanceFields(machine.provenance) }];
    const own = visited.cells[index];
    const error = visited.errors[index];
    if (own) return [{ ...head, ...summaryFields(own, head.bytes), reason: "" }];
    if (!error) return [];
    return [{ ...head, reason: error.message.split("\n")[0], ...provenanceFields(machine.provenance) }];
  });
  const columns = ["gpu", "direction", "memory", "bytes", "metric", ...SUMMARY_COLUMNS, "reason"];
  const table = tableOf(rows, [...columns, ...PROVENANCE_COLUMNS]);
  const { stoppedBy } = visited;
  if (stoppedBy) {
    const progress = { done: rows.length, total: cells.length };
    throw stopped("lab.hostCopies", table, progress, stoppedBy.cause, stoppedBy.cancelled);
  }
  return table;
}

/** One copy between a GPU and host memory, then a wait of the host. */
export function hostCopy(gpu: number, direction: HostDirection, memory: HostMemory, bytes: Bytes): Program {
  const size = parseBytes(bytes);
  const [src, dst] = direction === "to-gpu" ? (["host", "device"] as const) : (["device", "host"] as const);
  return program()
    .buffer("device", { gpu, bytes: size })
    .buffer("host", { host: memory, bytes: size })
    .stream("s", { gpu })
    .copy("s", src, dst)
    .sync("s", "spin");
}
