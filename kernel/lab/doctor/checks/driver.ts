import type { MachineFacts } from "../facts.js";
import {
  type Check,
  fail,
  few,
  gpuNames,
  lookedAt,
  NO_GPU,
  NOT_LOOKED,
  pass,
  plain,
  skip,
  text,
  unread,
  warn,
} from "./check.js";

/** Driver, CUDA and toolkit: are they there, do they fit. */
export const DRIVER_CHECKS: readonly Check[] = [
  {
    id: "driver-answers",
    group: "driver",
    title: text("The driver answers within its deadline", "驱动在期限内应答"),
    consequence: text(
      "A call that never returns hangs every program that touches the GPU, this one's measurements among them.",
      "一个不返回的调用会让所有使用GPU的程序挂起，测量也不例外。",
    ),
    fix: text(
      "Look for Xid messages (sudo dmesg | grep -i xid); reset the GPU or restart the machine once its work is saved.",
      "查看Xid消息（sudo dmesg | grep -i xid）；保存工作后重置GPU或重启机器。",
    ),
    source: "https://docs.nvidia.com/deploy/xid-errors/",
    run(facts) {
      if (!lookedAt(facts)) return NOT_LOOKED;
      const said = [...facts.late, ...(facts.driver.brokenOff ? [facts.driver.brokenOff] : [])];
      return said.length > 0
        ? fail(plain(said.join("; ")))
        : pass(text("every question was answered", "所有询问都得到了应答"));
    },
  },
  {
    id: "driver-loaded",
    group: "driver",
    title: text("The kernel module is loaded", "内核模块已加载"),
    consequence: text("Without it CUDA finds no GPU.", "没有它CUDA找不到任何GPU。"),
    fix: text(
      "Load it (sudo modprobe nvidia); see sudo dmesg for why it does not load. A container needs the NVIDIA container toolkit.",
      "加载它（sudo modprobe nvidia）；加载失败的原因见sudo dmesg。容器需要NVIDIA container toolkit。",
    ),
    source: "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { kernelModule, modules, missing } = facts.software;
      if (kernelModule !== null) return pass(plain(kernelModule));
      if (facts.surroundings.wsl)
        return skip(text("WSL2: the module is Windows'", "WSL2：内核模块在Windows一侧"));
      // What the driver answers through came from somewhere: only its files are hidden here.
      if (facts.driver.cuda.available || modules === null) return unread(missing.kernelModule);
      const nouveau = modules?.includes("nouveau")
        ? text("nouveau is loaded in its place", "加载的是nouveau")
        : plain(missing.kernelModule ?? "");
      return fail(nouveau);
    },
  },
  {
    id: "driver-versions",
    group: "driver",
    title: text("Kernel module and user libraries have one version", "内核模块与用户态库版本一致"),
    consequence: text(
      "After an update without a restart, NVML and CUDA refuse to start (driver/library version mismatch).",
      "升级后未重启时，NVML与CUDA拒绝启动（driver/library version mismatch）。",
    ),
    fix: text(
      "Restart the machine, or unload and load the module again; in a container, restart the container.",
      "重启机器，或卸载后重新加载内核模块；在容器中则重启容器。",
    ),
    source: "https://github.com/NVIDIA/nvidia-container-toolkit/issues/394",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { kernelModule, userDriver, missing } = facts.software;
      const user = facts.driver.version ?? userDriver;
      if (kernelModule === null) return unread(missing.kernelModule);
      if (user === null) return unread(missing.userDriver);
      const seen = text(
        `module ${kernelModule}, libraries ${user}`,
        `内核模块${kernelModule}，用户态库${user}`,
      );
      return kernelModule === user ? pass(seen) : fail(seen);
    },
  },
  {
    id: "cuda-starts",
    group: "driver",
    title: text("CUDA starts", "CUDA能启动"),
    consequence: text("No measurement and no transfer is possible.", "无法测量，也无法传输。"),
    fix: text(
      "Result 802 or 803: see fabric-manager and driver-versions. 100: no GPU is passed in. 999: look at dmesg for Xid.",
      "结果802或803：见fabric-manager与driver-versions。100：没有传入GPU。999：查看dmesg中的Xid。",
    ),
    source: "https://github.com/pytorch/pytorch/issues/35710",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { cuda } = facts.driver;
      if (cuda.available)
        return pass(text(`CUDA ${versionOf(cuda.version)}`, `CUDA ${versionOf(cuda.version)}`));
      const reason = cuda.reason ?? "";
      return cuda.available === null ? unread(reason) : fail(plain(reason));
    },
  },
  {
    id: "nvml-answers",
    group: "driver",
    title: text("NVML tells of the GPUs", "NVML可用"),
    consequence: text(
      "Clocks, throttling, NVLink counters and reasons for refused peer access stay unknown; measurements still run.",
      "时钟、降频、NVLink计数器和拒绝对等访问的原因都不可知；测量仍可进行。",
    ),
    fix: text(
      "Give the container the capability utility (NVIDIA_DRIVER_CAPABILITIES=compute,utility), or install libnvidia-ml.so.1.",
      "为容器加上utility能力（NVIDIA_DRIVER_CAPABILITIES=compute,utility），或安装libnvidia-ml.so.1。",
    ),
    source: "https://github.com/NVIDIA/nvbandwidth/issues/55",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { cuda, nvml } = facts.driver;
      if (cuda.available === false) return skip(text("CUDA does not start", "CUDA未启动"));
      if (nvml.available === null) return unread(nvml.reason ?? undefined);
      if (!nvml.available) return warn(plain(nvml.reason ?? ""));
      const silent = facts.gpus.filter((gpu) => gpu.driver && gpu.driver.facts === null);
      if (silent.length > 0) return warn(plain(`${gpuNames(silent)}: ${silent[0]?.driver?.reason ?? ""}`));
      const lost = facts.gpus.flatMap((gpu) => Object.values(gpu.driver?.facts?.missing ?? {}));
      const errors = lost.filter((reason) => !/NOT_SUPPORTED|FUNCTION_NOT_FOUND|does not tell/.test(reason));
      return errors.length > 0
        ? warn(plain(few([...new Set(errors)])))
        : pass(text("every GPU is known to it", "所有GPU都可查询"));
    },
  },
  {
    id: "toolkit-version",
    group: "driver",
    title: text("The driver is as new as the CUDA toolkit", "驱动不旧于CUDA工具包"),
    consequence: text(
      "PTX of a newer toolkit is refused by an older driver, and kernels do not load.",
      "较新工具包生成的PTX会被旧驱动拒绝，内核无法加载。",
    ),
    fix: text(
      "Update the driver, install the toolkit's compatibility package, or build SASS for this GPU (-arch=sm_XX).",
      "升级驱动、安装工具包的兼容包，或直接为此GPU编译SASS（-arch=sm_XX）。",
    ),
    source: "https://github.com/NVIDIA/nvbandwidth/issues/61",
    run(facts) {
      const { toolkit, missing } = facts.software;
      const { version } = facts.driver.cuda;
      if (facts.gpus.length === 0) return NO_GPU;
      if (toolkit === null) return unread(missing.toolkit);
      if (version === null) return unread(facts.driver.cuda.reason ?? undefined);
      const seen = text(
        `driver for CUDA ${versionOf(version)}, toolkit ${toolkit}`,
        `驱动支持CUDA ${versionOf(version)}，工具包${toolkit}`,
      );
      const [major = 0, minor = 0] = toolkit.split(".").map(Number);
      return major * 1000 + minor * 10 > version ? warn(seen) : pass(seen);
    },
  },
  {
    id: "gpus-shown",
    group: "driver",
    title: text("Every GPU on the bus is shown by the driver", "总线上的GPU都被驱动识别"),
    consequence: text(
      "A GPU that fell off the bus, or is given to a virtual machine, takes its links with it; rings get longer ways.",
      "掉线或已分配给虚拟机的GPU会带走其链路，通信环只能绕远路。",
    ),
    fix: text(
      "Compare lspci -d 10de: with nvidia-smi -L; look for Xid 79 in dmesg; unbind vfio-pci where the host shall use it.",
      "对比lspci -d 10de:与nvidia-smi -L；在dmesg中查找Xid 79；主机要用时解除vfio-pci绑定。",
    ),
    source: "https://docs.nvidia.com/deploy/xid-errors/",
    run: gpusShown,
  },
];

function gpusShown(facts: MachineFacts) {
  if (facts.gpus.length === 0) return NO_GPU;
  const { cuda } = facts.driver;
  if (cuda.available === false) return skip(text("CUDA does not start", "CUDA未启动"));
  if (cuda.available === null) return unread(cuda.reason ?? undefined);
  if (facts.pci.reason !== null) return unread(facts.pci.reason);
  const shown = new Set(facts.gpus.flatMap((gpu) => (gpu.driver ? (gpu.pci ?? []) : [])));
  const unseen = facts.pci.devices.filter((device) => device.kind === "gpu" && !shown.has(device.address));
  if (unseen.length === 0) return pass(text(`all ${shown.size}`, `全部${shown.size}块`));
  if (facts.gpus.some((gpu) => gpu.driver?.facts?.mig)) {
    return skip(text("MIG: CUDA shows one instance at a time", "MIG：CUDA一次只显示一个实例"));
  }
  const names = few(unseen.map((device) => `${device.address} (${device.driver ?? "no driver"})`));
  if (facts.surroundings.container) {
    return pass(text(`not passed into this container: ${names}`, `没有传入此容器：${names}`));
  }
  const given = unseen.every((device) => device.driver === "vfio-pci");
  return (given ? warn : fail)(text(`not shown: ${names}`, `未被识别：${names}`));
}

/** 13000 is 13.0. */
export function versionOf(version: number | null): string {
  return version === null ? "?" : `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}
