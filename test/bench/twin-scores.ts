/** How well a twin predicts what it was not shown: parts of a recording are held back in turn. */
import { RecordedMachine } from "../../kernel/lab/machines/recorded.js";
import type { Observation } from "../../kernel/lab/machines/simulation/fit.js";
import { observationsOf, Twin } from "../../kernel/lab/machines/twin.js";
import type { Program } from "../../kernel/lab/program.js";
import { quantileSorted } from "../../kernel/lab/sampling.js";

export interface TwinScore {
  readonly predicted: number;
  /** Of |predicted / measured − 1|. */
  readonly medianError: number;
  readonly p90Error: number;
  readonly worstError: number;
  /** Share of predictions within two of the standard deviations that the twin gave. */
  readonly within2Sigma: number;
}

/** Sizes, or ways of moving the bytes (peer, staged by hand, staged by the driver), held back one at a time. */
export type HeldBack = "size" | "path";

const KEYS: Record<HeldBack, (observation: Observation) => string> = {
  size: ({ program }) => {
    const [first] = program.data.operations;
    return String(first && "bytes" in first ? first.bytes : 0);
  },
  path: ({ program }) => {
    const copies = program.data.operations.filter((o) => o.op === "copy");
    const ends = program.data.buffers.map(({ place }) => ("gpu" in place ? "gpu" : place.host));
    return [program.data.peerAccess, copies.length, ...ends].join(" ");
  },
};

/**
 * A transfer from one GPU to another by one process, directly or staged, in one or two copies: what the bars were set for. Of
 * pageable memory, memory of another process and batches the model knows less: their errors are told where they are used.
 */
function isTransfer(program: Program): boolean {
  const copies = program.data.operations.filter((o) => o.op === "copy").length;
  return (
    copies <= 2 &&
    program.data.buffers.every(
      ({ place }) =>
        ("gpu" in place ? place.allocator !== "ipc" : place.host === "pinned") &&
        program.data.buffers.length > 1,
    )
  );
}

/** @param every only each so-manieth part, to save time; default all. */
export function scoreTwin(recording: string, heldBack: HeldBack, every = 1): TwinScore {
  const recorded = RecordedMachine.open(recording);
  const observations = observationsOf(recorded).filter(({ program }) => isTransfer(program));
  const keyOf = KEYS[heldBack];
  const keys = [...new Set(observations.map(keyOf))].filter((_, index) => index % every === 0);
  const errors: number[] = [];
  let within = 0;
  for (const key of keys) {
    const shown = observations.filter((observation) => keyOf(observation) !== key);
    const twin = new Twin(shown, recorded.info);
    for (const { program, mode, part, medianNs } of observations) {
      if (part !== "total" || keyOf({ program, mode, part, medianNs }) !== key) continue;
      const { ns, sigma } = twin.expect(program, mode);
      errors.push(Math.abs(ns / medianNs - 1));
      if (Math.abs(Math.log(ns / medianNs)) <= 2 * sigma) within++;
    }
  }
  const sorted = errors.sort((a, b) => a - b);
  return {
    predicted: errors.length,
    medianError: quantileSorted(sorted, 0.5),
    p90Error: quantileSorted(sorted, 0.9),
    worstError: quantileSorted(sorted, 1),
    within2Sigma: within / errors.length,
  };
}
