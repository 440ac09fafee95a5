/** Small copies: pipelined as p2pBandwidthLatencyTest defines it, and one at a time beside a hand-written loop. */
import { lab } from "../../../kernel/lab/index.js";
import { type BenchRow, type Round, ratio } from "../../bench/row.js";
import { oneShot, pipelined } from "../loops.js";
import { latencyUs } from "../p2p-test.js";
import { runP2pTest } from "../peers.js";
import { type Bench, failed, type Group, measure, pathOf, type RowSpec, streamNs } from "./group.js";

const PIPELINED_ROUNDS = 7;
const ONE_SHOT_ROUNDS = 9;
const NO_SLOWER = { max: 1.02 };
/** As p2pBandwidthLatencyTest has them. */
const PIPELINED = { bytes: 16, copies: 100 };
const ONE_SHOT = { bytes: 8, iterations: 4000 };
const DEFINITION =
  "16-byte cuMemcpyPeerAsync, 100 back to back behind a kernel that waits, time between two events on the device by copy";

interface Spec extends RowSpec {
  /** GPU 0 to this one. */
  readonly to: 0 | 1;
  /** One round of both sides, microseconds. */
  round(bench: Bench, to: 0 | 1): Promise<Round>;
  readonly rounds: number;
  readonly definition: string;
}

function copyProgram(to: 0 | 1, bytes: number, api: "default" | "peer") {
  return lab
    .program()
    .buffer("src", { gpu: 0, bytes })
    .buffer("dst", { gpu: to, bytes })
    .stream("s", { gpu: 0 })
    .copy("s", "src", "dst", { api })
    .sync("s", "spin");
}

async function oursPipelinedUs(bench: Bench, to: 0 | 1): Promise<number> {
  const run = await measure(bench, copyProgram(to, PIPELINED.bytes, "peer"), {
    mode: "throughput",
    batch: PIPELINED.copies,
    sampling: { target: 0.005, minSamples: 100, maxSamples: 1000, budgetMs: 1000 },
  });
  return streamNs(run, "s") / 1e3;
}

async function oursOneShotUs(bench: Bench, to: 0 | 1): Promise<number> {
  const { iterations, bytes } = ONE_SHOT;
  const run = await measure(bench, copyProgram(to, bytes, "default"), {
    sampling: { target: 1e-6, minSamples: iterations, maxSamples: iterations, warmup: 500, budgetMs: 5000 },
  });
  return run.samples.convergence.medianNs / 1e3;
}

function specs(to: 0 | 1): Spec[] {
  const where = to === 0 ? "within one GPU" : "to a peer";
  const gpus = to === 0 ? 1 : 2;
  const common = { unit: "ratio", bar: NO_SLOWER, gpus, to } as const;
  return [
    {
      ...common,
      name: `pipelined 16 B copy ${where}, over p2pBandwidthLatencyTest`,
      needs: ["p2pTest"],
      rounds: PIPELINED_ROUNDS,
      definition: `${DEFINITION}; it takes one sample without warm-up, the library the median of many`,
      async round(bench) {
        const { output } = await runP2pTest(pathOf(bench.p2pTest));
        const theirs = latencyUs(output, 0, to);
        if (theirs === null) throw new Error("p2pBandwidthLatencyTest prints no GPU latency matrix");
        return { ours: await oursPipelinedUs(bench, to), theirs };
      },
    },
    {
      ...common,
      name: `pipelined 16 B copy ${where}, over a hand-written loop`,
      needs: ["loops"],
      rounds: PIPELINED_ROUNDS,
      definition: DEFINITION,
      async round(bench) {
        const loop = await pipelined(pathOf(bench.loops), 0, to, { ...PIPELINED, repeats: 200 });
        return { ours: await oursPipelinedUs(bench, to), theirs: loop.medianNs / 1e3 };
      },
    },
    {
      ...common,
      name: `one 8 B copy ${where}, over a hand-written loop that spins on cuStreamQuery`,
      needs: ["loops"],
      rounds: ONE_SHOT_ROUNDS,
      definition:
        "submit call entered (the library: or the wait of the iteration before returned) until the wait returned, host clock, median of 4000, each side its own process",
      async round(bench) {
        const loop = await oneShot(pathOf(bench.loops), 0, to, ONE_SHOT);
        return { ours: await oursOneShotUs(bench, to), theirs: loop.medianNs / 1e3 };
      },
    },
    {
      ...common,
      name: `one 8 B copy ${where}, over a hand-written loop that calls cuStreamSynchronize`,
      bar: null,
      needs: ["loops"],
      rounds: ONE_SHOT_ROUNDS,
      definition: "the library spins on cuStreamQuery, the loop leaves the spinning to the driver",
      async round(bench) {
        const loop = await oneShot(pathOf(bench.loops), 0, to, { ...ONE_SHOT, synchronize: true });
        return { ours: await oursOneShotUs(bench, to), theirs: loop.medianNs / 1e3 };
      },
    },
  ];
}

export const smallCopies: Group<Spec> = {
  specs: [...specs(0), ...specs(1)],
  async run(bench, wanted) {
    const rows: BenchRow[] = [];
    for (const spec of wanted) {
      try {
        const rounds: Round[] = [];
        const count = bench.rounds ?? spec.rounds;
        bench.say(`${count} rounds: ${spec.name}`);
        while (rounds.length < count) rounds.push(await spec.round(bench, spec.to));
        rows.push(ratio(spec.name, rounds, spec.bar, "µs", { definition: spec.definition }));
      } catch (error) {
        rows.push(failed(spec, error));
      }
    }
    return rows;
  },
};
