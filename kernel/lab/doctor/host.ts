/** CPUs, NUMA nodes and memory of the host, as far as they bear on transfers. */
import type { Root } from "./root.js";
import { gather, known, type Missing, reasonOf, type Told, understood, unknown } from "./told.js";

const NODES = "/sys/devices/system/node";
const CPU0 = "/sys/devices/system/cpu/cpu0/cpufreq";

export interface NumaNode {
  readonly node: number;
  /** Such as `0-31,64-95`; empty for memory without CPUs; null where unknown. */
  readonly cpus: string | null;
}

/** Huge pages of one size. */
export interface HugePages {
  readonly pageBytes: number;
  readonly total: number;
  readonly free: number;
}

export interface HostFacts {
  readonly kernel: string | null;
  readonly cpuModel: string | null;
  readonly numaNodes: readonly NumaNode[] | null;
  /** CPUs that this process may run on. */
  readonly allowedCpus: string | null;
  /** Whether the kernel moves pages to the node that touches them. */
  readonly numaBalancing: boolean | null;
  readonly memoryBytes: number | null;
  readonly hugePages: readonly HugePages[] | null;
  /** `always`, `madvise` or `never`. */
  readonly transparentHugePages: string | null;
  readonly shmBytes: number | null;
  /** Most memory that a process may lock; infinite is -1. */
  readonly memlockBytes: number | null;
  readonly governor: string | null;
  readonly governorDriver: string | null;
  /** What a driver that chooses by itself leans to, such as `balance_performance`. */
  readonly energyPreference: string | null;
  /** Power saving of PCIe links: `default`, `performance`, `powersave` or `powersupersave`. */
  readonly aspm: string | null;
  readonly missing: Missing;
}

export function readHost(root: Root): HostFacts {
  return gather({
    kernel: root.text("/proc/sys/kernel/osrelease"),
    cpuModel: lineOf(root.text("/proc/cpuinfo"), /^model name\s*:\s*(.+)$/m, "a list of CPUs with models"),
    numaNodes: numaNodes(root),
    allowedCpus: lineOf(root.text("/proc/self/status"), /^Cpus_allowed_list:\s*(\S+)$/m, "a process status"),
    numaBalancing: switchOf(root.text("/proc/sys/kernel/numa_balancing")),
    memoryBytes: understood(
      lineOf(root.text("/proc/meminfo"), /^MemTotal:\s+(\d{1,15}) kB$/m, "a list of memory figures"),
      (kib) => Number(kib) * 1024,
      "",
    ),
    hugePages: hugePages(root),
    transparentHugePages: lineOf(
      root.text("/sys/kernel/mm/transparent_hugepage/enabled"),
      /\[(\w+)\]/,
      "a choice",
    ),
    shmBytes: understood(root.space("/dev/shm"), (space) => space.totalBytes, ""),
    memlockBytes: understood(
      lineOf(root.text("/proc/self/limits"), /^Max locked memory\s+(\S+)/m, "a list of limits"),
      (limit) => (limit === "unlimited" ? -1 : /^\d{1,19}$/.test(limit) ? Number(limit) : null),
      "a limit",
    ),
    governor: root.text(`${CPU0}/scaling_governor`),
    governorDriver: root.text(`${CPU0}/scaling_driver`),
    energyPreference: root.text(`${CPU0}/energy_performance_preference`),
    aspm: lineOf(root.text("/sys/module/pcie_aspm/parameters/policy"), /\[(\w+)\]/, "a choice"),
  });
}

/** What a pattern finds in a text. */
export function lineOf(told: Told<string>, pattern: RegExp, wanted: string): Told<string> {
  return understood(told, (text) => pattern.exec(text)?.[1]?.trim() || null, wanted);
}

function switchOf(told: Told<string>): Told<boolean> {
  return understood(told, (text) => (/^\d$/.test(text) ? text !== "0" : null), "0 or 1");
}

function numaNodes(root: Root): Told<NumaNode[]> {
  const names = root.list(NODES);
  if (names.value === null) return unknown(reasonOf(names));
  const nodes = names.value.flatMap((name) => {
    const node = /^node(\d{1,4})$/.exec(name)?.[1];
    if (node === undefined) return [];
    return [{ node: Number(node), cpus: root.text(`${NODES}/${name}/cpulist`).value }];
  });
  return nodes.length > 0 ? known(nodes.sort((a, b) => a.node - b.node)) : unknown(`${NODES}: no node in it`);
}

function hugePages(root: Root): Told<HugePages[]> {
  const folder = "/sys/kernel/mm/hugepages";
  const names = root.list(folder);
  if (names.value === null) return unknown(reasonOf(names));
  return known(
    names.value.flatMap((name) => {
      const kib = /^hugepages-(\d{1,10})kB$/.exec(name)?.[1];
      const count = (file: string) => {
        const text = root.text(`${folder}/${name}/${file}`).value ?? "";
        return /^\d{1,12}$/.test(text) ? Number(text) : null;
      };
      const [total, free] = [count("nr_hugepages"), count("free_hugepages")];
      if (kib === undefined || total === null || free === null) return [];
      return [{ pageBytes: Number(kib) * 1024, total, free }];
    }),
  );
}

/** Numbers in a list such as `0-3,8`; empty for what is no such list. */
export function cpusOf(list: string): Set<number> {
  const cpus = new Set<number>();
  for (const part of list.split(",")) {
    const [, first, last] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part.trim()) ?? [];
    if (first === undefined) continue;
    for (let cpu = Number(first); cpu <= Number(last ?? first); cpu++) cpus.add(cpu);
  }
  return cpus;
}
