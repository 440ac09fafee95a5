/**
 * Published rates and latencies of links, each with its source. `M…` and `T…` are measured matrices and topologies, other
 * keys are listed in the README of this folder; DERIVED is arithmetic on the figures named; FITTED is the
 * value at which the model gives a published result; ASSUMPTION says so and why.
 */
import type { Figure } from "./figure.js";
import type { LinkSpec } from "./graph.js";
import type { Generation } from "./topology.js";

export type { Figure } from "./figure.js";

/** One way over one NVLink hop: a peer load takes 807 ns, a local one 147 ns; four hops there and back share the rest. */
const NVLINK_HOP_NS = (807 - 147) / 4;
const NVLINK_HOP_SOURCE = "latency DERIVED from OWN-H200 pointer chase, (807 - 147) ns / 4 hops";

/** One way between a GPU and the first switch or root port: a peer load behind one switch takes 0.71-0.74 µs, a local one 147 ns. */
export const PCIE_HOP_NS = (725 - 147) / 4;
const PCIE_HOP_SOURCE =
  "latency DERIVED from M09 and M10 peer read PIX 0.71-0.74 us less a 147 ns local load, / 4 hops";

/** One way between switches, or from a switch to its root port: two more switches add at most 20 ns there and back. */
const UPLINK_NS = 5;
const UPLINK_SOURCE = "latency DERIVED from M09 peer read PXB 0.71-0.73 us against PIX 0.71, / 4 hops";

/** One way between a root port and its CPU: a peer load through two root ports takes 1.14-1.18 µs, 0.435 more than PIX. */
const ROOT_NS = (1160 - 725 - 4 * UPLINK_NS) / 4;

/** What is left of a load from host memory behind a switch, 1,217 ns, there and back: the memory's part, one way. */
const MEMORY_NS = (1217 - 147) / 2 - PCIE_HOP_NS - UPLINK_NS - ROOT_NS;
const HOST_HOP_NS = ROOT_NS + MEMORY_NS;
const HOST_HOP_SOURCE =
  "latency DERIVED from M09 peer read through two root ports 1.14-1.18 us, and the rest of OWN-H200 host pointer chase 1217 ns";

function nvlink(width: number, rawGbps: number, copyGbps: number, source: string): LinkSpec {
  return {
    kind: "nvlink",
    width,
    rawGbps,
    forwardGbps: copyGbps,
    backwardGbps: copyGbps,
    // Both ways at once reach 1.95-1.98 times one way (M07 774, OWN-H200 783 GB/s), over links from GPU to GPU 2.0 (M15, M16,
    // M36): each direction has its own rate. GPUs of Volta and Ampere on NVSwitches lose some, see below.
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

/** A PCIe link between two switches, or a switch and its root port. */
export function uplink(link: LinkSpec): LinkSpec {
  return {
    ...link,
    latencyNs: UPLINK_NS,
    source: `${link.source.replace(/; latency .*/, "")}; ${UPLINK_SOURCE}`,
  };
}

/**
 * Root port to host memory. Both directions share a limit here and not on the PCIe link itself: peer copies that never
 * reach a root port run both ways at nearly twice one way (M08 41-50 GB/s), copies from and to the host do not.
 */
function host(port: LinkSpec, bothGbps: number, source: string): LinkSpec {
  return {
    ...port,
    kind: "host",
    bothGbps,
    latencyNs: HOST_HOP_NS,
    memoryNs: MEMORY_NS,
    source: `${source}; ${HOST_HOP_SOURCE}`,
  };
}

export const NVLINK4_H100: LinkSpec = nvlink(18, 450, 397.5, "raw STAS; copy M07 nvbandwidth write CE");
export const NVLINK4_H200: LinkSpec = nvlink(18, 450, 396.4, "raw STAS; copy STAS (M34)");
/** The rate of DGX-2 a link, which other machines with V100 confirm: 48.5 GB/s both ways over one link (M16). */
export function nvlink2(links: number): LinkSpec {
  return nvlink(
    links,
    25 * links,
    (145.57 / 6) * links,
    "raw STAS, 25 GB/s a link; copy DERIVED from M05, 145.57 GB/s over 6 links; latency ASSUMPTION as NVLink4",
  );
}

/**
 * All six links of a V100 on NVSwitches: both ways at once 1.86 times one way, in every pair and over one or two switches, while
 * links from GPU to GPU lose nothing.
 */
export const NVLINK2_DGX2: LinkSpec = {
  ...nvlink2(6),
  bothGbps: 270.83,
  source: `${nvlink2(6).source}; both ways M05, median of all pairs`,
};

/** NVLink of other generations, by links; see the whole ones below. */
export function nvlinkOf(generation: Generation, links: number): LinkSpec {
  const as = {
    pascal: NVLINK1,
    volta: links === 6 ? NVLINK2_DGX2 : nvlink2(1),
    hopper: NVLINK4_H100,
    blackwell: NVLINK5_GB200,
  } as const;
  const whole =
    generation in as ? as[generation as keyof typeof as] : links > 4 ? NVLINK3_A100 : NVLINK3_BRIDGE;
  if (links === whole.width) return whole;
  const share = links / whole.width;
  return nvlink(
    links,
    whole.rawGbps * share,
    whole.forwardGbps * share,
    `DERIVED by the number of links from: ${whole.source}`,
  );
}

/**
 * Between the NVSwitches of the two boards of a DGX-2; half of 2.4 TB/s each way. It adds no latency of its own: one and two
 * switches on the way show no difference (TART, M05).
 */
export const NVSWITCH_TRUNK_DGX2: LinkSpec = {
  ...nvlink2(48),
  rawGbps: 1200,
  latencyNs: 0,
  source:
    "raw TART bisection 2.4 TB/s; copy as NVLink2 (M05); latency TART, M05: no difference of 1 and 2 switches",
};

export const NVLINK1: LinkSpec = nvlink(1, 20, 18.41, "raw STAS; copy M01; latency ASSUMPTION as NVLink4");

/** Bridges of GA102 boards, RTX A6000 and RTX 3090. */
export const NVLINK3_BRIDGE: LinkSpec = nvlink(
  4,
  56.25,
  52.2,
  "raw SIBO, 4 links of 14.0625 GB/s; copy SIBO (M36) RTX A6000; latency ASSUMPTION as NVLink4",
);
export const NVLINK5_GB200: LinkSpec = nvlink(
  18,
  900,
  797.9,
  "raw STAS; copy M32 nvbandwidth multinode read CE, 797.65-798.25 GB/s; latency ASSUMPTION as NVLink4",
);

/** Of an A100 on NVSwitches: both ways at once 1.89 times one way. */
export const NVLINK3_A100: LinkSpec = {
  ...nvlink(
    12,
    300,
    276.4,
    "raw STAS; copy M14 nvbandwidth write CE; both ways M02, median of all pairs; latency ASSUMPTION as NVLink4, no peer load of an A100 is published",
  ),
  bothGbps: 517.65,
};
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
 * Gen3 has no published figure of both directions at once; the share of one way is that of Gen4: 37.5 of 26 GB/s (M14).
 */
export const PCIE3: LinkSpec = pcie(
  15.75,
  12,
  12,
  "raw DERIVED, 16 lanes of 8 GT/s less 128b/130b; copy NCCL-TOPO, 12 GB/s; V100 in a cloud 9.6 H2D, 11.4 D2H (NUMBERS 2.5)",
);
export const HOST_GEN3: LinkSpec = host(
  PCIE3,
  (12 * 37.5) / 26,
  "both ways DERIVED: as Gen4, 37.5 of 26 GB/s (M14)",
);
export const PCIE5_H200_VM: LinkSpec = pcie(63, 54.1, 53.3, "raw STAS; copy OWN-H200 nvbandwidth D2H, H2D");

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

export const HOST_GEN5_H200_VM: LinkSpec = host(
  PCIE5_H200_VM,
  63,
  "both ways as H100: OWN-H200 staged bidirectional 52 GB/s equals M07",
);

/** From a GB200 GPU to the memory of its Grace. */
export const C2C_GB200: LinkSpec = {
  kind: "c2c",
  width: 1,
  rawGbps: 450,
  forwardGbps: 377,
  backwardGbps: 359,
  bothGbps: 175 + 172,
  latencyNs: PCIE_HOP_NS + UPLINK_NS + HOST_HOP_NS,
  memoryNs: MEMORY_NS,
  source:
    "raw STAS, C2C 450 GB/s; copy ASSUMPTION as GB300 station, D2H 377, H2D 359, 172 + 175 both at once (STAS); latency ASSUMPTION as over PCIe, an upper bound",
};

/** Between the two Grace CPUs of a tray. */
export const SOCKET_LINK_GRACE: LinkSpec = {
  ...SOCKET_LINK,
  rawGbps: 150,
  forwardGbps: 110,
  backwardGbps: 110,
  source:
    "raw and rate GB300 tray, 150 nominal, 110 measured (AI-fundamentals #22); latency ASSUMPTION as x86",
};

/** One port of a ConnectX-7 and its share of one switch. */
export const NETWORK_NDR: LinkSpec = {
  kind: "network",
  width: 4,
  rawGbps: 50,
  forwardGbps: 46.25,
  backwardGbps: 46.25,
  bothGbps: null,
  latencyNs: (1440 + 600) / 2 - PCIE_HOP_NS,
  source:
    "raw NDR 400 Gb/s; rate AZHC thresholds of GPU memory over NDR, middle of 360-380 Gb/s; latency DERIVED, half of M5 write latency 1.44 us and a switch of 0.6 us (STAS, HDR), less a PCIe hop",
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
export const PEER_WRITE_V100: Figure = { value: 145.57, source: "M05 and M06 P2P writes, every pair" };
export const PEER_READ_V100: Figure = { value: 145.5, source: "M05 and M06 P2P reads, every pair" };
export const PEER_WRITE_GB200: Figure = {
  value: 797.9,
  source: "ASSUMPTION as read; M12 743-750 by another test",
};
export const PEER_READ_GB200: Figure = { value: 797.9, source: "M32 nvbandwidth multinode read CE" };
export const PEER_BRIDGE: Figure = { value: 52.2, source: "SIBO (M36) RTX A6000, each way" };
export const PEER_WRITE_H200_VM: Figure = { value: 396.1, source: "OWN-H200 nvbandwidth write CE" };

/**
 * A root complex passes requests between its ports on in packets of 64 bytes, which take a sixth more of a link; so NCCL's
 * model counts them.
 */
export const PEER_PCIE4_THROUGH_CPU: Figure = {
  value: 24.18 / 1.2,
  source: "DERIVED from M08 same socket and NCCL-TOPO, 6/5 of the traffic for peer access through a CPU",
};
export const HOST_MEMORY_GRACE: Figure = {
  value: 377,
  source: "ASSUMPTION: at least what one GPU draws over C2C (STAS GB300 D2H); no STREAM figure published",
};
export const PEER_WRITE_PCIE4: Figure = { value: 24.18, source: "M08 same socket, most frequent value" };
export const PEER_READ_PCIE4: Figure = {
  value: 24.18,
  source: "ASSUMPTION as write; RTX A6000 26.3 read CE",
};
