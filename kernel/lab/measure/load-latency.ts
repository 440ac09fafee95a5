import type { Machine } from "../machine.js";
import { type Program, program } from "../program.js";
import { type Bytes, formatBytes, parseBytes, sizes } from "../units.js";
import { expectMachine, expectOptions, expectSome } from "./expect.js";
import { type LevelInput, levelOf } from "./load-level.js";
import {
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

/**
 * A cache line: chains with a wider stride are held against as many nodes side by side, which need as many lines but
 * fewer address translations.
 */
const LINE_BYTES = 128;

/**
 * Latency of a load by memory and footprint: dependent loads along a chain, one thread, timed by the GPU's own clocks.
 *
 * What a cell most likely hit is told by contrast alone, with up to three more runs: the same chain with the caches flushed
 * (or warm, for a cold cell), and, for wide strides, as many nodes side by side, warm and flushed. Nothing is assumed of cache
 * sizes. The owner of every chain is proven by the driver's pointer attributes, and its links by owner and reader.
 *
 * @returns a row a memory and footprint: `gpu`, `memory`, `footprint_bytes`, `stride_bytes`, `order`, `cache` (`warm` or
 * `cold`), `load_ns` (median), `ci_low_ns`, `ci_high_ns`, `p05_ns`, `p95_ns`, `mean_ns`, `n`, `converged`, `clock_ghz`,
 * `accesses` (of a repetition), `sms` (how many SMs took part), `over_local` (ratio to the GPU's own memory in the same cell,
 * where that is in the table), `flushed_ns`, `packed_ns` and `packed_flushed_ns` (the contrasts; null where not needed),
 * `level` (see {@link levelOf}; null when the contrasts do not tell), `level_reason`, `verified`, `note`, and the
 * provenance columns. A cell that could not be had is null and says why in `note`.
 * @throws P2pError `not-available` where the machine runs no probes.
 */
export async function loadLatency(machine: Machine, options: LoadLatencyOptions = {}): Promise<Table> {
  expectMachine(machine, "lab.loadLatency");
  expectOptions(options, "lab.loadLatency");
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
  const wide = strideBytes > LINE_BYTES;
  const chain = (memory: Memory, footprintBytes: number, own: { stride: number; cold: boolean }): Program =>
    program()
      .buffer("chain", { ...memorySpec(memory), bytes: footprintBytes })
      .stream("s", { gpu })
      .probeLoad("s", "chain", {
        footprintBytes,
        strideBytes: own.stride,
        order,
        cold: own.cold,
        ...(options.accesses === undefined ? {} : { accesses: options.accesses }),
        ...(options.sm === undefined ? {} : { sm: options.sm }),
      });
  const groups = memories.flatMap((memory) =>
    footprints.map((bytes) => {
      const packed = Math.floor(bytes / strideBytes) * LINE_BYTES;
      const contrasts = {
        other: chain(memory, bytes, { stride: strideBytes, cold: !cold }),
        packed: wide ? chain(memory, packed, { stride: LINE_BYTES, cold: false }) : null,
        packedFlushed: wide ? chain(memory, packed, { stride: LINE_BYTES, cold: true }) : null,
      };
      const own = chain(memory, bytes, { stride: strideBytes, cold });
      return {
        memory,
        bytes,
        own,
        ...(contrast ? contrasts : { other: null, packed: null, packedFlushed: null }),
      };
    }),
  );
  const programs = groups.flatMap((group) =>
    [group.own, group.other, group.packed, group.packedFlushed].flatMap((item) =>
      item ? [{ label: `load ${memoryName(group.memory)} ${formatBytes(group.bytes)}`, program: item }] : [],
    ),
  );
  const results = await runCells(machine, programs, options);
  const byHash = new Map(programs.map((cell, index) => [cell.program.hash, results[index] as CellResult]));
  const resultOf = (item: Program | null) => (item ? (byHash.get(item.hash) as CellResult) : null);
  const localNs = new Map(
    groups
      .filter(({ memory }) => memory !== "host" && memory.gpu === gpu)
      .map(({ bytes, own }) => [bytes, medianOf(resultOf(own))]),
  );
  return tableOf(
    groups.map((group) => {
      const own = resultOf(group.own) as CellResult;
      const ownNs = medianOf(own);
      const [otherNs, packedNs, packedFlushedNs] = [group.other, group.packed, group.packedFlushed].map(
        (item) => medianOf(resultOf(item)),
      ) as [number | null, number | null, number | null];
      const local = localNs.get(group.bytes) ?? null;
      const contrasts: LevelInput = {
        host: group.memory === "host",
        warmNs: cold ? otherNs : ownNs,
        flushedNs: cold ? ownNs : otherNs,
        packedNs,
        packedFlushedNs,
        wide,
        cold,
        measured: contrast,
      };
      const {
        note,
        verified,
        machine: name,
        provenance,
        date,
        ...fields
      } = probeFields("load_ns", own, machine);
      return {
        gpu,
        memory: memoryName(group.memory),
        footprint_bytes: group.bytes,
        stride_bytes: strideBytes,
        order,
        cache: cold ? "cold" : "warm",
        ...fields,
        accesses: own.run?.probe?.accesses ?? null,
        sms: own.run?.probe ? new Set(own.run.probe.sm).size : null,
        over_local: ownNs !== null && local !== null ? ownNs / local : null,
        flushed_ns: contrasts.flushedNs,
        packed_ns: packedNs,
        packed_flushed_ns: packedFlushedNs,
        ...levelOf(contrasts),
        verified,
        note,
        machine: name,
        provenance,
        date,
      };
    }),
  );
}

function medianOf(result: CellResult | null): number | null {
  return result?.run?.samples.convergence.medianNs ?? null;
}
