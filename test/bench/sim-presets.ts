import { SimulatedMachine } from "../../kernel/lab/machines/simulated.js";
import { type Program, program } from "../../kernel/lab/program.js";
import { median } from "../../kernel/lab/sampling.js";
import { PUBLISHED, type Published, type Quantity } from "./published.js";
import { type BenchRow, measured } from "./row.js";

/** As p2pBandwidthLatencyTest: five copies of 40,000,000 ints, a hundred of 16 bytes, back to back. */
const BULK = { bytes: 160_000_000, batch: 5 } as const;
const SMALL = { bytes: 16, batch: 100 } as const;

/** Misses above this share are explained one by one. */
const LARGE_MISS = 0.3;

export interface Score {
  readonly published: Published;
  /** In the unit of the published value. */
  readonly model: number;
  /** Model over published, less 1. */
  readonly error: number;
}

/** What the model of each preset gives for each published matrix. The same numbers each time: the model is seeded. */
export async function presetScores(entries: readonly Published[] = PUBLISHED): Promise<Score[]> {
  const machines = new Map<string, SimulatedMachine>();
  const known = new Map<string, number>();
  const scores: Score[] = [];
  for (const published of entries) {
    const { preset, quantity, pairs, value } = published;
    const machine = machines.get(preset) ?? SimulatedMachine.open(preset);
    machines.set(preset, machine);
    const values: number[] = [];
    for (const [from, to] of pairs) {
      const key = `${preset} ${quantity} ${from}>${to}`;
      const result = known.get(key) ?? (await measure(machine, quantity, from, to));
      known.set(key, result);
      values.push(result);
    }
    const model = median(Float64Array.from(values));
    scores.push({ published, model, error: model / value - 1 });
  }
  return scores;
}

async function measure(
  machine: SimulatedMachine,
  quantity: Quantity,
  from: number,
  to: number,
): Promise<number> {
  const latency = quantity.startsWith("latency");
  const { bytes, batch } = latency ? SMALL : BULK;
  const bothWays = quantity.startsWith("both-ways");
  const copies = programOf(from, to, {
    bytes,
    bothWays,
    read: quantity === "read-on",
    peer: quantity.endsWith("on"),
  });
  const run = await machine.run(copies, {
    mode: "throughput",
    batch,
    sampling: { minSamples: 5, maxSamples: 5 },
  });
  const ns = run.samples.convergence.medianNs;
  return latency ? ns / 1000 : ((bothWays ? 2 : 1) * bytes) / ns;
}

/** Copies by the source, or read by the destination; the other way, by the other GPU, beside it. */
function programOf(
  from: number,
  to: number,
  how: { bytes: number; bothWays: boolean; read: boolean; peer: boolean },
): Program {
  const { bytes } = how;
  let made = program()
    .buffer("src", { gpu: from, bytes })
    .buffer("dst", { gpu: to, bytes })
    .stream("out", { gpu: how.read ? to : from });
  if (how.bothWays) {
    made = made
      .buffer("src back", { gpu: to, bytes })
      .buffer("dst back", { gpu: from, bytes })
      .stream("back", { gpu: to });
  }
  if (!how.peer) made = made.peerAccess(false);
  made = made.copy("out", "src", "dst");
  if (how.bothWays) made = made.copy("back", "src back", "dst back");
  made = made.sync("out", "spin");
  return how.bothWays ? made.sync("back", "spin") : made;
}

/**
 * Rows of `npm run bench -- sim`: the median |error| of the presets against the published matrices that they took no figure
 * from, how many large misses nobody explains, and each matrix without a bar.
 */
export async function presetRows(): Promise<BenchRow[]> {
  const scores = await presetScores();
  const unseen = scores.filter(({ published }) => published.input === undefined);
  const absolute = (some: readonly Score[]) => Float64Array.from(some, ({ error }) => Math.abs(error));
  const large = unseen.filter(({ error }) => Math.abs(error) > LARGE_MISS);
  const unexplained = large.filter(({ published }) => published.miss === undefined);
  return [
    measured(
      "presets: median |error| against published matrices",
      median(absolute(unseen)),
      "ratio",
      { max: 0.15 },
      {
        matrices: unseen.length,
        above_30_percent: large.length,
        with_inputs: median(absolute(scores)),
      },
    ),
    measured(
      "presets: misses above 30 % without explanation",
      unexplained.length,
      "count",
      { max: 0 },
      {
        which: unexplained.map(nameOf).join("; "),
      },
    ),
    ...scores.map((score) =>
      measured(`presets: ${nameOf(score)}`, score.error, "ratio", null, {
        model: score.model,
        published: score.published.value,
        ...(score.published.input ? { input: score.published.input } : {}),
        ...(score.published.miss && Math.abs(score.error) > LARGE_MISS ? { miss: score.published.miss } : {}),
      }),
    ),
  ];
}

function nameOf({ published }: Score): string {
  const { preset, quantity, source, pairs } = published;
  const [first] = pairs;
  return `${preset} ${quantity} ${source} (${first?.join("→")}${pairs.length > 1 ? ", …" : ""})`;
}
