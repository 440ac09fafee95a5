/** The simulated machine: how well it predicts what it was not shown, whether it agrees with theory, and how fast it is. */
import { SimulatedMachine } from "../../kernel/lab/machines/simulated.js";
import { collective } from "../../kernel/lab/machines/simulation/collective.js";
import { COSTS } from "../../kernel/lab/machines/simulation/costs.js";
import { execute } from "../../kernel/lab/machines/simulation/execute.js";
import { planOf } from "../../kernel/lab/machines/simulation/plan.js";
import { openTwin } from "../../kernel/lab/machines/twin.js";
import { type Program, program } from "../../kernel/lab/program.js";
import { Random } from "../../kernel/lab/random.js";
import { TOPOLOGIES } from "../../kernel/lab/topology/presets.js";
import type { Topology } from "../../kernel/lab/topology/topology.js";
import { flatFabric, ringError } from "./fabrics.js";
import { type Bar, type BenchRow, failed, measured } from "./row.js";
import type { BenchOptions, BenchResult } from "./run.js";
import { presetRows } from "./sim-presets.js";
import { type HeldBack, scoreTwin } from "./twin-scores.js";

const RECORDING = "h200x2";
const MIB = 2 ** 20;

interface Item {
  readonly name: string;
  readonly unit: string;
  readonly bar: Bar;
  run(): Promise<BenchRow> | BenchRow;
}

const ITEMS: readonly Item[] = [
  // First, so that nothing is warm.
  {
    name: "opening the twin of the shipped recording",
    unit: "s",
    bar: { max: 1.5 },
    run() {
      const { seconds } = timed(() => openTwin(RECORDING));
      return measured(this.name, seconds, this.unit, this.bar, CPU_TIME);
    },
  },
  ...(["size", "path"] as const).flatMap((heldBack) => twinItems(heldBack)),
  ...([1024, 1024 * MIB] as const).map((bytes): Item => {
    const name = `ring all-reduce of ${bytes} bytes, 8 GPUs, off α–β theory`;
    const [unit, bar] = ["%", { max: 2 }] as const;
    return { name, unit, bar, run: () => measured(name, 100 * ringError(8, bytes), unit, bar) };
  }),
  {
    name: "events of random copies on 8 GPUs",
    unit: "1/s",
    bar: { min: 500_000 },
    run() {
      const topology = TOPOLOGIES[0] as Topology;
      const plan = planOf(allToAll(8, MIB), topology, COSTS[topology.generation], () => false);
      const random = new Random(1);
      let events = 0;
      for (let i = 0; i < 50; i++) execute(plan, random);
      const { seconds } = timed(() => {
        for (let i = 0; i < 1000; i++) events += execute(plan, random).events;
      });
      return measured(this.name, events / seconds, this.unit, this.bar, { events, ...CPU_TIME });
    },
  },
  {
    name: "all-to-all of 8 GPUs, 30 sizes",
    unit: "s",
    bar: { max: 2 },
    async run() {
      const machine = SimulatedMachine.open("hgx-h100-8");
      const before = process.cpuUsage();
      let samples = 0;
      for (let size = 0; size < 30; size++) {
        const run = await machine.run(allToAll(8, Math.round(8 * 1.8 ** size)));
        samples += run.samples.totalNs.length;
      }
      return measured(this.name, secondsSince(before), this.unit, this.bar, { samples, ...CPU_TIME });
    },
  },
  {
    name: "ring all-reduce of 1,024 GPUs, time",
    unit: "s",
    bar: { max: 10 },
    run() {
      const { seconds, result } = timed(bigRing);
      const detail = { messages: result.messages, events: result.events, ...CPU_TIME };
      return measured(this.name, seconds, this.unit, this.bar, detail);
    },
  },
  {
    name: "ring all-reduce of 1,024 GPUs, memory of the process",
    unit: "GB",
    bar: { max: 1 },
    run() {
      bigRing();
      // Linux and macOS: kilobytes; the most that the process ever held.
      return measured(this.name, process.resourceUsage().maxRSS / 1e6, this.unit, this.bar);
    },
  },
];

const CPU_TIME = {
  definition: "processor time of this process, so that other work on the computer does not count",
};

/** Every row that the bench gives by itself; those of the presets come with it. */
export async function simBench({ wants, say }: BenchOptions): Promise<BenchResult> {
  const rows: BenchRow[] = [];
  for (const item of ITEMS) {
    if (!wants(item.name)) continue;
    say(item.name);
    try {
      rows.push(await item.run());
    } catch (error) {
      rows.push(failed(item.name, item.unit, item.bar, error));
    }
  }
  if (wants("preset")) {
    say("presets against published matrices");
    rows.push(...(await presetRows()));
  }
  return {
    machine: "models, no GPU",
    rows,
    warnings: [],
    facts: { recording: RECORDING, node: process.version, presets: TOPOLOGIES.length },
  };
}

function twinItems(heldBack: HeldBack): Item[] {
  const name = `twin of ${RECORDING}, transfers between GPUs, each ${heldBack} held back`;
  const score = () => scoreTwin(RECORDING, heldBack);
  const detail = ({ predicted, worstError, within2Sigma }: ReturnType<typeof score>) => ({
    predicted,
    worst_percent: 100 * worstError,
    within_2_sigma: within2Sigma,
  });
  const item = (what: string, bar: Bar, pickOf: (scored: ReturnType<typeof score>) => number): Item => ({
    name: `${name}: ${what}`,
    unit: "%",
    bar,
    run: () => {
      const scored = score();
      return measured(`${name}: ${what}`, 100 * pickOf(scored), "%", bar, detail(scored));
    },
  });
  return [
    item("median |error|", { max: 8 }, (scored) => scored.medianError),
    item("p90 |error|", { max: 20 }, (scored) => scored.p90Error),
  ];
}

/** Each GPU copies a part to every other one, in turn from its right neighbour on. */
function allToAll(gpus: number, bytes: number): Program {
  let of = program();
  for (let i = 0; i < gpus; i++) {
    of = of
      .buffer(`src${i}`, { gpu: i, bytes })
      .buffer(`dst${i}`, { gpu: i, bytes: bytes * gpus })
      .stream(`s${i}`, { gpu: i });
  }
  for (let i = 0; i < gpus; i++) {
    for (let k = 1; k < gpus; k++) {
      of = of.copy(`s${i}`, `src${i}`, `dst${(i + k) % gpus}`, { bytes, dstOffset: i * bytes });
    }
  }
  for (let i = 0; i < gpus; i++) of = of.sync(`s${i}`);
  return of;
}

function bigRing() {
  const topology = flatFabric(1024);
  const gpus = [...Array(1024).keys()];
  const wanted = { operation: "all-reduce", algorithm: "ring", gpus, bytes: 1024 * MIB } as const;
  return collective(topology, COSTS[topology.generation], wanted);
}

function timed<T>(action: () => T): { seconds: number; result: T } {
  const before = process.cpuUsage();
  const result = action();
  return { seconds: secondsSince(before), result };
}

function secondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
