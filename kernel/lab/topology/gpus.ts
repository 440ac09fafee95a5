/**
 * GPU models of the presets. p2pBandwidthLatencyTest counts read and write of a copy within a GPU (its diagonal), so that the
 * payload is half of its figure.
 */
import type { GpuModel } from "./topology.js";

const GIB = 2 ** 30;

export const P100_SXM2: GpuModel = {
  name: "Tesla P100-SXM2-16GB",
  memoryBytes: 16 * GIB,
  computeCapability: "6.0",
  copyEngines: null,
  localCopy: { value: 250, source: "M01 diagonal 500 / 2" },
};

export const TITAN_RTX: GpuModel = {
  name: "TITAN RTX",
  memoryBytes: 24 * GIB,
  computeCapability: "7.5",
  copyEngines: null,
  localCopy: { value: 278, source: "M04 diagonal 556 / 2" },
};

export const RTX_5090: GpuModel = {
  name: "NVIDIA GeForce RTX 5090",
  memoryBytes: 32 * GIB,
  computeCapability: "12.0",
  copyEngines: null,
  localCopy: { value: 764, source: "M19 diagonal 1517-1538 / 2" },
};

export const V100_SXM2: GpuModel = {
  name: "Tesla V100-SXM2-16GB",
  memoryBytes: 16 * GIB,
  computeCapability: "7.0",
  copyEngines: null,
  localCopy: { value: 392, source: "M16 diagonal 784 / 2" },
};

export const V100_SXM3: GpuModel = {
  ...V100_SXM2,
  name: "Tesla V100-SXM3-32GB",
  memoryBytes: 32 * GIB,
  localCopy: { value: 425, source: "M05 diagonal 851 / 2" },
};

export const A100_SXM: GpuModel = {
  name: "NVIDIA A100-SXM4-80GB",
  memoryBytes: 80 * GIB,
  computeCapability: "8.0",
  copyEngines: 3,
  localCopy: { value: 770, source: "M08 diagonal 1540 / 2" },
};

export const A100_PCIE: GpuModel = { ...A100_SXM, name: "NVIDIA A100 80GB PCIe" };

export const RTX_3090: GpuModel = {
  name: "NVIDIA GeForce RTX 3090",
  memoryBytes: 24 * GIB,
  computeCapability: "8.6",
  copyEngines: null,
  localCopy: { value: 415, source: "M17 diagonal 829-833 / 2" },
};

export const RTX_4090: GpuModel = {
  name: "NVIDIA GeForce RTX 4090",
  memoryBytes: 24 * GIB,
  computeCapability: "8.9",
  copyEngines: 2,
  localCopy: { value: 460, source: "M22 diagonal 918-924 / 2" },
};

export const H100: GpuModel = {
  name: "NVIDIA H100 80GB HBM3",
  memoryBytes: 80 * GIB,
  computeCapability: "9.0",
  copyEngines: 3,
  localCopy: { value: 1440, source: "M07 diagonal 2880 / 2" },
};

export const H200: GpuModel = {
  ...H100,
  name: "NVIDIA H200",
  memoryBytes: 141e9,
  localCopy: {
    value: 2009,
    source:
      "OWN-LAB copies within a GPU, middle of 1925-2093; 0.84 of half of 4.8 TB/s, as an H100 reaches 0.86 of its",
  },
};

export const GB200: GpuModel = {
  name: "NVIDIA GB200",
  memoryBytes: 192e9,
  computeCapability: "10.0",
  copyEngines: null,
  localCopy: { value: 2907, source: "M12 diagonal 5815 / 2" },
};
