/** What registering memory with a network card costs, by published figures. */

import { P2pError } from "../errors.js";
import { expectNames, expectOptions, expectSome } from "../measure/expect.js";
import { listOf } from "../measure/probe-cells.js";
import { type Table, tableOf } from "../measure/table.js";
import { type Bytes, nsToUs, parseBytes } from "../units.js";

export interface RegistrationOptions {
  bytes: Bytes | readonly Bytes[];
  /** Transfers over which it is spread; default 1. */
  uses?: number;
}

/** A line through what somebody measured or a planner assumes: fixed, and by size. */
interface Line {
  readonly memory: "host" | "GPU" | "either";
  readonly fixedNs: number;
  readonly nsPerByte: number;
  readonly source: string;
}

const GIB = 2 ** 30;

/** Of figures that give one size only, all of it is taken to grow with the size. */
const LINES: readonly Line[] = [
  { memory: "either", fixedNs: 16_000, nsPerByte: 0.06, source: "UCX ib_md, planner's estimate" },
  { memory: "host", fixedNs: 0, nsPerByte: 0.08, source: "libfabric #4738, 256 GB in over 20 s" },
  { memory: "host", fixedNs: 0, nsPerByte: 600e6 / 391e6, source: "Mooncake #3210, EFA, 391 MB in 600 ms" },
  { memory: "GPU", fixedNs: 0, nsPerByte: 260e6 / GIB, source: "Mooncake #3210, EFA, 260 ms a GiB" },
];

/**
 * What registering memory with a network card costs, by figures that others published: they differ by more than an order of
 * magnitude, so take them as a guide to what to measure.
 * @returns a row a source and size: `memory` (which the figure is of), `source`, `bytes`, `once_us`, `uses`, `per_use_us` (once
 * over uses), and the provenance columns: `simulated`, since nothing was measured here.
 * @throws P2pError `usage`.
 */
export function registration(options: RegistrationOptions): Table {
  expectOptions(options, "lab.registration");
  expectNames(options, ["bytes", "uses"], "lab.registration");
  const { uses = 1 } = options;
  if (!Number.isSafeInteger(uses) || uses < 1) {
    throw new P2pError("usage", `lab.registration over ${String(uses)} uses`, "Give a whole number from 1.");
  }
  const sizes = expectSome(listOf(options.bytes), "bytes", "lab.registration").map(parseBytes);
  const date = new Date().toISOString().slice(0, 10);
  return tableOf(
    LINES.flatMap(({ memory, fixedNs, nsPerByte, source }) =>
      sizes.map((bytes) => {
        const onceUs = nsToUs(fixedNs + bytes * nsPerByte);
        return {
          memory,
          source,
          bytes,
          once_us: onceUs,
          uses,
          per_use_us: onceUs / uses,
          machine: "published registration costs",
          provenance: "simulated",
          date,
        };
      }),
    ),
  );
}
