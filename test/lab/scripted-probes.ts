import type { Machine, ProvenanceKind, Run } from "../../kernel/lab/machine.js";
import type { ProbeOperation } from "../../kernel/lab/operations.js";
import type { Program } from "../../kernel/lab/program.js";
import { probeBuffers } from "../../kernel/lab/program-arguments.js";
import { samplingOf, stop } from "../../kernel/lab/sampling.js";
import { scriptedMachine } from "./scripted-machine.js";

/** What a scripted probe answers: nanoseconds an access, counts, or what it throws. */
export type Answer = (
  probe: ProbeOperation,
  program: Program,
) => { ns: number; counts?: Record<string, number>; owner?: number | null };

const RIPPLE = [-2, -1, 0, 1, 2];

/** A machine of two GPUs whose probes give known figures; it keeps the programs that it ran. */
export function scriptedProbes(kind: ProvenanceKind, answer: Answer): Machine & { ran: Program[] } {
  const base = scriptedMachine(kind);
  const ran: Program[] = [];
  return {
    ...base,
    ran,
    run: async (program) => {
      ran.push(program);
      return runOf(program, base, answer);
    },
  };
}

function runOf(program: Program, base: Machine, answer: Answer): Run {
  const probe = program.data.operations[0] as ProbeOperation;
  const { ns, counts, owner } = answer(probe, program);
  const totalNs = Float64Array.from({ length: 40 }, (_, i) => ns + (RIPPLE[i % 5] as number) * (ns / 1000));
  const convergence = stop(totalNs, 1, samplingOf({ minSamples: 40, maxSamples: 40 }));
  if (!convergence) throw new Error("the script does not converge");
  return {
    program,
    mode: "probe",
    provenance: base.provenance,
    samples: { totalNs, apiNs: new Float64Array(0), convergence },
    trace: null,
    traceReason: null,
    verification: { state: "ok", checkedBytes: 8, wrongBytes: 0, sentinelBytes: 0, detail: "scripted" },
    ...(counts && { counts }),
    probe: {
      accesses: 1000,
      clockGhz: { median: 1.98, low: 1.98, high: 1.98 },
      timedBy: "global-timer",
      overheadNs: 0,
      timerStepNs: 32,
      timerCostNs: 20,
      clockCostNs: 10,
      sm: [3, 4],
      owners: probeBuffers(probe).map((buffer) => {
        const { place } = program.bufferOf(buffer);
        return { buffer, gpu: owner === undefined ? ("gpu" in place ? place.gpu : null) : owner };
      }),
    },
    warnings: [],
  };
}
