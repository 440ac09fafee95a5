/** Writes down a made-up machine as the files and the driver's answers of a real one would show it. */
import { configSpace } from "./config-space.js";

export type Entry =
  | string
  | { hex: string; bytes: number }
  | { link: string }
  | { error: string }
  | { folder: true };

export interface PciOptions {
  readonly vendor: string;
  readonly device: string;
  readonly code: string;
  /** 1e9 transfers a second: now and at most. */
  readonly speed?: number;
  readonly maxSpeed?: number;
  readonly width?: number;
  readonly maxWidth?: number;
  readonly numa?: number;
  readonly cpus?: string;
  readonly barBytes?: number;
  readonly driver?: string;
  readonly group?: number;
  /** Device/port type of the Express capability, and ACS control bits. */
  readonly type?: number;
  readonly acs?: number | null;
  /** Whether only the first 64 bytes of configuration space can be read. */
  readonly cut?: boolean;
  /** Corrected, non-fatal and fatal errors. */
  readonly errors?: readonly [number, number, number];
}

export const XEON: PciOptions = { vendor: "8086", device: "352a", code: "060400", type: 4, acs: 0 };
export const SWITCH_UP: PciOptions = { vendor: "1000", device: "c030", code: "060400", type: 5, acs: null };
export const SWITCH_DOWN: PciOptions = { vendor: "1000", device: "c030", code: "060400", type: 6, acs: 0 };

export class Sheet {
  readonly files: Record<string, Entry> = {};
  readonly spaces: Record<string, { totalBytes: number; freeBytes: number }> = {};
  readonly environment: Record<string, string> = {};

  put(path: string, content: Entry): this {
    this.files[path] = content;
    return this;
  }

  /** @param chain `pci0000:00`, then the bridges from the root port down, then the device. */
  pci(chain: readonly string[], options: PciOptions): string {
    const address = chain.at(-1) as string;
    const folder = `/sys/devices/${chain.join("/")}`;
    this.put(`/sys/bus/pci/devices/${address}`, { link: `../../../${folder.slice(5)}` });
    const { speed = 32, maxSpeed = speed, width = 16, maxWidth = width, type = 0, acs = null } = options;
    const gts = (value: number) => `${value.toFixed(1)} GT/s PCIe\n`;
    const texts: Record<string, string> = {
      vendor: `0x${options.vendor}\n`,
      device: `0x${options.device}\n`,
      class: `0x${options.code}\n`,
      numa_node: `${options.numa ?? 0}\n`,
      current_link_speed: gts(speed),
      max_link_speed: gts(maxSpeed),
      current_link_width: `${width}\n`,
      max_link_width: `${maxWidth}\n`,
    };
    if (options.cpus !== undefined) texts.local_cpulist = `${options.cpus}\n`;
    if (options.barBytes !== undefined) texts.resource = windows(options.barBytes);
    for (const [i, name] of ["correctable", "nonfatal", "fatal"].entries()) {
      const total = `TOTAL_ERR_${["COR", "NONFATAL", "FATAL"][i]} ${options.errors?.[i] ?? 0}\n`;
      texts[`aer_dev_${name}`] = total;
    }
    for (const [name, text] of Object.entries(texts)) this.put(`${folder}/${name}`, text);
    const config = configSpace({ type, acs });
    const used = options.cut ? 64 : config.findLastIndex((byte) => byte !== 0) + 1;
    this.put(`${folder}/config`, {
      hex: config.subarray(0, used).toString("hex"),
      bytes: options.cut ? 64 : 4096,
    });
    if (options.driver) this.put(`${folder}/driver`, { link: `../../../bus/pci/drivers/${options.driver}` });
    if (options.group !== undefined) {
      this.put(`${folder}/iommu_group`, { link: `../../../kernel/iommu_groups/${options.group}` });
    }
    return address;
  }

  /** An RDMA card on a PCI function that was put down before. */
  rdma(chain: readonly string[], name: string, state = "4: ACTIVE", rate = "400 Gb/sec (4X NDR)"): this {
    const folder = `/sys/devices/${chain.join("/")}/infiniband/${name}`;
    this.put(`/sys/class/infiniband/${name}`, { link: `../../${folder.slice(5)}` });
    this.put(`${folder}/ports/1/link_layer`, "InfiniBand\n");
    this.put(`${folder}/ports/1/state`, `${state}\n`);
    return this.put(`${folder}/ports/1/rate`, `${rate}\n`);
  }

  /** A bare-metal server of so many sockets with 32 cores each, and what is quiet on it. */
  host({
    sockets = 2,
    vm = false,
    kernel = "6.8.0-60-generic",
    product = "Supermicro SYS-821GE-TNHR",
  } = {}): this {
    const flags = `fpu vme de pse tsc msr pae${vm ? " hypervisor" : ""} sse2 avx512f`;
    this.put(
      "/proc/cpuinfo",
      `processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8462Y+\nflags\t\t: ${flags}\n`,
    );
    this.put("/proc/sys/kernel/osrelease", `${kernel}\n`);
    this.put("/proc/sys/kernel/numa_balancing", "0\n");
    this.put("/proc/meminfo", "MemTotal:       2113456128 kB\nMemFree:        2013456128 kB\n");
    this.put(
      "/proc/self/limits",
      "Max locked memory         unlimited            unlimited            bytes\n",
    );
    this.put("/proc/self/status", `CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-${sockets * 32 - 1}\n`);
    this.put("/proc/1/cgroup", "0::/init.scope\n");
    this.put("/dev/kmsg", "");
    this.put("/proc/1/comm", "systemd\n");
    for (let node = 0; node < sockets; node++) {
      this.put(`/sys/devices/system/node/node${node}/cpulist`, `${cpusOf(node)}\n`);
    }
    for (const name of ["ipc", "mnt", "net", "pid", "user"]) {
      for (const pid of ["self", "1"]) this.put(`/proc/${pid}/ns/${name}`, { link: `${name}:[40265318]` });
    }
    this.put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n");
    this.put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
    this.put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    this.put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    this.put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    this.put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n");
    this.put("/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "performance\n");
    this.put("/sys/module/pcie_aspm/parameters/policy", "[default] performance powersave powersupersave\n");
    const [vendor, ...words] = product.split(" ");
    this.put("/sys/class/dmi/id/sys_vendor", `${vendor}\n`);
    this.put("/sys/class/dmi/id/product_name", `${words.join(" ")}\n`);
    this.put("/sys/class/iommu", { folder: true });
    this.put("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro\n");
    this.spaces["/dev/shm"] = { totalBytes: 2 ** 40, freeBytes: 2 ** 40 };
    return this;
  }

  /** IOMMU groups of one type; a unit at work. */
  iommu(type: "identity" | "DMA"): this {
    delete this.files["/sys/class/iommu"];
    this.put("/sys/class/iommu/dmar0", { link: "../../devices/virtual/iommu/dmar0" });
    return this.put("/sys/kernel/iommu_groups/0/type", `${type}\n`);
  }

  /** The kernel module and the libraries. */
  driver(
    given: { version?: string; user?: string; open?: boolean; toolkit?: string; peermem?: boolean } = {},
  ): this {
    const { version = "580.95.05", open = true, toolkit = "13.0", peermem = true } = given;
    const user = given.user ?? version;
    const kind = open ? "NVIDIA UNIX Open Kernel Module for x86_64" : "NVIDIA UNIX x86_64 Kernel Module";
    this.put(
      "/proc/driver/nvidia/version",
      `NVRM version: ${kind}  ${version}  Release Build  (dvs-builder)\n`,
    );
    this.put("/usr/lib/x86_64-linux-gnu/libcuda.so.1", { link: `libcuda.so.${user}` });
    this.put(
      "/usr/local/cuda/version.json",
      `{"cuda" : {"name" : "CUDA SDK", "version" : "${toolkit}.1"}}\n`,
    );
    for (const name of ["nvidia", "nvidia_uvm", ...(peermem ? ["nvidia_peermem"] : [])]) {
      this.put(`/sys/module/${name}/initstate`, "live\n");
    }
    return this;
  }

  /** A running program. */
  service(pid: number, comm: string): this {
    return this.put(`/proc/${pid}/comm`, `${comm}\n`);
  }
}

/** CPUs of a socket of 32 cores. */
export function cpusOf(node: number): string {
  return `${node * 32}-${node * 32 + 31}`;
}

/** Registers of 16 MiB, the window, and 32 MiB of more registers, as NVIDIA's functions have them. */
function windows(barBytes: number): string {
  const line = (first: number, bytes: number) =>
    `0x${first.toString(16).padStart(16, "0")} 0x${(first + bytes - 1).toString(16).padStart(16, "0")} 0x000000000014220c`;
  return `${[line(0x9000_0000, 2 ** 24), line(2 ** 41, barBytes), line(2 ** 42, 2 ** 25)].join("\n")}\n`;
}

export interface GpuModel {
  readonly name: string;
  readonly device: string;
  readonly memoryBytes: number;
  readonly barBytes: number;
  readonly computeCapability: string;
  readonly smClockMhz: number;
  readonly memoryClockMhz: number;
  readonly powerLimitW: number;
  /** Generation of PCIe, from 3. */
  readonly pcie: number;
  readonly links: number;
  readonly linkVersion: number;
  readonly linkMBps: number;
  readonly fabric: string;
}

const GIB = 2 ** 30;

export const MODELS = {
  h200: gpu("NVIDIA H200", "2335", 141, 256, "9.0", [1980, 3201, 700], 5, [18, 4, 26562], "completed"),
  h100: gpu(
    "NVIDIA H100 80GB HBM3",
    "2330",
    80,
    128,
    "9.0",
    [1980, 2619, 700],
    5,
    [18, 4, 26562],
    "completed",
  ),
  gb200: gpu("NVIDIA GB200", "2941", 186, 256, "10.0", [1965, 3996, 1200], 5, [18, 5, 53125], "completed"),
  a100: gpu(
    "NVIDIA A100 80GB PCIe",
    "20b5",
    80,
    128,
    "8.0",
    [1410, 1512, 300],
    4,
    [12, 3, 25000],
    "not-supported",
  ),
  v100: gpu(
    "Tesla V100-SXM2-16GB",
    "1db1",
    16,
    16,
    "7.0",
    [1530, 877, 300],
    3,
    [6, 2, 25781],
    "not-supported",
  ),
  rtx4090: gpu(
    "NVIDIA GeForce RTX 4090",
    "2684",
    24,
    0.25,
    "8.9",
    [3105, 10501, 450],
    4,
    [0, 0, 0],
    "not-supported",
  ),
  l40s: gpu("NVIDIA L40S", "26b9", 45, 64, "8.9", [2520, 9001, 350], 4, [0, 0, 0], "not-supported"),
} as const;

function gpu(
  name: string,
  device: string,
  memoryGib: number,
  barGib: number,
  computeCapability: string,
  [smClockMhz, memoryClockMhz, powerLimitW]: readonly [number, number, number],
  pcie: number,
  [links, linkVersion, linkMBps]: readonly [number, number, number],
  fabric: string,
): GpuModel {
  return {
    name,
    device,
    memoryBytes: memoryGib * GIB,
    barBytes: barGib * GIB,
    computeCapability,
    smClockMhz,
    memoryClockMhz,
    powerLimitW,
    pcie,
    links,
    linkVersion,
    linkMBps,
    fabric,
  };
}

/** Where the links of a GPU end: `switch`, or PCI addresses of peers, one a link; shorter than its links where some end nowhere. */
export type LinkEnds = "switch" | readonly string[];

export function driverGpu(model: GpuModel, index: number, pci: string, ends: LinkEnds = []) {
  const number = String(index).padStart(12, "0");
  const count = ends === "switch" ? model.links : ends.length;
  const links = Array.from({ length: model.links }, (_, link) => ({
    link,
    active: link < count,
    version: model.linkVersion,
    speedMBps: model.linkMBps,
    remoteType: link >= count ? null : ends === "switch" ? "switch" : "gpu",
    remotePci: link >= count || ends === "switch" ? null : (ends[link] ?? null),
  }));
  return {
    uuid: `GPU-00000000-0000-4000-8000-${number}`,
    name: model.name,
    pci,
    memoryBytes: model.memoryBytes,
    computeCapability: model.computeCapability,
    reason: null,
    facts: {
      joinedBy: "uuid",
      pci,
      maxSmClockMhz: model.smClockMhz,
      maxMemoryClockMhz: model.memoryClockMhz,
      powerLimitW: model.powerLimitW,
      maxPcieGeneration: model.pcie,
      maxPcieWidth: 16,
      persistence: true as boolean | null,
      computeMode: "default" as string | null,
      mig: (model.computeCapability < "8.0" || /RTX|L40/.test(model.name) ? null : false) as boolean | null,
      ecc: true as boolean | null,
      bar1Bytes: model.barBytes as number | null,
      displayActive: false as boolean | null,
      virtualization: "none",
      fabric: model.fabric,
      linkCount: model.links,
      links,
      missing: {} as Record<string, string>,
    },
    state: {
      smClockMhz: 345,
      memoryClockMhz: model.memoryClockMhz,
      pcieGeneration: model.pcie as number | null,
      pcieWidth: 16,
      performanceState: 0,
      events: ["gpu_idle"] as string[] | null,
      temperatureC: 31,
      powerW: 70,
      pcieReplays: 0,
      pcieTxBytes: 0,
      pcieRxBytes: 0,
      eccUncorrected: 0,
      processes: [] as { pid: number; memoryBytes: number | null; own: boolean }[],
      links: links.map(({ link, active }) => ({
        link,
        active,
        replayErrors: active ? 0 : null,
        recoveryErrors: active ? 0 : null,
        crcErrors: active ? 0 : null,
        receiveErrors: null,
        txBytes: 0,
        rxBytes: 0,
      })),
      missing: {} as Record<string, string>,
    },
  };
}

export type DriverGpu = ReturnType<typeof driverGpu>;

/** Every ordered pair; `of` says what NVML and CUDA tell of one. */
export function driverPairs(
  count: number,
  of: (from: number, to: number) => { access: boolean; nvlink: boolean; meet: string; code?: string },
) {
  return Array.from({ length: count }, (_, from) => from).flatMap((from) =>
    Array.from({ length: count }, (_, to) => to).flatMap((to) => {
      if (from === to) return [];
      const { access, nvlink, meet, code = "NS" } = of(from, to);
      const status = access ? "OK" : code;
      return [
        {
          from,
          to,
          access,
          nativeAtomics: nvlink,
          reason: null,
          nvml: {
            read: status,
            write: status,
            nvlink: nvlink ? "OK" : "NS",
            atomics: nvlink ? "OK" : "NS",
            pci: status,
            commonAncestor: meet,
            missing: {},
          },
        },
      ];
    }),
  );
}

export function answers(
  gpus: readonly DriverGpu[],
  pairs: ReturnType<typeof driverPairs>,
  { cuda = 13000, version = "580.95.05" } = {},
) {
  return {
    cuda: { available: true, reason: null, version: cuda, path: "libcuda.so.1" },
    nvml: { available: true, reason: null, version: `13.${version}`, driverVersion: version, path: null },
    gpus,
    pairs,
    visible: gpus.map((one) => one.uuid),
    brokenOff: null,
  };
}

export function okVerdicts(count: number) {
  return Array.from({ length: count }, (_, from) => from).flatMap((from) =>
    Array.from({ length: count }, (_, to) => to)
      .filter((to) => to !== from)
      .map((to) => ({
        from,
        to,
        allocator: "malloc",
        outcome: "ok",
        stage: "ping-pong",
        reason: "every byte and every flag arrived",
        next: "",
      })),
  );
}
