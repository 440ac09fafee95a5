import { type Check, mayUsePcie, NO_GPU, once, pass, plain, skip, text, unread, warn } from "./check.js";

/** Where the process runs. */
export const SURROUNDINGS_CHECKS: readonly Check[] = [
  {
    id: "wsl",
    group: "surroundings",
    title: text("Not in WSL", "不在WSL中"),
    consequence: text(
      "Windows owns the GPU: no peer access over PCIe, no NVLink state, and every launch passes another driver.",
      "GPU归Windows所有：没有PCIe对等访问，看不到NVLink，每次启动还要多过一层驱动。",
    ),
    fix: text(
      "Measure on Linux itself; recordings and simulations work here.",
      "在原生Linux上测量；录制与模拟在此可用。",
    ),
    source: "https://github.com/microsoft/WSL/issues/6587",
    run(facts) {
      const { wsl, missing } = facts.surroundings;
      if (wsl === null) return unread(missing.wsl);
      return wsl ? warn(plain(facts.host.kernel ?? "WSL")) : pass(text("Linux itself", "原生Linux"));
    },
  },
  {
    id: "virtual-machine",
    group: "surroundings",
    title: text("No hypervisor between the GPUs", "GPU之间没有虚拟化层"),
    consequence: text(
      "The host routes peer traffic: it may refuse it, or mirror writes so that only the writer sees them.",
      "对等流量由宿主机路由：可能被拒绝，也可能被镜像，只有写入方能看到。",
    ),
    fix: text(
      "Trust the verdicts only; ask who runs the host for ACS, IOMMU and peer settings.",
      "只信判定结果；向宿主机管理者了解ACS、IOMMU与对等设置。",
    ),
    source: "https://github.com/NVIDIA/nccl/issues/2335",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { virtualMachine, product, missing, wsl } = facts.surroundings;
      if (wsl) return skip(plain("WSL2"));
      if (virtualMachine === null) return unread(missing.virtualMachine);
      if (!virtualMachine) return pass(text(`bare metal: ${product ?? "?"}`, `裸机：${product ?? "?"}`));
      const between = once(facts.pairs).filter(mayUsePcie);
      const asked = facts.ladder.verdicts.length > 0;
      const seen =
        product === null
          ? text("virtual machine; the system does not say whose", "虚拟机；系统未给出厂商")
          : text(`virtual machine: ${product}`, `虚拟机：${product}`);
      return between.length > 0 && !asked ? warn(seen) : pass(seen);
    },
  },
  {
    id: "vgpu",
    group: "surroundings",
    title: text("GPUs are whole, no vGPUs", "整卡使用，不是vGPU"),
    consequence: text(
      "A vGPU shares its engines by time slices, and has peer access only where the host grants it.",
      "vGPU按时间片共享引擎，对等访问须宿主机允许。",
    ),
    fix: text("Pass whole GPUs into the guest.", "把整块GPU直通给虚拟机。"),
    source: "https://docs.nvidia.com/vgpu/",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const told = facts.gpus.flatMap((gpu) => gpu.driver?.facts?.virtualization ?? []);
      if (told.length === 0)
        return unread(
          facts.gpus[0]?.driver?.facts?.missing.virtualization ?? facts.driver.cuda.reason ?? undefined,
        );
      return told.includes("vgpu") ? warn(plain("vgpu")) : pass(plain([...new Set(told)].join(", ")));
    },
  },
  {
    id: "confidential-computing",
    group: "surroundings",
    title: text("No confidential computing", "未启用机密计算"),
    consequence: text(
      "Transfers pass encrypted bounce buffers, and peer copies may be refused (NotSupported).",
      "传输要经过加密的中转缓冲区，对等拷贝可能被拒绝（NotSupported）。",
    ),
    fix: text(
      "Expect it, or use a machine without it: nvidia-smi conf-compute -f tells.",
      "属预期行为，或换用未启用的机器：nvidia-smi conf-compute -f可查看。",
    ),
    source: "https://docs.nvidia.com/cuda/cuda-c-programming-guide/",
    run(facts) {
      const { confidential, missing } = facts.surroundings;
      if (facts.gpus.length === 0) return NO_GPU;
      if (confidential === null) return unread(missing.confidential);
      return confidential.length > 0
        ? warn(plain(confidential.join(", ")))
        : pass(text("no sign of it", "没有迹象"));
    },
  },
  {
    id: "namespaces",
    group: "surroundings",
    title: text("GPU processes share their IPC namespace", "GPU进程共享IPC命名空间"),
    consequence: text(
      "Ranks in separate containers cannot open each other's IPC handles though peer access is granted.",
      "即便有对等访问，分处不同容器的进程也打不开彼此的IPC句柄。",
    ),
    fix: text(
      "Run all ranks in one container, or start them with --ipc=host (and --pid=host).",
      "把所有进程放在同一容器，或以--ipc=host（及--pid=host）启动。",
    ),
    source: "https://github.com/openucx/ucx/issues/11978",
    run(facts) {
      if (facts.gpus.length < 2)
        return facts.gpus.length === 0 ? NO_GPU : skip(text("one GPU", "只有一块GPU"));
      const { ownNamespaces, container, missing } = facts.surroundings;
      if (container) {
        return pass(
          text(
            "a container: one for all ranks works, one for each does not",
            "容器：所有进程共用一个则可行，各用一个则不可行",
          ),
        );
      }
      if (ownNamespaces === null) return unread(missing.ownNamespaces);
      return ownNamespaces.includes("ipc")
        ? warn(text(`own: ${ownNamespaces.join(", ")}`, `独立：${ownNamespaces.join(", ")}`))
        : pass(text("that of the first process", "与首进程相同"));
    },
  },
];
