import type {
  Machine,
  MachineInfo,
  Provenance,
  ProvenanceKind,
  Run,
  RunOptions,
  Trace,
} from "../../kernel/lab/machine.js";
import type { Program } from "../../kernel/lab/program.js";
import { samplingOf, stop } from "../../kernel/lab/sampling.js";
import { timelineOf } from "../../kernel/lab/timeline.js";

/** Known truth for tests: each copy costs a fixed time and a rate, with a small ripple that has the median in its middle. */
interface Script {
  launchNs: number;
  setupNs: number;
  receiverNs: number;
  apiNs: number;
  gbps: number;
  /** Added to the total of a traced iteration. */
  observerNs: number;
}

const SCRIPT: Script = {
  launchNs: 4000,
  setupNs: 1500,
  receiverNs: 2000,
  apiNs: 2500,
  gbps: 400,
  observerNs: 1000,
};

const RIPPLE = [-40, -20, 0, 20, 40];

/** A machine whose every number is known in advance. Staged transfers pay setup and bytes once per copy. */
export function scriptedMachine(kind: ProvenanceKind, script: Script = SCRIPT): Machine {
  const provenance: Provenance = {
    kind,
    machine: "2 × scripted GPU",
    date: "2026-01-02T03:04:05.000Z",
    source: "test",
  };
  const gpu = (index: number) => ({
    index,
    name: "scripted",
    memoryBytes: 2 ** 30,
    computeCapability: null,
    pci: null,
    copyEngines: null,
  });
  const pair = (from: number, to: number) => ({
    from,
    to,
    peerAccess: true,
    nativeAtomics: null,
    link: null,
    rawGbps: null,
    reason: null,
  });
  const info: MachineInfo = {
    name: provenance.machine,
    gpus: [gpu(0), gpu(1)],
    pairs: [pair(0, 1), pair(1, 0)],
    facts: {},
  };
  return {
    provenance,
    info,
    run: async (program, options) => runOf(program, options ?? {}, provenance, script),
    close: async () => {},
  };
}

function runOf(program: Program, options: RunOptions, provenance: Provenance, script: Script): Run {
  const copies = program.data.operations.flatMap((o) => (o.op === "copy" ? [o.bytes] : []));
  const engineNs = copies.reduce((sum, bytes) => sum + script.setupNs + bytes / script.gbps, 0);
  const n = 200;
  const series = (base: number) =>
    Float64Array.from({ length: n }, (_, i) => base + (RIPPLE[i % 5] as number));
  const totalNs = series(script.launchNs + engineNs + script.receiverNs);
  const convergence = stop(totalNs, 1, samplingOf({ minSamples: n, maxSamples: n }));
  if (!convergence) throw new Error("the script does not converge");
  const flat = (value: number) => new Float64Array(n).fill(value);
  const trace: Trace = {
    launchNs: series(script.launchNs + script.observerNs),
    engineNs: flat(engineNs),
    receiverNs: flat(script.receiverNs),
    totalNs: series(script.launchNs + script.observerNs + engineNs + script.receiverNs),
    apiNs: flat(script.apiNs + script.observerNs),
    timeline: timelineOf("script", [
      {
        kind: "iteration",
        lane: "host",
        name: "iteration",
        startNs: 0,
        endNs: 100,
        bytes: 0,
        correlation: 0,
        iteration: 0,
      },
      {
        kind: "copy",
        lane: "GPU 0",
        name: "PtoP",
        startNs: 40,
        endNs: 80,
        bytes: copies[0] ?? 0,
        correlation: 1,
        iteration: 0,
      },
    ]),
  };
  return {
    program,
    mode: "latency",
    provenance,
    samples: { totalNs, apiNs: series(script.apiNs), convergence },
    trace: options.trace ? trace : null,
    traceReason: null,
    verification: {
      state: "ok",
      checkedBytes: copies.at(-1) ?? 0,
      wrongBytes: 0,
      sentinelBytes: 0,
      detail: "scripted",
    },
    warnings: [],
  };
}
