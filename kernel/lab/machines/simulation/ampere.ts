import type { Costs } from "./constants.js";
import { HOPPER } from "./hopper.js";

/** A100 and GeForce of that time: the host costs measured on them (M08 CPU clock 1.74 µs) are those of Hopper. */
export const AMPERE: Costs = {
  ...HOPPER,
  pageableGbps: { value: 2.1, source: "SIBO A100 pageable D2H plateau; H2D ASSUMPTION as D2H" },
  pageableNs: { value: 10_500, source: "DERIVED from SIBO pageable floor 20-25 us less pinned 12" },
  stagedSubmitNs: { value: 5600, source: "M08 CPU clock, peer access off, middle of 5.22-5.97 us" },
  stagedExtraNs: {
    value: HOPPER.stagedExtraNs.value - 600,
    source: "DERIVED: faster cluster of M08 15.5 us, 0.6 below that of M07",
  },
  stagedSlowNs: { value: 5100, source: "M08 peer access off: clusters around 15.5 and 20.6 us" },
  stagedSlowShare: {
    value: 35 / 56,
    source: "M08 peer access off: 35 of 56 ordered pairs in the slower cluster",
  },
  kernelWriteShare: { value: 0.79, source: "M03 over M02: copy kernel 0.74-0.84 of the copy engine, middle" },
  kernelReadShare: { value: 0.79, source: "ASSUMPTION as writes (M03)" },
  llGbps: { value: 87.7, source: "NCCL-TUNE LL limit of one node, Ampere" },
  loadNs: {
    cache: { value: 149, source: "TE42 A100 L2 near" },
    memory: { value: 305, source: "TE42 A100 L2 far and DRAM, middle of 267-343 ns" },
  },
  cacheBytes: { value: 40 * 2 ** 20, source: "NVIDIA A100 data sheet: 40 MB of L2" },
  clockGhz: { value: 1.41, source: "TE42 A100" },
};
