/**
 * Published rates and latencies of links, each with its source. `M…` and `T…` are measured matrices and topologies, other
 * keys are listed in the README of this folder; DERIVED is arithmetic on the figures named; FITTED is the
 * value at which the model gives a published result; ASSUMPTION says so and why.
 */
import type { LinkSpec } from "./graph.js";

/** A number and where it comes from. */
export interface Figure {
  readonly value: number;
  readonly source: string;
}

/** One way over one NVLink hop: a peer load takes 807 ns, a local one 147 ns; four hops there and back share the rest. */
const NVLINK_HOP_NS = (807 - 147) / 4;
const NVLINK_HOP_SOURCE = "latency DERIVED from OWN-H200 pointer chase, (807 - 147) ns / 4 hops";

/** One way over one PCIe hop: a peer load behind one switch takes 0.71–0.74 µs; four hops share it less a local load. */
const PCIE_HOP_NS = (725 - 147) / 4;
const PCIE_HOP_SOURCE =
  "latency DERIVED from M09 peer read PIX 0.71-0.74 us less a 147 ns local load, / 4 hops";

/** One way from a root port to host memory: half of a host load (1,217 ns less 147 ns) less two PCIe hops. */
const HOST_HOP_NS = (1217 - 147) / 2 - 2 * PCIE_HOP_NS;
const HOST_HOP_SOURCE =
  "latency DERIVED from OWN-H200 host pointer chase 1217 ns, less local load and PCIe hops";

function nvlink(width: number, rawGbps: number, copyGbps: number, source: string): LinkSpec {
  return {
    kind: "nvlink",
    width,
    rawGbps,
    forwardGbps: copyGbps,
    backwardGbps: copyGbps,
    // Both ways at once reach 1.95-1.98 times one way (M07 774, OWN-H200 783 GB/s): each direction has its own rate.
    bothGbps: null,
    latencyNs: NVLINK_HOP_NS,
    source: `${source}; ${NVLINK_HOP_SOURCE}`,
  };
}

/** Rates as seen from the GPU: `toHost` device to host, `fromHost` host to device. */
function pcie(rawGbps: number, toHostGbps: number, fromHostGbps: number, source: string): LinkSpec {
  return {
    kind: "pcie",
    width: 16,
    rawGbps,
    forwardGbps: toHostGbps,
    backwardGbps: fromHostGbps,
    bothGbps: null,
    latencyNs: PCIE_HOP_NS,
    source: `${source}; ${PCIE_HOP_SOURCE}`,
  };
}

/**
 * Root port to host memory. Both directions share a limit here and not on the PCIe link itself: peer copies that never
 * reach a root port run both ways at nearly twice one way (M08 41-50 GB/s), copies from and to the host do not.
 */
function host(port: LinkSpec, bothGbps: number, source: string): LinkSpec {
  return { ...port, kind: "host", bothGbps, latencyNs: HOST_HOP_NS, source: `${source}; ${HOST_HOP_SOURCE}` };
}

export const NVLINK4_H100: LinkSpec = nvlink(18, 450, 397.5, "raw STAS; copy M07 nvbandwidth write CE");
export const NVLINK4_H200: LinkSpec = nvlink(18, 450, 396.4, "raw STAS; copy STAS (M34)");
export const NVLINK3_A100: LinkSpec = nvlink(
  12,
  300,
  276.4,
  "raw STAS; copy M14 nvbandwidth write CE; latency ASSUMPTION as NVLink4, no peer load of an A100 is published",
);
export const PCIE5_H100: LinkSpec = pcie(63, 55.2, 55.36, "raw STAS; copy M07 nvbandwidth D2H, H2D");
export const PCIE5_H200: LinkSpec = pcie(63, 55.06, 55.43, "raw STAS; copy STAS (M34) D2H, H2D");
export const PCIE4: LinkSpec = pcie(
  31,
  26.0,
  26.0,
  "raw STAS; H2D M14; D2H ASSUMPTION as H2D, which M14 does not give (RTX 4090: 26.3-27.1)",
);
export const PCIE4_4090: LinkSpec = pcie(31, 26.7, 25.2, "raw STAS; nvbandwidth #15, middle of the ranges");

/**
 * FITTED, the only such figure: with 63 the model's staged copies in both directions at once between the sockets of an
 * H100 machine reach M07's median of 52.4 GB/s together. Within a socket it then gives 58 where M07 has 46-53.
 */
export const HOST_GEN5_H100: LinkSpec = host(
  PCIE5_H100,
  63,
  "both ways FITTED to M07 staged bidirectional 52.4 GB/s",
);
export const HOST_GEN5_H200: LinkSpec = host(
  PCIE5_H200,
  63,
  "both ways as H100: OWN-H200 staged bidirectional 52 GB/s equals M07",
);
export const HOST_GEN4: LinkSpec = host(PCIE4, 37.5, "both ways M14: 18.75 GB/s in each direction at once");
export const HOST_GEN4_4090: LinkSpec = host(
  PCIE4_4090,
  37.5,
  "both ways ASSUMPTION as A100 (M14); nvbandwidth #15 gives 11-16 GB/s for H2D under D2H, in an 8-GPU server",
);

/** Between two CPUs. */
export const SOCKET_LINK: LinkSpec = {
  kind: "socket",
  width: 1,
  rawGbps: 101,
  forwardGbps: 101,
  backwardGbps: 101,
  bothGbps: null,
  latencyNs: 65,
  source:
    "rate H100LOG STREAM on the remote node; latency M5, half of 0.83 - 0.70 us; raw ASSUMPTION as the rate, link counts differ by board",
};

export const HOST_MEMORY: Figure = {
  value: 151,
  source: "H100LOG STREAM triad on the local node, lower end",
};

export const PEER_WRITE_H100: Figure = { value: 397.5, source: "M07 nvbandwidth write CE" };
export const PEER_READ_H100: Figure = { value: 395.1, source: "M07 nvbandwidth read CE" };
export const PEER_WRITE_H200: Figure = { value: 396.4, source: "STAS (M34); OWN-H200 396.1" };
export const PEER_READ_H200: Figure = { value: 393.7, source: "OWN-H200 nvbandwidth read CE" };
export const PEER_WRITE_A100: Figure = { value: 276.4, source: "M14 nvbandwidth write CE" };
export const PEER_READ_A100: Figure = { value: 276.4, source: "ASSUMPTION as write; M02 269.6-276.9" };
export const PEER_WRITE_PCIE4: Figure = { value: 24.18, source: "M08 same socket, most frequent value" };
export const PEER_READ_PCIE4: Figure = {
  value: 24.18,
  source: "ASSUMPTION as write; RTX A6000 26.3 read CE",
};

/** The test counts read and write of a copy within a GPU, so that the payload is half of its figure. */
export const LOCAL_COPY_H100: Figure = { value: 1440, source: "M07 diagonal 2880 / 2" };
export const LOCAL_COPY_H200: Figure = {
  value: 1440,
  source: "ASSUMPTION as H100 (M07): no H200 diagonal published; its memory is faster",
};
export const LOCAL_COPY_A100: Figure = { value: 770, source: "M08 diagonal 1540 / 2" };
export const LOCAL_COPY_4090: Figure = {
  value: 430,
  source:
    "ASSUMPTION: 1008 GB/s of memory times the share an H100 reaches (2880 / 3350), / 2; no diagonal published",
};
