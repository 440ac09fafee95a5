/**
 * A recording of many programs, for the bench of the library: `node lab-recording.js FILE`. Its samples are drawn from a seeded
 * distribution and describe no machine; only their number counts here.
 */
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import { Random } from "../../kernel/lab/random.js";
import { encodeRecording, type RecordedRun } from "../../kernel/lab/recording/format.js";
import { samplingOf, stop } from "../../kernel/lab/sampling.js";

/** As many as the stopping rule takes at least. */
export const SAMPLES = samplingOf().minSamples;
/** Ordered pairs of eight GPUs, less six. */
export const PAIRS = Array.from({ length: 8 }, (_, from) => from)
  .flatMap((from) => Array.from({ length: 8 }, (_, to) => [from, to] as const))
  .filter(([from, to]) => from !== to)
  .slice(0, 50);
/** 200 sizes from 8 B to 64 MiB. */
export const SIZES = Array.from({ length: 200 }, (_, i) => Math.round(8 * 2 ** ((i * 23) / 199)) + i);

function runs(): RecordedRun[] {
  const random = new Random(1);
  return PAIRS.flatMap(([from, to]) =>
    SIZES.map((bytes): RecordedRun => {
      const medianNs = 7000 + bytes / 400;
      const totalNs = Float64Array.from({ length: SAMPLES }, () =>
        Math.round(medianNs * random.logNormal(0.03)),
      );
      const convergence = stop(totalNs, 1, samplingOf({ minSamples: SAMPLES, maxSamples: SAMPLES }));
      if (!convergence) throw new Error("the series did not end");
      return {
        program: transfer({ from, to, bytes }),
        mode: "latency",
        totalNs,
        apiNs: totalNs.map((ns) => Math.round(ns / 3)),
        convergence,
        traceKind: null,
        trace: null,
        traceReason: null,
        verification: { state: "ok", checkedBytes: bytes, wrongBytes: 0, sentinelBytes: 0, detail: "drawn" },
        warnings: [],
      };
    }),
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const machine = "drawn samples of no machine";
  const provenance = { kind: "recorded", machine, date: new Date().toISOString(), source: "bench" } as const;
  const info = { name: machine, gpus: [], pairs: [], facts: {} };
  writeFileSync(process.argv[2] as string, encodeRecording({ provenance, info, runs: runs() }));
}
