/**
 * Medians of published matrices of machines that presets stand for, each with its source: bandwidth (GB/s) and small-copy latency
 * (µs) of p2pBandwidthLatencyTest, unless the entry says otherwise. Both ways are summed, as that test does.
 */

/** What was measured; `off` with peer access disabled, so that the driver stages. */
export type Quantity =
  | "one-way-on"
  | "one-way-off"
  | "both-ways-on"
  | "both-ways-off"
  | "latency-on"
  | "latency-off"
  | "read-on";

export interface Published {
  readonly source: string;
  readonly preset: string;
  readonly quantity: Quantity;
  /** Ordered pairs whose median is compared. */
  readonly pairs: readonly (readonly [number, number])[];
  readonly value: number;
  /** The model took a figure of its own from this very measurement: agreeing proves nothing. */
  readonly input?: string;
  /** Why the model misses by more than 30 %. */
  readonly miss?: string;
}

type Pairs = Published["pairs"];

/** Some pairs of a machine whose pairs are all alike, over both sockets. */
const ANY: Pairs = [
  [0, 1],
  [1, 0],
  [0, 3],
  [2, 1],
  [3, 2],
  [0, 5],
  [5, 2],
  [1, 7],
  [6, 3],
  [4, 7],
  [7, 6],
  [6, 5],
];
const SOCKET: Pairs = [
  [0, 1],
  [1, 0],
  [0, 2],
  [2, 3],
  [3, 1],
  [4, 5],
  [6, 7],
  [7, 4],
];
const ACROSS: Pairs = [
  [0, 4],
  [4, 0],
  [1, 5],
  [6, 2],
  [3, 7],
  [2, 4],
  [5, 3],
  [7, 0],
];
/** Of a DGX-2: within a PCIe group of four, and across. */
const SIXTEEN: Pairs = [
  [0, 4],
  [1, 9],
  [4, 13],
  [8, 2],
  [12, 5],
  [15, 8],
  [3, 7],
  [10, 0],
];
const PAIR: Pairs = [
  [0, 1],
  [1, 0],
];

const BLOCKING_DRIVER =
  "the driver of that time stages in the calling thread (CPU clock = GPU clock), so that two directions take turns and each call waits";
const VM =
  "a VM whose host buffers are on a fixed NUMA node: rates depend on the pair's sockets (7.8-20.5 GB/s), which it hides";
const MODES =
  "on this workstation staging has modes of 10.3 and 18.5 us, on servers of 15.5 and 20.6, which the model takes: why is not known";
const NARROW = "the slots are narrower than 16 lanes of Gen4, which the report does not record";

/** M07: 8 × H100 SXM5, acceptance test (index id 62193952648). */
const H100: readonly Published[] = [
  {
    preset: "hgx-h100-8",
    quantity: "one-way-on",
    pairs: ANY,
    value: 392.68,
    input: "peer copy rate, by nvbandwidth",
  },
  { preset: "hgx-h100-8", quantity: "both-ways-on", pairs: ANY, value: 774.25 },
  {
    preset: "hgx-h100-8",
    quantity: "one-way-off",
    pairs: ANY,
    value: 37.41,
    input: "chunk of staged copies",
  },
  {
    preset: "hgx-h100-8",
    quantity: "both-ways-off",
    pairs: ACROSS,
    value: 52.45,
    input: "both ways of a root port",
  },
  { preset: "hgx-h100-8", quantity: "both-ways-off", pairs: SOCKET, value: 49.09 },
  { preset: "hgx-h100-8", quantity: "latency-on", pairs: ANY, value: 2.78 },
  {
    preset: "hgx-h100-8",
    quantity: "latency-off",
    pairs: ANY,
    value: 16.48,
    input: "the two modes of staging",
  },
].map((entry) => ({ ...entry, source: "M07" }) as Published);

/** M13: 8 × H100, github.com/NVIDIA/nccl #1264; M12: github.com/stas00/ml-engineering, network. */
const H100_OTHERS: readonly Published[] = [
  { source: "M13", preset: "hgx-h100-8", quantity: "both-ways-on", pairs: ANY, value: 741.88 },
  { source: "M13", preset: "hgx-h100-8", quantity: "one-way-off", pairs: ANY, value: 37.2 },
  { source: "M13", preset: "hgx-h100-8", quantity: "one-way-on", pairs: ANY, value: 373.9 },
  { source: "M12", preset: "hgx-h100-8", quantity: "one-way-on", pairs: ANY, value: 376.2 },
];

/** M34: 8 × H200, same repository as M12. OWN-H200: two of them in a VM, 2026-11-30. */
const H200: readonly Published[] = [
  {
    source: "M34",
    preset: "hgx-h200-8",
    quantity: "one-way-on",
    pairs: ANY,
    value: 396.4,
    input: "peer copy rate",
  },
  { source: "M34", preset: "hgx-h200-8", quantity: "both-ways-on", pairs: ANY, value: 783.7 },
  {
    source: "OWN-H200",
    preset: "vm-h200-2",
    quantity: "one-way-on",
    pairs: PAIR,
    value: 396.1,
    input: "peer copy rate",
  },
  {
    source: "OWN-H200",
    preset: "vm-h200-2",
    quantity: "read-on",
    pairs: PAIR,
    value: 393.7,
    input: "peer copy rate",
  },
  { source: "OWN-H200", preset: "vm-h200-2", quantity: "both-ways-on", pairs: PAIR, value: 783 },
  { source: "OWN-H200", preset: "vm-h200-2", quantity: "one-way-off", pairs: PAIR, value: 38 },
  { source: "OWN-H200", preset: "vm-h200-2", quantity: "both-ways-off", pairs: PAIR, value: 52 },
  {
    source: "OWN-H200",
    preset: "vm-h200-2",
    quantity: "latency-on",
    pairs: PAIR,
    value: 2.2,
    input: "gap of copies",
  },
  {
    source: "OWN-H200",
    preset: "vm-h200-2",
    quantity: "latency-off",
    pairs: PAIR,
    value: 16,
  },
];

/** M02: 8 × A100 in a VM (github.com/YanBC/nvmlc); M12; M14: README of NVIDIA/nvbandwidth. */
const A100: readonly Published[] = [
  { source: "M02", preset: "dgx-a100-8", quantity: "one-way-on", pairs: ANY, value: 274.1 },
  {
    source: "M02",
    preset: "dgx-a100-8",
    quantity: "both-ways-on",
    pairs: ANY,
    value: 517.65,
    input: "both ways of NVLink3",
  },
  { source: "M02", preset: "dgx-a100-8", quantity: "one-way-off", pairs: ANY, value: 13.85, miss: VM },
  { source: "M02", preset: "dgx-a100-8", quantity: "both-ways-off", pairs: ANY, value: 15.94, miss: VM },
  { source: "M02", preset: "dgx-a100-8", quantity: "latency-on", pairs: ANY, value: 2.86 },
  {
    source: "M02",
    preset: "dgx-a100-8",
    quantity: "latency-off",
    pairs: ANY,
    value: 23.44,
    miss: VM,
  },
  { source: "M12", preset: "dgx-a100-8", quantity: "one-way-on", pairs: ANY, value: 274.38 },
  {
    source: "M14",
    preset: "dgx-a100-8",
    quantity: "one-way-on",
    pairs: ANY,
    value: 276.36,
    input: "peer copy rate",
  },
];

/** M08: 8 × A100 with peer access over PCIe Gen4 (T9k administration manual); M31: RTX A6000, NVIDIA/nvbandwidth #50. */
const PCIE: readonly Published[] = [
  {
    source: "M08",
    preset: "pcie-8",
    quantity: "one-way-on",
    pairs: SOCKET,
    value: 24.18,
    input: "peer copy rate",
  },
  { source: "M08", preset: "pcie-8", quantity: "one-way-on", pairs: ACROSS, value: 18.59 },
  { source: "M08", preset: "pcie-8", quantity: "both-ways-on", pairs: SOCKET, value: 41.11 },
  { source: "M08", preset: "pcie-8", quantity: "both-ways-on", pairs: ACROSS, value: 37.17 },
  { source: "M08", preset: "pcie-8", quantity: "one-way-off", pairs: SOCKET, value: 18.14 },
  { source: "M08", preset: "pcie-8", quantity: "one-way-off", pairs: ACROSS, value: 19.8 },
  { source: "M08", preset: "pcie-8", quantity: "both-ways-off", pairs: SOCKET, value: 20.1 },
  { source: "M08", preset: "pcie-8", quantity: "both-ways-off", pairs: ACROSS, value: 28.45 },
  { source: "M08", preset: "pcie-8", quantity: "latency-on", pairs: SOCKET, value: 1.73 },
  { source: "M08", preset: "pcie-8", quantity: "latency-on", pairs: ACROSS, value: 2.25 },
  {
    source: "M08",
    preset: "pcie-8",
    quantity: "latency-off",
    pairs: SOCKET,
    value: 19.55,
    input: "the two modes of staging",
  },
  {
    source: "M08",
    preset: "pcie-8",
    quantity: "latency-off",
    pairs: ACROSS,
    value: 20.75,
    input: "the two modes of staging",
  },
  { source: "M31", preset: "pcie-8", quantity: "read-on", pairs: SOCKET, value: 26.34 },
  { source: "M31", preset: "pcie-8", quantity: "read-on", pairs: ACROSS, value: 22.2 },
];

/** M05: DGX-2 (github.com/wohlbier/gpu-micro); M15: 4 × V100, every pair NV2 (ugache-artifacts); M16: DGX-1 (gpubootcamp). */
const V100: readonly Published[] = [
  {
    source: "M05",
    preset: "dgx2-v100-16",
    quantity: "one-way-on",
    pairs: SIXTEEN,
    value: 145.57,
    input: "NVLink2 rate",
  },
  {
    source: "M05",
    preset: "dgx2-v100-16",
    quantity: "both-ways-on",
    pairs: SIXTEEN,
    value: 270.83,
    input: "both ways of NVLink2",
  },
  { source: "M05", preset: "dgx2-v100-16", quantity: "one-way-off", pairs: SIXTEEN, value: 11.11 },
  {
    source: "M05",
    preset: "dgx2-v100-16",
    quantity: "both-ways-off",
    pairs: SIXTEEN,
    value: 11.2,
    miss: BLOCKING_DRIVER,
  },
  { source: "M05", preset: "dgx2-v100-16", quantity: "latency-on", pairs: SIXTEEN, value: 2.53 },
  {
    source: "M05",
    preset: "dgx2-v100-16",
    quantity: "latency-off",
    pairs: SIXTEEN,
    value: 23.52,
    miss: BLOCKING_DRIVER,
  },
  {
    source: "M16",
    preset: "dgx1-v100-8",
    quantity: "both-ways-on",
    pairs: [
      [0, 1],
      [0, 2],
    ],
    value: 48.49,
  },
  {
    source: "M16",
    preset: "dgx1-v100-8",
    quantity: "both-ways-on",
    pairs: [
      [0, 3],
      [0, 4],
    ],
    value: 96.88,
  },
  { source: "M16", preset: "dgx1-v100-8", quantity: "both-ways-off", pairs: [[0, 1]], value: 9.56 },
  {
    source: "M16",
    preset: "dgx1-v100-8",
    quantity: "both-ways-off",
    pairs: [
      [0, 2],
      [0, 4],
      [0, 6],
    ],
    value: 14.46,
  },
  {
    source: "M16",
    preset: "dgx1-v100-8",
    quantity: "latency-on",
    pairs: [
      [0, 1],
      [0, 2],
    ],
    value: 1.62,
  },
  {
    source: "M16",
    preset: "dgx1-v100-8",
    quantity: "latency-on",
    pairs: [
      [0, 3],
      [0, 4],
    ],
    value: 2.02,
  },
  {
    source: "M16",
    preset: "dgx1-v100-8",
    quantity: "latency-off",
    pairs: ANY,
    value: 16.88,
  },
  {
    source: "M15",
    preset: "dgx1-v100-8",
    quantity: "both-ways-on",
    pairs: [
      [0, 3],
      [1, 2],
    ],
    value: 96.88,
  },
  {
    source: "M15",
    preset: "dgx1-v100-8",
    quantity: "both-ways-off",
    pairs: [
      [0, 3],
      [1, 2],
    ],
    value: 15.76,
  },
];

/**
 * M12, M32: one tray, and two trays of GB200 (nvbandwidth multinode). M36: RTX A6000 bridge (github.com/siboehm/bench). M17: 4 × RTX 3090 (index id
 * 19993886437). M18: 8 × RTX 3090 (nccl #1127). M22, M23: RTX 4090 (tinygrad/open-gpu-kernel-modules #6, #44).
 */
const OTHERS: readonly Published[] = [
  {
    source: "M12",
    preset: "gb200-nvl72",
    quantity: "one-way-on",
    pairs: [
      [0, 1],
      [2, 3],
    ],
    value: 746.83,
  },
  {
    source: "M32",
    preset: "gb200-nvl72",
    quantity: "read-on",
    pairs: [
      [0, 5],
      [1, 0],
    ],
    value: 797.9,
    input: "peer copy rate",
  },
  {
    source: "M36",
    preset: "rtx3090-4",
    quantity: "both-ways-on",
    pairs: [
      [0, 2],
      [1, 3],
    ],
    value: 104.4,
    input: "bridge rate",
  },
  {
    source: "M17",
    preset: "rtx3090-4",
    quantity: "one-way-off",
    pairs: [
      [0, 1],
      [0, 3],
    ],
    value: 5.9,
    miss: NARROW,
  },
  {
    source: "M17",
    preset: "rtx3090-4",
    quantity: "both-ways-off",
    pairs: [
      [0, 1],
      [0, 3],
    ],
    value: 8.75,
    miss: NARROW,
  },
  {
    source: "M17",
    preset: "rtx3090-4",
    quantity: "latency-off",
    pairs: [
      [0, 1],
      [0, 3],
      [1, 2],
      [2, 1],
      [3, 0],
    ],
    value: 14.4,
    miss: MODES,
  },
  {
    source: "M18",
    preset: "rtx3090-4",
    quantity: "both-ways-off",
    pairs: [
      [0, 1],
      [0, 3],
    ],
    value: 8.57,
    miss: NARROW,
  },
  {
    source: "M22",
    preset: "rtx4090-2",
    quantity: "both-ways-off",
    pairs: PAIR,
    value: 25.9,
    miss: "the preset takes both ways of a root port from a server's A100 (M14); these are workstations",
  },
  { source: "M23", preset: "rtx4090-2", quantity: "one-way-off", pairs: PAIR, value: 6.34, miss: NARROW },
  { source: "M23", preset: "rtx4090-2", quantity: "both-ways-off", pairs: PAIR, value: 8.67, miss: NARROW },
];

export const PUBLISHED: readonly Published[] = [
  ...H100,
  ...H100_OTHERS,
  ...H200,
  ...A100,
  ...PCIE,
  ...V100,
  ...OTHERS,
];
