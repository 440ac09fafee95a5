import type { Machine } from "../machine.js";
import { type Program, program } from "../program.js";
import { type Bytes, formatBytes, parseBytes, sizes } from "../units.js";
import { expectMachine, expectNames, expectOptions, expectSome } from "./expect.js";
import { type Contrast, type Latency, levelOf } from "./load-level.js";
import {
  type Cell,
  type CellResult,
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

export interface LoadLatencyOptions extends ProbeOptions {
  /** GPU that loads; default 0. */
  gpu?: number;
  /** Where the chain lies; default the GPU's own memory. */
  memory?: Memory | readonly Memory[];
  /** Sizes of the chain; default 128 KiB to 512 MiB by powers of two. */
  footprints?: Bytes | readonly Bytes[];
  /** Distance of neighbouring nodes; default 128 B, a cache line. */
  stride?: Bytes;
  /** Default `random`: one cycle through all nodes that no prefetcher can guess. */
  order?: "sequential" | "random";
  /** `true` flushes the caches of owner and reader before each repetition; default warm. */
  cold?: boolean;
  /** Loads of one repetition; default 10,000. */
  accesses?: number;
  /** `each`: every repetition on the next SM (nvbandwidth's way; `mean_ns` is then its figure). */
  sm?: "each";
  /** Whether to measure beside each cell what tells its level; default true. */
  contrast?: boolean;
}

/** A cache line: chains with a wider stride are held against as many nodes this far apart. */
const LINE_BYTES = 128;
/** The small chain whose contrast others are held against. That it is cached is not assumed: flushing it must show. */
const REFERENCE_BYTES = 128 * 1024;

/**
 * Latency of a load by memory and footprint: dependent loads along a chain, one thread, timed by the GPU's own clocks.
 *
 * What a cell most likely hit is told by contrast alone (see {@link levelOf}): each chain is also measured with the caches
 * flushed (warm, for a cold cell), chains with a wide stride beside as many nodes side by side, and all of them are held
 * against a chain of 128 KiB. Nothing is assumed of cache sizes. The owner of every chain is proven by the driver's pointer
 * attributes, and its links by owner and reader.
 *
 * @returns a row a memory and footprint: `gpu`, `memory`, `footprint_bytes`, `stride_bytes`, `order`, `cache` (`warm` or
 * `cold`), `load_ns` (median), `ci_low_ns`, `ci_high_ns`, `p05_ns`, `p95_ns`, `mean_ns`, `n`, `converged`, `clock_ghz`,
 * `accesses` (of a repetition), `sms` (how many SMs took part), `over_local` (ratio to the GPU's own memory in the same cell,
 * where that is in the table), `flushed_ns`, `packed_ns` and `packed_flushed_ns` (the contrasts; null where not needed),
 * `level` (null when the contrasts do not tell), `level_reason`, `verified`, `note`, and the provenance columns. A cell that
 * could not be had is null and says why in `note`.
 */
export async function loadLatency(machine: Machine, options: LoadLatencyOptions = {}): Promise<Table> {
  expectMachine(machine, "lab.loadLatency");
  expectOptions(options, "lab.loadLatency");
  expectNames(
    options,
    [
      "gpu",
      "memory",
      "footprints",
      "stride",
      "order",
      "cold",
      "accesses",
      "sm",
      "contrast",
      "sampling",
      "signal",
    ],
    "lab.loadLatency",
  );
  const { gpu = 0, stride = LINE_BYTES, order = "random", cold = false, contrast = true } = options;
  const memories = expectMemories(
    expectSome(listOf(options.memory ?? { gpu }), "memory", "lab.loadLatency"),
    "lab.loadLatency",
  );
  const footprints = expectSome(
    listOf(options.footprints ?? sizes("128 KiB", "512 MiB", { factor: 2 })),
    "footprints",
    "lab.loadLatency",
  ).map(parseBytes);
  const strideBytes = parseBytes(stride);
  const chains = new Chains({ ...options, gpu, order });
  const wide = strideBytes > LINE_BYTES;
  const rows = memories.flatMap((memory) =>
    footprints.map((bytes) => ({
      memory,
      bytes,
      own: chains.both(memory, bytes, strideBytes),
      packed: wide ? chains.both(memory, Math.floor(bytes / strideBytes) * LINE_BYTES, LINE_BYTES) : null,
      reference: chains.both(memory, REFERENCE_BYTES, LINE_BYTES),
    })),
  );
  const wanted = rows.flatMap((row): Cell[] => {
    const label = `load ${memoryName(row.memory)} ${formatBytes(row.bytes)}`;
    const pairs = contrast ? [row.own, row.packed, row.reference] : [];
    const own = cold ? row.own.flushed : row.own.warm;
    return [own, ...pairs.flatMap((pair) => (pair ? [pair.warm, pair.flushed] : []))].map((item) => ({
      label,
      program: item,
    }));
  });
  const results = await runCells(machine, wanted, options);
  const byHash = new Map(wanted.map((cell, index) => [cell.program.hash, results[index] as CellResult]));
  const latencyOf = (item: Program): Latency | null => {
    const found = byHash.get(item.hash)?.run?.samples.convergence;
    return found ? { ns: found.medianNs, low: found.ciLowNs, high: found.ciHighNs } : null;
  };
  const contrastOf = (pair: Both | null): Contrast | null =>
    contrast && pair ? { warm: latencyOf(pair.warm), flushed: latencyOf(pair.flushed) } : null;
  const cellOf = (pair: Both) => (cold ? pair.flushed : pair.warm);
  const localNs = new Map(
    rows
      .filter(({ memory }) => memory !== "host" && memory.gpu === gpu)
      .map(({ bytes, own }) => [bytes, latencyOf(cellOf(own))?.ns]),
  );
  return tableOf(
    rows.map(({ memory, bytes, own, packed, reference }) => {
      const result = byHash.get(cellOf(own).hash) as CellResult;
      const fields = probeFields("load_ns", result, machine);
      const { verified, note, machine: name, provenance, date, ...times } = fields;
      const local = localNs.get(bytes);
      const beside = contrastOf(packed);
      const level = levelOf({
        host: memory === "host",
        cold,
        own: { warm: latencyOf(own.warm), flushed: latencyOf(own.flushed) },
        packed: beside,
        reference: contrastOf(reference),
      });
      return {
        gpu,
        memory: memoryName(memory),
        footprint_bytes: bytes,
        stride_bytes: strideBytes,
        order,
        cache: cold ? "cold" : "warm",
        ...times,
        accesses: result.run?.probe?.accesses ?? null,
        sms: result.run?.probe ? new Set(result.run.probe.sm).size : null,
        over_local: result.run && local ? result.run.samples.convergence.medianNs / local : null,
        flushed_ns: contrastOf(own)?.flushed?.ns ?? null,
        packed_ns: beside?.warm?.ns ?? null,
        packed_flushed_ns: beside?.flushed?.ns ?? null,
        ...level,
        verified,
        note,
        machine: name,
        provenance,
        date,
      };
    }),
  );
}

/** A chain warm and flushed. */
interface Both {
  readonly warm: Program;
  readonly flushed: Program;
}

/** Chains that differ in memory, size and stride only. */
class Chains {
  readonly #options: LoadLatencyOptions & { gpu: number; order: "sequential" | "random" };

  constructor(options: LoadLatencyOptions & { gpu: number; order: "sequential" | "random" }) {
    this.#options = options;
  }

  both(memory: Memory, bytes: number, strideBytes: number): Both {
    const { gpu, order, accesses, sm } = this.#options;
    const [warm, flushed] = [false, true].map((cold) =>
      program()
        .buffer("chain", { ...memorySpec(memory), bytes })
        .stream("s", { gpu })
        .probeLoad("s", "chain", {
          footprintBytes: bytes,
          strideBytes,
          order,
          cold,
          ...(accesses === undefined ? {} : { accesses }),
          ...(sm === undefined ? {} : { sm }),
        }),
    ) as [Program, Program];
    return { warm, flushed };
  }
}
