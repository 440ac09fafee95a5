/** Fits the costs of a machine's ways to a few probes: small programs with the operations that plans are made of. */
import type { P2pError } from "../../errors.js";
import type { MachineInfo, Run } from "../../machine.js";
import { fitLine } from "../../measure/fit.js";
import type { CopyEngine, CopyOperation, SyncMethod } from "../../operations.js";
import { type Program, program } from "../../program.js";
import { median } from "../../sampling.js";
import { build } from "./build.js";
import type { Costs, LegCosts, LegOf } from "./estimate.js";
import type { Excluded, Plan, Space } from "./plan.js";
import { type End, nameOf, type Workload, workloadOf } from "./workload.js";

/** Runs a probe; an error says that the machine does not have it. */
export type Probe = (label: string, program: Program) => Promise<Run | P2pError>;

/** A probe's message is no larger than this. */
const SMALL_BYTES = 8;
/** Copies by which the cost of one more is told. */
const SEVERAL = 8;

interface Leg {
  readonly key: string;
  readonly from: End;
  readonly to: End;
  readonly plan: Plan;
  readonly what: string;
}

const BASE: Plan = {
  path: "direct",
  engine: "copy-engine",
  chunk: "whole",
  streams: 1,
  submit: "stream",
  sync: "spin",
  notify: "event",
  kernel: "same-stream",
  parts: 1,
  messages: "separate",
};

/** Costs of what a workload can use, or null where no way could be probed or some of them not; ways that are refused. */
export async function fitCosts(
  workload: Workload,
  space: Space,
  info: MachineInfo,
  pieces: readonly number[],
  probe: Probe,
): Promise<{ costs: Costs | null; refused: Excluded[] }> {
  const fitting = new Fitting(workload, space, info, pieces, probe);
  return await fitting.fit();
}

/** Copies between GPUs whose pairs have the same link cost the same. */
export function legOf(info: MachineInfo): LegOf {
  return (program, copy) => {
    const end = (name: string): End => {
      const { place } = program.bufferOf(name);
      return "gpu" in place ? place.gpu : "host";
    };
    const [from, to] = [end(copy.src), end(copy.dst)];
    return keyOf(info, from, to, copy.engine ?? "copy-engine", program.data.peerAccess);
  };
}

function keyOf(info: MachineInfo, from: End, to: End, engine: CopyEngine, peerAccess: boolean): string {
  const kind = (end: End) => (end === "host" ? "host" : "gpu");
  if (from === "host" || to === "host") return `${engine} ${kind(from)} ${kind(to)}`;
  if (from === to) return `${engine} local`;
  const link = info.pairs.find((pair) => pair.from === from && pair.to === to)?.link ?? null;
  return `${engine} ${peerAccess ? "peer" : "driver-staged"} ${link}`;
}

class Fitting {
  readonly #workload: Workload;
  readonly #space: Space;
  readonly #info: MachineInfo;
  readonly #pieces: readonly number[];
  readonly #probe: Probe;
  readonly #legs = new Map<string, LegCosts>();
  readonly #refused: Excluded[] = [];
  /** A recording lacks a probe: what is left would not tell the costs apart. */
  #gaps = false;

  constructor(workload: Workload, space: Space, info: MachineInfo, pieces: readonly number[], probe: Probe) {
    this.#workload = workload;
    this.#space = space;
    this.#info = info;
    this.#pieces = pieces;
    this.#probe = probe;
  }

  async fit(): Promise<{ costs: Costs | null; refused: Excluded[] }> {
    const legs = this.#legsOf();
    const graph = { callNs: 0, fixedNs: 0 };
    let first: Leg | null = null;
    for (const leg of legs) {
      if (this.#gaps) break;
      const found = await this.#leg(leg);
      if (!found) continue;
      this.#legs.set(leg.key, found.costs);
      if (first) continue;
      first = leg;
      Object.assign(graph, found.graph);
    }
    if (!first || this.#gaps) return { costs: null, refused: this.#refused };
    return {
      costs: {
        legs: this.#legs,
        graphCallNs: graph.callNs,
        graphFixedNs: graph.fixedNs,
        ...(await this.#between(first)),
      },
      refused: this.#refused,
    };
  }

  /** The kinds of copies that plans of the space are made of, each by a pair that has it. */
  #legsOf(): Leg[] {
    const legs = new Map<string, Leg>();
    const add = (from: End, to: End, change: Partial<Plan>, what: string) => {
      const plan = { ...BASE, ...change };
      const key = keyOf(this.#info, from, to, plan.engine, plan.path !== "driver-staged");
      if (!legs.has(key)) legs.set(key, { key, from, to, plan, what });
    };
    const { path: paths, engine: engines } = this.#space;
    for (const { from, to } of this.#workload.routes) {
      const between = from !== "host" && to !== "host" && from !== to;
      for (const path of between ? paths : (["direct"] as const)) {
        if (path === "staged") {
          add(from, "host", {}, `${nameOf(from)} → host`);
          add("host", to, {}, `host → ${nameOf(to)}`);
          continue;
        }
        for (const engine of path === "driver-staged" ? (["copy-engine"] as const) : engines) {
          add(from, to, { path, engine }, `${path} ${engine} ${nameOf(from)} → ${nameOf(to)}`);
        }
      }
    }
    return [...legs.values()];
  }

  async #leg(leg: Leg): Promise<{ costs: LegCosts; graph: { callNs: number; fixedNs: number } } | null> {
    const sizes = [...new Set([Math.min(SMALL_BYTES, ...this.#pieces), ...this.#pieces])].sort(
      (a, b) => a - b,
    );
    const runs: { bytes: number; ns: number; apiNs: number }[] = [];
    for (const bytes of sizes) {
      const run = await this.#run(leg, bytes, 1);
      if (run) runs.push({ bytes, ...timesOf(run) });
    }
    const one = runs[0];
    if (!one) return null;
    const many = await this.#run(leg, one.bytes, SEVERAL);
    const several = many && timesOf(many);
    const graphs = this.#space.submit.includes("graph");
    const graphOne = graphs ? await this.#run(leg, one.bytes, 1, { submit: "graph" }) : null;
    const graphMany = graphs ? await this.#run(leg, one.bytes, SEVERAL, { submit: "graph" }) : null;
    const step = (a: number, b: number) => Math.max(0, (b - a) / (SEVERAL - 1));
    const callNs = several ? several.apiNs / SEVERAL : one.apiNs;
    const stepNs = several ? step(one.ns, several.ns) : callNs;
    const inGraph = graphOne && graphMany ? { one: timesOf(graphOne), many: timesOf(graphMany) } : null;
    const graphEngineNs = inGraph ? step(inGraph.one.ns, inGraph.many.ns) : stepNs;
    // Where one more copy costs what its call does, the engine waits for the host, and is at most as slow.
    const engineNs = stepNs > 1.1 * callNs ? stepNs : Math.min(stepNs, graphEngineNs);
    const rateGbps = runs.length > 1 ? fitLine(runs).rateGbps : Number.POSITIVE_INFINITY;
    const fixedNs = Math.max(0, one.ns - callNs - engineNs - one.bytes / rateGbps);
    const graphCallNs = inGraph?.one.apiNs ?? callNs;
    return {
      costs: { callNs, engineNs, graphEngineNs, rateGbps, fixedNs },
      graph: {
        callNs: graphCallNs,
        fixedNs: inGraph ? inGraph.one.ns - graphCallNs - graphEngineNs - fixedNs : 0,
      },
    };
  }

  /** What is not of a copy itself: ways to wait, to pass on, to submit many, kernels. */
  async #between(leg: Leg): Promise<Omit<Costs, "legs" | "graphCallNs" | "graphFixedNs">> {
    const own = this.#legs.get(leg.key) as LegCosts;
    const oneNs = own.callNs + own.engineNs + own.fixedNs;
    const syncNs: Partial<Record<SyncMethod, number>> = {};
    for (const sync of this.#space.sync.filter((method) => method !== "spin")) {
      const run = await this.#run(leg, SMALL_BYTES, 1, { sync });
      if (run) syncNs[sync] = timesOf(run).ns - oneNs;
    }
    const batch = this.#space.submit.includes("batch")
      ? await this.#run(leg, SMALL_BYTES, SEVERAL, { submit: "batch" })
      : null;
    const copy = this.#small(leg);
    const event = await this.#ask("event between streams", passing(copy, "event"));
    const flag = this.#space.notify.includes("flag")
      ? await this.#ask("word in memory", passing(copy, "flag"))
      : null;
    const kernel = await this.#ask("empty kernel", emptyKernel(leg));
    const callNs = (run: Run | null, calls: number) =>
      run ? Math.max(0, (timesOf(run).apiNs - calls * own.callNs) / 2) : own.callNs;
    const eventCallNs = callNs(event, 2);
    const flagCallNs = callNs(flag, 2);
    const kernelTimes = kernel && timesOf(kernel);
    const kernelCallNs = kernelTimes?.apiNs ?? own.callNs;
    return {
      syncNs,
      batchCallNs: batch ? timesOf(batch).apiNs / SEVERAL : own.callNs,
      eventCallNs,
      handOverNs: event ? passNs(timesOf(event).ns, own, eventCallNs) : 0,
      flagCallNs,
      flagHandOverNs: flag ? passNs(timesOf(flag).ns, own, flagCallNs) : 0,
      kernelCallNs,
      kernelNs: kernelTimes ? Math.max(0, kernelTimes.ns - kernelCallNs - own.fixedNs) : 0,
      hopNs: await this.#hop(),
    };
  }

  /** Between the two copies through the host in one stream. */
  async #hop(): Promise<number> {
    const route = this.#workload.routes.find(
      ({ from, to }) => from !== "host" && to !== "host" && from !== to,
    );
    if (!route || !this.#space.path.includes("staged")) return 0;
    const [out, back] = [
      this.#legs.get(keyOf(this.#info, route.from, "host", "copy-engine", true)),
      this.#legs.get(keyOf(this.#info, "host", route.to, "copy-engine", true)),
    ];
    const leg: Leg = { key: "", ...route, plan: { ...BASE, path: "staged" }, what: "staged" };
    const run = out && back ? await this.#run(leg, SMALL_BYTES, 1) : null;
    if (!run || !out || !back) return 0;
    const startNs = Math.max(out.callNs + out.engineNs, out.callNs + back.callNs);
    return Math.max(0, timesOf(run).ns - startNs - back.engineNs - back.fixedNs);
  }

  #small({ from, to, plan }: Leg, bytes = SMALL_BYTES, count = 1, change: Partial<Plan> = {}): Program {
    const small = workloadOf({ pairs: [[from, to]], bytes, count, contiguous: true }, "lab.advise");
    return build(small, { ...plan, ...change });
  }

  async #run(leg: Leg, bytes: number, count: number, change: Partial<Plan> = {}): Promise<Run | null> {
    return await this.#ask(leg.what, this.#small(leg, bytes, count, change));
  }

  async #ask(what: string, program: Program): Promise<Run | null> {
    const answer = await this.#probe(`probe ${what}`, program);
    if (!("code" in answer)) return answer;
    if (answer.code === "not-recorded") {
      this.#gaps = true;
      return null;
    }
    if (!this.#refused.some((one) => one.what === what)) {
      this.#refused.push({ what, reason: answer.message.split("\n")[0] as string });
    }
    return null;
  }
}

function timesOf({ samples }: Run): { ns: number; apiNs: number } {
  return { ns: samples.convergence.medianNs, apiNs: median(samples.apiNs) };
}

/** A copy, and the same copy again in another stream of the same GPU once the first is complete. */
function passing(small: Program, by: "event" | "flag"): Program {
  const copy = small.data.operations[0] as CopyOperation;
  const [first] = small.data.streams as readonly [{ name: string; gpu: number }];
  const again = small.bufferOf(copy.dst);
  let built = program();
  for (const { name, place, bytes } of [...small.data.buffers, { ...again, name: "again" }]) {
    built = built.buffer(name, { ...place, bytes });
  }
  if (by === "flag") built = built.buffer("flag", { gpu: first.gpu, bytes: SMALL_BYTES });
  built = built.stream("a", first).stream("b", first).peerAccess(small.data.peerAccess);
  const { api, engine = "copy-engine" } = copy;
  built = built.copy("a", copy.src, copy.dst, { api, engine });
  built =
    by === "event" ? built.record("a", "e").wait("b", "e") : built.signal("a", "flag").await("b", "flag");
  return built.copy("b", copy.src, "again", { api, engine }).sync("b", "spin");
}

/** Two copies one after the other: what is beyond their own costs is the passing on. */
function passNs(totalNs: number, { callNs, engineNs, fixedNs }: LegCosts, passCallNs: number): number {
  const submittedNs = 2 * callNs + 2 * passCallNs;
  return Math.max(0, totalNs - fixedNs - engineNs - Math.max(submittedNs, callNs + engineNs));
}

function emptyKernel({ from, to }: Leg): Program {
  const gpu = (from === "host" ? to : from) as number;
  return program().stream("s", { gpu }).launch("s").sync("s", "spin");
}
