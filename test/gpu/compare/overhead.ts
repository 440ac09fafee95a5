/** What the measured loop adds to a hand-written one, both in one process: test/native/harness.cc. */
import { execFileSync } from "node:child_process";
import { type BenchRow, measured } from "../../bench/row.js";
import { coreProgram } from "../../native/toolchain.js";
import { failed, type Group, type RowSpec } from "./group.js";

/** How its program is built: name, source, flags. */
export const HARNESS = ["harness", "test/native/harness.cc", ["-O2"]] as const;
const AT_MOST_50_NS = { max: 50 };

interface Harness {
  /** GPU that the copies of GPU 0 go to: itself where there is no other. */
  readonly toGpu: number;
  readonly bytes: number;
  readonly iterations: number;
  readonly rounds: number;
  readonly bareNs: number;
  readonly bareStampedNs: number;
  readonly executorNs: number;
  /** Over the bare loop, and over one that stamps: the median of the sets of objects, and each set's. */
  readonly overBareNs: number;
  readonly addedNs: number;
  readonly overBareBySetNs: readonly number[];
  readonly addedBySetNs: readonly number[];
  readonly sets: number;
  readonly clock: string;
  readonly clockCostNs: number;
}

const BARE = "loop overhead by iteration, over the bare driver loop";
const STAMPED = "loop overhead by iteration, over a loop that stamps start and end";
const COMMON = { unit: "ns", bar: AT_MOST_50_NS, gpus: 1, needs: ["loops"] } as const;

export const overhead: Group<RowSpec> = {
  specs: [
    { ...COMMON, name: BARE },
    { ...COMMON, name: STAMPED },
  ],
  async run(bench, wanted) {
    bench.say("loop overhead (builds test/native/harness.cc)");
    let result: Harness;
    try {
      const harness = coreProgram(...HARNESS);
      result = JSON.parse(execFileSync(harness, ["8"], { encoding: "utf8", timeout: 120_000 }));
    } catch (error) {
      return wanted.map((spec) => failed(spec, error));
    }
    const detail = {
      to_gpu: result.toGpu,
      executor_ns: result.executorNs,
      bare_ns: result.bareNs,
      stamped_ns: result.bareStampedNs,
      over_bare_by_set_ns: result.overBareBySetNs.join(", "),
      over_stamped_by_set_ns: result.addedBySetNs.join(", "),
      clock: result.clock,
      clock_reading_ns: result.clockCostNs,
      sets: result.sets,
      rounds: result.rounds,
      iterations: result.iterations,
      definition:
        "an 8-byte copy and a spin on cuStreamQuery; whole loops divided by their iterations, taking turns on one stream and memory, made anew for each set; the median of the sets counts",
    };
    return wanted.map(
      (spec): BenchRow =>
        measured(spec.name, spec.name === BARE ? result.overBareNs : result.addedNs, "ns", spec.bar, detail),
    );
  },
};
