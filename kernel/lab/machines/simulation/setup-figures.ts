import type { Costs } from "./constants.js";

/** Measured in one table by OWN-LAB (lab.setupCosts), sizes 64 KiB, 1 MiB and 64 MiB, graphs of 1 and 32 nodes. */
const SOURCE = "OWN-LAB set-up costs, median";
const BY_SIZE = "OWN-LAB set-up costs, line through 64 KiB and 64 MiB";
const FIRST = "OWN-LAB set-up costs, first repetition";

/** What set-up work costs the host, ns; by size a line, and the first call of a process where that is far more. */
export const SETUP: Costs["setup"] = {
  malloc: {
    ns: { value: 52_600, source: BY_SIZE },
    perMibNs: { value: 1_700, source: BY_SIZE },
    firstNs: { value: 195_000, source: FIRST },
  },
  free: {
    ns: { value: 44_000, source: BY_SIZE },
    perMibNs: { value: 1_060, source: BY_SIZE },
    firstNs: { value: 93_000, source: FIRST },
  },
  "pool-malloc": { ns: { value: 556, source: SOURCE }, firstNs: { value: 11_100_000, source: FIRST } },
  "pool-free": { ns: { value: 700, source: SOURCE } },
  "pool-access": { ns: { value: 9_500_000, source: SOURCE }, firstNs: { value: 19_200_000, source: FIRST } },
  "vmm-create": {
    ns: { value: 11_900, source: BY_SIZE },
    perMibNs: { value: 64, source: BY_SIZE },
    firstNs: { value: 108_000, source: FIRST },
  },
  "vmm-map": {
    ns: { value: 1_640, source: BY_SIZE },
    perMibNs: { value: 33, source: BY_SIZE },
    firstNs: { value: 23_000, source: FIRST },
  },
  "vmm-access": { ns: { value: 950_000, source: SOURCE }, firstNs: { value: 4_700_000, source: FIRST } },
  "vmm-unmap": {
    ns: { value: 20_100, source: BY_SIZE },
    perMibNs: { value: 130, source: BY_SIZE },
    firstNs: { value: 41_000, source: FIRST },
  },
  "host-malloc": { ns: { value: 400_000, source: BY_SIZE }, perMibNs: { value: 566_000, source: BY_SIZE } },
  "host-free": { ns: { value: 270_000, source: BY_SIZE }, perMibNs: { value: 167_000, source: BY_SIZE } },
  "host-register": {
    ns: { value: 145_000, source: BY_SIZE },
    perMibNs: { value: 64_600, source: BY_SIZE },
    firstNs: { value: 1_500_000, source: FIRST },
  },
  "host-unregister": {
    ns: { value: 68_000, source: BY_SIZE },
    perMibNs: { value: 21_700, source: BY_SIZE },
    firstNs: { value: 123_000, source: FIRST },
  },
  "peer-enable": {
    ns: { value: 936_000, source: SOURCE },
    firstNs: { value: 11_000_000, source: "OWN-H200 first cudaDeviceEnablePeerAccess, 10-12 ms" },
  },
  "peer-enable-again": { ns: { value: 2_900, source: SOURCE } },
  "peer-disable": { ns: { value: 36_000, source: SOURCE } },
  "ipc-export": { ns: { value: 3_350, source: SOURCE }, firstNs: { value: 9_800, source: FIRST } },
  "ipc-open": { ns: { value: 795_000, source: SOURCE }, firstNs: { value: 918_000, source: FIRST } },
  "ipc-close": { ns: { value: 65_000, source: SOURCE } },
  "event-create": { ns: { value: 270, source: SOURCE }, firstNs: { value: 20_600, source: FIRST } },
  "event-destroy": { ns: { value: 190, source: SOURCE } },
  "stream-create": { ns: { value: 1_920, source: SOURCE }, firstNs: { value: 100_000, source: FIRST } },
  "stream-destroy": { ns: { value: 4_490, source: SOURCE } },
  "module-load": { ns: { value: 566_000, source: SOURCE }, firstNs: { value: 962_000, source: FIRST } },
  "module-unload": { ns: { value: 17_700, source: SOURCE } },
  "graph-capture": {
    ns: { value: 420, source: SOURCE },
    perNodeNs: { value: 510, source: SOURCE },
    firstNs: { value: 31_000, source: FIRST },
  },
  "graph-instantiate": {
    ns: { value: 3100, source: SOURCE },
    perNodeNs: { value: 1400, source: SOURCE },
    firstNs: { value: 73_000, source: FIRST },
  },
  "graph-update": {
    ns: { value: 220, source: SOURCE },
    perNodeNs: { value: 41, source: SOURCE },
    firstNs: { value: 7_300, source: FIRST },
  },
};
