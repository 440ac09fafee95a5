import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Outcome, Stage } from "../../verdict.js";

/** What the machine shows without root that bears on broken peer access. */
export interface Surroundings {
  /** Whether an IOMMU is at work, and whether it translates (`on`) or passes through. Null where the system does not tell. */
  readonly iommu: "off" | "on" | "pass-through" | null;
  readonly virtualMachine: boolean;
  readonly container: boolean;
}

/**
 * What to look at next after an outcome, the likeliest first. Sources of what helped in public reports: the IOMMU and PCIe
 * ACS (open-gpu-kernel-modules #1257, nccl #257, #2079), VFIO guests whose writes are mirrored (nccl #2335), fabric manager
 * (pytorch #35710), BAR size (tinygrad open-gpu-kernel-modules #5), namespaces (ucx #11978).
 */
export function adviceFor(outcome: Outcome, stage: Stage, around: Surroundings): string {
  switch (outcome) {
    case "ok":
      return "";
    case "no-p2p":
      return "See nvidia-smi topo -p2p r and nvidia-smi topo -m; MIG, vGPU, a BAR1 smaller than the memory (Resizable BAR) and a fabric manager that is down stand in the way of peer access.";
    case "mirror":
      return `${iommu(around)} ${machine(around)} Writes that only the writer sees are known of GPUs passed into virtual machines: the host must let peer traffic through.`;
    case "broken":
    case "hang":
      return `${iommu(around)} Look at PCIe ACS on the way between the GPUs (lspci -vvv as root: ACSCtl with ReqRedir+ sends peer traffic to the IOMMU), at Xid messages in the kernel log (dmesg), and at nvidia-smi nvlink -e.${around.virtualMachine ? ` ${machine(around)}` : ""}`;
    case "inconclusive":
      return stage === "start"
        ? `See whether a new process can use the GPUs: nvidia-smi, CUDA_VISIBLE_DEVICES, and exclusive compute mode (nvidia-smi -q -d COMPUTE).${around.container ? " In a container, all processes need the same devices passed in." : ""}`
        : "See what else uses the GPUs (nvidia-smi), and the kernel log for Xid messages; then ask again with lab.verdicts(machine).";
  }
}

function iommu({ iommu: mode }: Surroundings): string {
  if (mode === "on") {
    return "The IOMMU of this machine is on and translates: boot with iommu=pt, or turn it off in the firmware, and try again.";
  }
  if (mode === "pass-through") return "The IOMMU of this machine is on, in pass-through mode: try it off.";
  if (mode === "off") return "This machine shows no IOMMU; in a virtual machine the host may have one.";
  return "Look whether an IOMMU is on (ls /sys/class/iommu): iommu=pt helps on some machines.";
}

function machine({ virtualMachine }: Surroundings): string {
  return virtualMachine
    ? "This is a virtual machine: its host decides how peer traffic goes."
    : "This looks like bare metal.";
}

/** Read anew each time; what cannot be read is null or false. */
export function surroundings(): Surroundings {
  return {
    iommu: iommuMode(),
    virtualMachine: / hypervisor( |$)/m.test(textOf("/proc/cpuinfo").slice(0, 20_000)),
    container:
      existsSync("/.dockerenv") ||
      existsSync("/run/.containerenv") ||
      "KUBERNETES_SERVICE_HOST" in process.env,
  };
}

function iommuMode(): Surroundings["iommu"] {
  try {
    if (readdirSync("/sys/class/iommu").length === 0) return "off";
  } catch {
    return null;
  }
  return /(^|\s)(iommu=pt|iommu\.passthrough=1)(\s|$)/.test(textOf("/proc/cmdline")) ? "pass-through" : "on";
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
