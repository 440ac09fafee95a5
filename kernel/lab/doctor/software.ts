/** The driver's parts as the system shows them: versions, kernel modules, services. */
import { lineOf } from "./host.js";
import { LIBRARY_FOLDERS, type Root } from "./root.js";
import { gather, known, type Missing, reasonOf, type Told, understood, unknown } from "./told.js";

/** Folders that hold libraries of the driver. */
/** A server has some thousand processes. */
const MOST_PROCESSES = 20_000;
/** As /proc/PID/comm has them: 15 characters at most. */
const SERVICES = {
  fabricManager: ["nv-fabricmanage", "nvidia-fabricma", "nv-fabricmanager"],
  imex: ["nvidia-imex"],
  persistence: ["nvidia-persiste", "nvidia-persistenced"],
} as const;

export interface SoftwareFacts {
  /** Version of the loaded kernel module, such as `580.95.05`. */
  readonly kernelModule: string | null;
  /** Whether it is the open one. */
  readonly openModule: boolean | null;
  /** Version of libcuda.so.1 by its file's name. */
  readonly userDriver: string | null;
  /** Newest CUDA toolkit, such as `13.0`. */
  readonly toolkit: string | null;
  /** Names of loaded modules that bear on transfers. */
  readonly modules: readonly string[] | null;
  /** Whether the module that lets network cards reach GPU memory is loaded. */
  readonly peermem: boolean | null;
  readonly fabricManager: boolean | null;
  readonly imex: boolean | null;
  /** IMEX channels that this process may open. */
  readonly imexChannels: number | null;
  readonly persistenceDaemon: boolean | null;
  /** GPUs that the kernel module serves, by PCI address. */
  readonly moduleGpus: readonly ModuleGpu[] | null;
  /** How the IOMMU is set: `off` (none at work), `pass-through`, or `translate`. */
  readonly iommu: "off" | "pass-through" | "translate" | null;
  /** What the kernel locks away from root: `none`, `integrity` or `confidentiality`. */
  readonly lockdown: string | null;
  readonly missing: Missing;
}

export interface ModuleGpu {
  readonly pci: string;
  readonly model: string | null;
  readonly uuid: string | null;
}

/** Modules worth telling of, dashes as underscores. */
const MODULES =
  /^(nvidia|nvidia_uvm|nvidia_drm|nvidia_modeset|nvidia_peermem|nv_peer_mem|nvidia_fs|gdrdrv|nvidia_vgpu_vfio|vfio_pci|ib_core|mlx5_core|mlx5_ib|irdma|nouveau)$/;

export function readSoftware(root: Root): SoftwareFacts {
  const version = root.text("/proc/driver/nvidia/version");
  const modules = modulesOf(root);
  const services = servicesOf(root);
  const service = (names: readonly string[]) =>
    understood(services, (running) => names.some((name) => running.has(name)), "");
  return gather({
    kernelModule: understood(version, moduleVersion, "a version of the module"),
    openModule: understood(version, (text) => /Open Kernel Module/i.test(text), ""),
    userDriver: userDriver(root),
    toolkit: toolkit(root),
    modules: understood(modules, (all) => [...all].filter((name) => MODULES.test(name)), ""),
    peermem: understood(modules, (all) => all.has("nvidia_peermem") || all.has("nv_peer_mem"), ""),
    fabricManager: service(SERVICES.fabricManager),
    imex: service(SERVICES.imex),
    imexChannels: understood(
      root.list("/dev/nvidia-caps-imex-channels"),
      (names) => names.filter((name) => /^channel\d+$/.test(name)).length,
      "",
    ),
    persistenceDaemon: service(SERVICES.persistence),
    moduleGpus: moduleGpus(root),
    iommu: iommuOf(root),
    lockdown: lineOf(root.text("/sys/kernel/security/lockdown"), /\[(\w+)\]/, "a choice"),
  });
}

/** Of the line that the kernel module shows; null for another text. */
export function moduleVersion(line: string): string | null {
  return /^NVRM version:.*?\s(\d{3,4}\.\d+(?:\.\d+)?)\s/m.exec(line)?.[1] ?? null;
}

/** From sysfs where it is there, since containers may hide /proc/modules. */
function modulesOf(root: Root): Told<ReadonlySet<string>> {
  const folder = root.list("/sys/module");
  if (folder.value !== null) return known(new Set(folder.value));
  return understood(
    root.text("/proc/modules"),
    (text) => new Set(text.split("\n").flatMap((line) => line.split(" ")[0] || [])),
    "",
  );
}

/** Names of running programs. In a container its own only, which says nothing of the machine's services. */
function servicesOf(root: Root): Told<ReadonlySet<string>> {
  const entries = root.list("/proc");
  if (entries.value === null) return unknown(reasonOf(entries));
  const names = entries.value
    .filter((name) => /^\d+$/.test(name))
    .slice(0, MOST_PROCESSES)
    .flatMap((pid) => root.text(`/proc/${pid}/comm`).value ?? []);
  if (names.length === 0) return unknown("/proc: no process can be seen");
  return known(new Set(names));
}

/** The library names its version: `libcuda.so.580.95.05`, beside or behind `libcuda.so.1`. */
function userDriver(root: Root): Told<string> {
  for (const folder of LIBRARY_FOLDERS) {
    const target = root.link(`${folder}/libcuda.so.1`).value?.split("/").at(-1);
    const names = target ? [target] : (root.list(folder).value ?? []);
    for (const name of names) {
      const version = /^libcuda\.so\.(\d{3,4}\.\d+(?:\.\d+)?)$/.exec(name)?.[1];
      if (version) return known(version);
    }
  }
  return unknown(`no libcuda.so with a version in ${LIBRARY_FOLDERS.join(", ")}`);
}

function toolkit(root: Root): Told<string> {
  const found = ["/usr/local/cuda/version.json", "/opt/cuda/version.json"].flatMap((file) => {
    const version = /"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"(\d+\.\d+)/.exec(root.text(file).value ?? "")?.[1];
    return version ? [version] : [];
  });
  const old = /CUDA Version (\d+\.\d+)/.exec(root.text("/usr/local/cuda/version.txt").value ?? "")?.[1];
  const version = found[0] ?? old ?? headerVersion(root);
  return version ? known(version) : unknown("no version file and no cuda.h in /usr/local/cuda or /opt/cuda");
}

/** What cuda.h calls itself, for toolkits that were packed without their version file: 13000 is 13.0. */
function headerVersion(root: Root): string | null {
  for (const folder of ["/usr/local/cuda", "/opt/cuda"]) {
    const header = root.text(`${folder}/include/cuda.h`).value ?? "";
    const number = Number(/^#define CUDA_VERSION (\d{4,6})$/m.exec(header)?.[1]);
    if (number > 0) return `${Math.floor(number / 1000)}.${Math.floor((number % 1000) / 10)}`;
  }
  return null;
}

function moduleGpus(root: Root): Told<ModuleGpu[]> {
  const folder = "/proc/driver/nvidia/gpus";
  const names = root.list(folder);
  if (names.value === null) return unknown(reasonOf(names));
  return known(
    names.value.map((pci) => {
      const text = root.text(`${folder}/${pci}/information`);
      return {
        pci: pci.toLowerCase(),
        model: lineOf(text, /^Model:\s*(.+)$/m, "").value,
        // Question marks stand in it until the GPU is first used.
        uuid: lineOf(text, /^GPU UUID:\s*(GPU-[0-9a-f-]+)$/m, "").value,
      };
    }),
  );
}

function iommuOf(root: Root): Told<"off" | "pass-through" | "translate"> {
  const units = root.list("/sys/class/iommu");
  if (units.value === null) return unknown(reasonOf(units));
  if (units.value.length === 0) return known("off");
  const types = (root.list("/sys/kernel/iommu_groups").value ?? []).flatMap(
    (group) => root.text(`/sys/kernel/iommu_groups/${group}/type`).value ?? [],
  );
  if (types.length > 0)
    return known(types.every((type) => type === "identity") ? "pass-through" : "translate");
  return understood(
    root.text("/proc/cmdline"),
    (line) => (/(^|\s)(iommu=pt|iommu\.passthrough=1)(\s|$)/.test(line) ? "pass-through" : "translate"),
    "",
  );
}
