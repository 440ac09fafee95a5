/** Bandwidth beside nvbandwidth, and copy-engine bandwidth beside a hand-written loop as a second opinion. */
import { type BenchRow, type Round, ratio } from "../../bench/row.js";
import { type BandwidthCell, BYTES, bandwidthCells, COPIES, WARMUP_COPIES } from "../cells.js";
import { bandwidth, type End } from "../loops.js";
import { cellOf } from "../nvbandwidth.js";
import { runNvbandwidth } from "../peers.js";
import { type Bench, failed, type Group, measure, pathOf, type RowSpec, streamNs } from "./group.js";

/** At least 0.995 of the other side, and agreeing with it within 1 %. */
const AGREES = { min: 0.995, max: 1.01 };
const ROUNDS = 3;
const SAMPLING = { warmup: WARMUP_COPIES, target: 0.002, minSamples: 5, maxSamples: 15, budgetMs: 1500 };

interface CellSpec extends RowSpec {
  readonly cell: BandwidthCell;
}

/** The library's figure for a cell, GB/s. */
async function ours(bench: Bench, cell: BandwidthCell): Promise<number> {
  const run = await measure(bench, cell.program, { mode: "throughput", batch: COPIES, sampling: SAMPLING });
  // For each stream the bytes of one iteration over the median of its own time.
  return cell.streams.reduce((sum, { name, bytes }) => sum + bytes / streamNs(run, name), 0);
}

export const besideNvbandwidth: Group<CellSpec> = {
  specs: bandwidthCells().map((cell) => ({
    cell,
    name: `bandwidth: ${cell.name}, over nvbandwidth`,
    unit: "ratio",
    bar: AGREES,
    gpus: cell.gpus,
    needs: ["nvbandwidth"],
  })),
  async run(bench, wanted) {
    const rounds = bench.rounds ?? ROUNDS;
    const path = pathOf(bench.nvbandwidth);
    const figures = new Map<CellSpec, Round[]>(wanted.map((spec) => [spec, []]));
    const failures = new Map<CellSpec, BenchRow>();
    for (let round = 1; round <= rounds; round++) {
      for (const spec of wanted) {
        if (failures.has(spec)) continue;
        bench.say(`round ${round} of ${rounds}: ${spec.cell.name}`);
        try {
          figures.get(spec)?.push(await roundOf(bench, path, spec.cell));
        } catch (error) {
          failures.set(spec, failed(spec, error));
        }
      }
    }
    return wanted.map((spec) => {
      const { testcase, definition } = spec.cell;
      const detail = { testcase, definition, bytes: BYTES, copies_a_sample: COPIES };
      return failures.get(spec) ?? ratio(spec.name, figures.get(spec) ?? [], spec.bar, "GB/s", detail);
    });
  },
};

/** nvbandwidth first, the library right after it, so that both meet the same clocks. */
async function roundOf(bench: Bench, path: string, cell: BandwidthCell): Promise<Round> {
  const { output } = await runNvbandwidth(path, [cell.testcase]);
  const theirs = cellOf(output, cell.testcase, cell.row, cell.column, cell.part);
  if (theirs === null) {
    const status = output.testcases[0]?.status ?? "not run";
    throw new Error(`nvbandwidth gives no figure for ${cell.testcase} (${status})`);
  }
  return { ours: await ours(bench, cell), theirs };
}

interface LoopSpec extends CellSpec {
  readonly from: End;
  readonly to: End;
}

/** Cells that the hand-written loop can measure too, with the ends it takes. */
const LOOPS: Readonly<Record<string, readonly [End, End]>> = {
  host_to_device_memcpy_ce: ["host", 0],
  device_to_host_memcpy_ce: [0, "host"],
  device_local_copy: [0, 0],
  device_to_device_memcpy_write_ce: [0, 1],
};

export const besideLoop: Group<LoopSpec> = {
  specs: bandwidthCells().flatMap((cell) => {
    const ends = LOOPS[cell.testcase];
    if (!ends) return [];
    const [from, to] = ends;
    const name = `bandwidth: ${cell.name}, over a hand-written loop`;
    return { cell, from, to, name, unit: "ratio", bar: AGREES, gpus: cell.gpus, needs: ["loops"] as const };
  }),
  async run(bench, wanted) {
    const rows: BenchRow[] = [];
    for (const spec of wanted) {
      try {
        rows.push(await loopRow(bench, spec));
      } catch (error) {
        rows.push(failed(spec, error));
      }
    }
    return rows;
  },
};

async function loopRow(bench: Bench, spec: LoopSpec): Promise<BenchRow> {
  const rounds = bench.rounds ?? ROUNDS;
  const figures: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    bench.say(`round ${round} of ${rounds}: ${spec.cell.name}, hand-written`);
    const loop = { bytes: BYTES, copies: COPIES, repeats: 5 };
    const theirs = await bandwidth(pathOf(bench.loops), spec.from, spec.to, loop);
    figures.push({ ours: await ours(bench, spec.cell), theirs: theirs.gbps });
  }
  const definition = `${spec.cell.definition}; both sides: median of samples of ${COPIES} copies behind a gate kernel`;
  return ratio(spec.name, figures, spec.bar, "GB/s", { definition, bytes: BYTES });
}
