import type { MachineFacts } from "../facts.js";
import {
  type Check,
  fail,
  few,
  gpuNames,
  type Judgement,
  lookedAt,
  NO_GPU,
  NOT_LOOKED,
  overPcie,
  pass,
  plain,
  skip,
  type Text,
  telling,
  text,
  unread,
  warn,
} from "./check.js";

/** Clocks events that are faults or limits, and not the GPU's own resting. */
const HELD: Readonly<Record<string, Text>> = {
  hw_slowdown: text("hardware slowdown", "硬件降频"),
  hw_thermal_slowdown: text("too hot", "过热"),
  hw_power_brake_slowdown: text("power brake", "供电告警"),
  sw_thermal_slowdown: text("too hot", "过热"),
  sw_power_cap: text("at its power limit", "达到功率上限"),
};
const MIB = 2 ** 20;

/** Settings and state of each GPU. */
export const GPU_CHECKS: readonly Check[] = [
  {
    id: "visible-devices",
    group: "gpu",
    title: text("CUDA numbers the GPUs as nvidia-smi does", "CUDA编号与nvidia-smi一致"),
    consequence: text(
      "Numbers of programs and of nvidia-smi mean different GPUs: the wrong pair is measured or pinned.",
      "程序与nvidia-smi的编号指向不同的GPU：测错卡对，绑错核。",
    ),
    fix: text(
      "Set CUDA_DEVICE_ORDER=PCI_BUS_ID; in CUDA_VISIBLE_DEVICES name GPUs by UUID, or leave it out.",
      "设置CUDA_DEVICE_ORDER=PCI_BUS_ID；在CUDA_VISIBLE_DEVICES中用UUID指定，或去掉它。",
    ),
    source: "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables",
    run: visibleDevices,
  },
  {
    id: "mig",
    group: "gpu",
    title: text("MIG is off", "MIG关闭"),
    consequence: text(
      "MIG instances have no peer access, and a program sees one instance only.",
      "MIG实例之间没有对等访问，一个程序也只能看到一个实例。",
    ),
    fix: text(
      "For transfers between GPUs turn it off: sudo nvidia-smi -i N -mig 0 (the GPU must be idle).",
      "需要GPU间传输时关闭：sudo nvidia-smi -i N -mig 0（GPU须空闲）。",
    ),
    source: "https://github.com/NVIDIA/nccl/issues/1716",
    run(facts) {
      const told = telling(facts.gpus, (gpu) => gpu.driver?.facts?.mig);
      if (told.length === 0) return untold(facts, "mig");
      const on = told.filter(({ value }) => value);
      return on.length > 0
        ? warn(text(`on: ${names(on)}`, `已启用：${names(on)}`))
        : pass(text("off", "关闭"));
    },
  },
  {
    id: "compute-mode",
    group: "gpu",
    title: text("Compute mode lets several processes in", "计算模式允许多个进程"),
    consequence: text(
      "In exclusive-process mode a second process (IPC, MPI ranks, the probe of the verdict ladder) gets no context.",
      "独占模式下第二个进程（IPC、MPI进程、判定阶梯的探测进程）拿不到上下文。",
    ),
    fix: text("sudo nvidia-smi -c 0", "sudo nvidia-smi -c 0"),
    source: "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-modes",
    run(facts) {
      const told = telling(facts.gpus, (gpu) => gpu.driver?.facts?.computeMode);
      if (told.length === 0) return untold(facts, "computeMode");
      const other = told.filter(({ value }) => value !== "default");
      if (other.length === 0) return pass(plain("default"));
      const seen = plain(few(other.map(({ gpu, value }) => `GPU ${gpu.index} ${value}`)));
      return other.some(({ value }) => value === "prohibited") ? fail(seen) : warn(seen);
    },
  },
  {
    id: "persistence",
    group: "gpu",
    title: text("Persistence mode is on", "持久模式开启"),
    consequence: text(
      "The driver lets an unused GPU go: the first call of every program pays seconds, and clocks start low.",
      "驱动会释放空闲GPU：每个程序的首次调用要多花数秒，时钟也从低频开始。",
    ),
    fix: text(
      "Start nvidia-persistenced (sudo systemctl enable --now nvidia-persistenced), or sudo nvidia-smi -pm 1.",
      "启动nvidia-persistenced（sudo systemctl enable --now nvidia-persistenced），或sudo nvidia-smi -pm 1。",
    ),
    source: "https://docs.nvidia.com/deploy/driver-persistence/",
    run(facts) {
      if (facts.surroundings.wsl) return skip(text("WSL2: Windows decides", "WSL2：由Windows决定"));
      const told = telling(facts.gpus, (gpu) => gpu.driver?.facts?.persistence);
      if (told.length === 0) return untold(facts, "persistence");
      const off = told.filter(({ value }) => !value);
      return off.length > 0
        ? warn(text(`off: ${names(off)}`, `关闭：${names(off)}`))
        : pass(text("on", "开启"));
    },
  },
  {
    id: "ecc-errors",
    group: "gpu",
    title: text("No uncorrected memory errors", "没有不可纠正的显存错误"),
    consequence: text(
      "Programs end with an error when they touch the page; a GPU that keeps counting is to be replaced.",
      "程序触及坏页时报错退出；计数持续增长的GPU应更换。",
    ),
    fix: text(
      "See nvidia-smi -q -d ECC,ROW_REMAPPER; reset the GPU so that rows are remapped.",
      "查看nvidia-smi -q -d ECC,ROW_REMAPPER；重置GPU以完成行重映射。",
    ),
    source: "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/",
    run(facts) {
      const told = telling(facts.gpus, (gpu) => gpu.driver?.state?.eccUncorrected);
      if (told.length === 0) return untoldState(facts, "eccUncorrected");
      const bad = told.filter(({ value }) => value > 0);
      return bad.length > 0
        ? fail(plain(few(bad.map(({ gpu, value }) => `GPU ${gpu.index}: ${value}`))))
        : pass(text("none since the driver was loaded", "自驱动加载以来没有"));
    },
  },
  {
    id: "clocks-held",
    group: "gpu",
    title: text("Nothing holds the clocks down", "时钟未被压低"),
    consequence: text(
      "Copy kernels, protocol kernels and, where memory is slowed, copy engines take longer, and unevenly.",
      "拷贝内核、协议内核变慢且不稳定；显存降频时拷贝引擎也变慢。",
    ),
    fix: text(
      "See nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER; look at fans, power supplies and the power limit.",
      "查看nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER；检查风扇、电源与功率上限。",
    ),
    source: "https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
    run(facts) {
      const told = telling(facts.gpus, (gpu) => gpu.driver?.state?.events);
      if (told.length === 0) return untoldState(facts, "events");
      const held = told.flatMap(({ gpu, value }) =>
        value.flatMap((event) => (HELD[event] ? [{ gpu, word: HELD[event] as Text, event }] : [])),
      );
      if (held.length === 0) return pass(text("nothing does", "没有"));
      return warn({
        en: few(held.map(({ gpu, word, event }) => `GPU ${gpu.index}: ${word.en} (${event})`)),
        zh: few(held.map(({ gpu, word, event }) => `GPU ${gpu.index}：${word.zh}（${event}）`)),
      });
    },
  },
  {
    id: "clocks-alike",
    group: "gpu",
    title: text("GPUs of one model have one power limit", "同型号GPU功率上限一致"),
    consequence: text(
      "Under load the weaker one lags, and every collective waits for it.",
      "高负载时上限低的卡掉队，集合通信都要等它。",
    ),
    fix: text("Set them alike: sudo nvidia-smi -pl WATTS.", "设为一致：sudo nvidia-smi -pl 瓦数。"),
    source: "https://docs.nvidia.com/deploy/nvidia-smi/",
    run(facts) {
      const told = telling(facts.gpus, (gpu) => gpu.driver?.facts?.powerLimitW);
      if (told.length === 0) return untold(facts, "powerLimitW");
      const models = [...new Set(told.map(({ gpu }) => gpu.name))];
      const limits = (model: string) =>
        told.filter(({ gpu }) => gpu.name === model).map(({ value }) => value);
      const uneven = models.filter((model) => new Set(limits(model)).size > 1);
      const all = plain(few(told.map(({ gpu, value }) => `GPU ${gpu.index} ${value} W`)));
      return uneven.length > 0 ? warn(all) : pass(all);
    },
  },
  {
    id: "other-processes",
    group: "gpu",
    title: text("Nobody else computes on the GPUs", "没有其他进程占用GPU"),
    consequence: text(
      "Their kernels and copies share engines, links and memory: latencies spread, bandwidth halves.",
      "其内核和拷贝与你共享引擎、链路和显存：延迟发散，带宽减半。",
    ),
    fix: text("See nvidia-smi; measure when they are gone.", "查看nvidia-smi；等其结束后再测量。"),
    source: "https://docs.nvidia.com/deploy/nvidia-smi/",
    run(facts) {
      const told = telling(facts.gpus, (gpu) => gpu.driver?.state?.processes);
      if (told.length === 0) return untoldState(facts, "processes");
      const busy = told
        .map(({ gpu, value }) => ({ gpu, value: value.filter((process) => !process.own).length }))
        .filter(({ value }) => value > 0);
      return busy.length > 0
        ? warn(plain(few(busy.map(({ gpu, value }) => `GPU ${gpu.index}: ${value}`))))
        : pass(text("no other process", "没有其他进程"));
    },
  },
  {
    id: "display",
    group: "gpu",
    title: text("No GPU drives a display", "没有GPU连接显示"),
    consequence: text(
      "Drawing interrupts transfers, and kernels that run long are ended by the watchdog.",
      "画面绘制会打断传输，长时间运行的内核会被看门狗终止。",
    ),
    fix: text(
      "Move the display to another adapter, or stop the desktop (sudo systemctl isolate multi-user).",
      "把显示接到其他GPU，或停止桌面（sudo systemctl isolate multi-user）。",
    ),
    source: "https://docs.nvidia.com/cuda/cuda-c-programming-guide/",
    run(facts) {
      const told = telling(facts.gpus, (gpu) => gpu.driver?.facts?.displayActive);
      if (told.length === 0) return untold(facts, "displayActive");
      const on = told.filter(({ value }) => value);
      return on.length > 0 ? warn(plain(names(on))) : pass(text("none", "没有"));
    },
  },
  {
    id: "models-alike",
    group: "gpu",
    title: text("All GPUs are of one model", "GPU型号一致"),
    consequence: text(
      "Peer access between models is often refused, and collectives run at the pace of the slowest.",
      "不同型号间常被拒绝对等访问，集合通信以最慢的卡为准。",
    ),
    fix: text(
      "Choose GPUs of one model with CUDA_VISIBLE_DEVICES.",
      "用CUDA_VISIBLE_DEVICES选择同型号的GPU。",
    ),
    source: "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#peer-to-peer-memory-access",
    run(facts) {
      const shown = facts.gpus.filter((gpu) => gpu.driver !== null);
      if (shown.length === 0) return NO_GPU;
      const models = [...new Set(shown.map((gpu) => gpu.name))];
      return models.length > 1 ? warn(plain(few(models))) : pass(plain(models[0] ?? ""));
    },
  },
  {
    id: "bar1-size",
    group: "gpu",
    title: text("BAR1 covers the GPU's memory", "BAR1覆盖全部显存"),
    consequence: text(
      "Peers without NVLink and network cards reach memory through BAR1: mappings fail or run out when it is smaller.",
      "无NVLink的对等卡与网卡都经BAR1访问显存：窗口偏小时映射失败或耗尽。",
    ),
    fix: text(
      "Turn on Above 4G Decoding and Resizable BAR in the firmware.",
      "在固件中打开Above 4G Decoding与Resizable BAR。",
    ),
    source: "https://github.com/tinygrad/open-gpu-kernel-modules/issues/5",
    run: bar1Size,
  },
];

type Told = { readonly gpu: MachineFacts["gpus"][number] };

function names(told: readonly Told[]): string {
  return gpuNames(told.map(({ gpu }) => gpu));
}

/** Why NVML's facts lack a field on every GPU. */
function untold(facts: MachineFacts, field: string): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const [gpu] = facts.gpus;
  return unread(gpu?.driver?.facts?.missing[field] ?? gpu?.driver?.reason ?? reasonOf(facts));
}

function untoldState(facts: MachineFacts, field: string): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const [gpu] = facts.gpus;
  return unread(gpu?.driver?.state?.missing[field] ?? gpu?.driver?.reason ?? reasonOf(facts));
}

function reasonOf(facts: MachineFacts): string | undefined {
  return facts.driver.cuda.reason ?? facts.driver.nvml.reason ?? undefined;
}

function visibleDevices(facts: MachineFacts): Judgement {
  const shown = facts.gpus.filter((gpu) => gpu.driver !== null);
  if (shown.length === 0) return facts.gpus.length === 0 ? NO_GPU : unread(reasonOf(facts));
  if (!lookedAt(facts)) return NOT_LOOKED;
  if (!facts.driver.numbered) return unread(facts.driver.brokenOff ?? undefined);
  const { CUDA_VISIBLE_DEVICES: visible } = facts.surroundings.environment;
  const hidden = shown.filter((gpu) => gpu.cudaOrdinal === null);
  const seen = shown.filter((gpu) => gpu.cudaOrdinal !== null);
  const order = seen.map((gpu) => gpu.cudaOrdinal);
  const permuted = order.some((ordinal, i) => ordinal !== i);
  const set = visible === undefined ? "" : `CUDA_VISIBLE_DEVICES=${visible}: `;
  if (hidden.length > 0) {
    const list = gpuNames(hidden);
    return warn(text(`${set}${list} hidden from programs`, `${set}程序看不到${list}`));
  }
  if (permuted) {
    const list = few(seen.map((gpu) => `GPU ${gpu.index} = CUDA ${gpu.cudaOrdinal}`));
    return warn(plain(`${set}${list}`));
  }
  return pass(text(`${set}the same numbers`, `${set}编号相同`));
}

function bar1Size(facts: MachineFacts): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const told = facts.gpus.flatMap((gpu) => {
    const bytes = gpu.driver?.facts?.bar1Bytes ?? gpu.device?.barBytes ?? null;
    return bytes === null || gpu.memoryBytes === null ? [] : [{ gpu, bytes, memory: gpu.memoryBytes }];
  });
  if (told.length === 0) return unread(facts.gpus[0]?.driver?.facts?.missing.bar1Bytes ?? reasonOf(facts));
  const small = told.filter(({ bytes, memory }) => bytes < memory);
  const list = (of: typeof told) =>
    few(of.map(({ gpu, bytes, memory }) => `GPU ${gpu.index}: ${mib(bytes)} / ${mib(memory)} MiB`));
  if (small.length === 0) return pass(plain(list(told)));
  // Between GPUs of which each pair has NVLink, and without cards that reach for their memory, nothing goes through it.
  const needed = facts.pairs.some(overPcie) || facts.nics.some((nic) => nic.rdma);
  if (!needed) {
    return pass(text(`${list(small)}; nothing here goes through it`, `${list(small)}；此机没有流量经过它`));
  }
  return warn(plain(list(small)));
}

function mib(bytes: number): number {
  return Math.round(bytes / MIB);
}
