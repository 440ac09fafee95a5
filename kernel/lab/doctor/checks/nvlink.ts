import type { GpuFacts, MachineFacts } from "../facts.js";
import {
  type Check,
  fail,
  few,
  type Judgement,
  NO_GPU,
  pass,
  plain,
  skip,
  text,
  unread,
  warn,
} from "./check.js";

const WAITING = ["not-started", "in-progress"];

/** NVLinks, their errors, and the fabric behind them. */
export const NVLINK_CHECKS: readonly Check[] = [
  {
    id: "nvlink-active",
    group: "nvlink",
    title: text("Every NVLink is up", "NVLink全部连通"),
    consequence: text(
      "Each link that is down takes its share of the bandwidth of every transfer; with none left traffic goes over PCIe.",
      "每断一条链路，所有传输都损失相应带宽；全断则改走PCIe。",
    ),
    fix: text(
      "See nvidia-smi nvlink -s and dmesg for Xid 74; reseat a bridge; on NVSwitch boards restart the fabric manager, then the machine.",
      "查看nvidia-smi nvlink -s及dmesg中的Xid 74；重插桥接器；NVSwitch机器先重启fabric manager，再重启机器。",
    ),
    source: "https://docs.nvidia.com/deploy/xid-errors/",
    run: nvlinkActive,
  },
  {
    id: "nvlink-alike",
    group: "nvlink",
    title: text("NVLinks run at one rate, as many on each GPU", "NVLink速率一致、各卡数量相同"),
    consequence: text(
      "The slowest link, and the GPU with the fewest, set the pace of every collective.",
      "最慢的链路和链路最少的卡决定集合通信的速度。",
    ),
    fix: text(
      "See nvidia-smi nvlink -s on every GPU; reset the GPU that differs.",
      "逐卡查看nvidia-smi nvlink -s；重置不一致的GPU。",
    ),
    source: "https://docs.nvidia.com/deploy/nvidia-smi/",
    run(facts) {
      const linked = withLinks(facts);
      if (linked.length === 0) return noLinks(facts);
      const counts = new Map(linked.map((gpu) => [gpu.index, active(gpu).length]));
      const speeds = new Map(
        linked.map((gpu) => [gpu.index, [...new Set(active(gpu).flatMap((link) => link.speedMBps ?? []))]]),
      );
      const uneven = new Set(counts.values()).size > 1 && new Set(linked.map((gpu) => gpu.name)).size === 1;
      const mixed = [...speeds].filter(([, rates]) => rates.length > 1);
      const list = few(
        linked.map(
          (gpu) =>
            `GPU ${gpu.index}: ${counts.get(gpu.index)} × ${(speeds.get(gpu.index) ?? []).join("/") || "?"} MB/s`,
        ),
      );
      return uneven || mixed.length > 0 ? warn(plain(list)) : pass(plain(list));
    },
  },
  {
    id: "nvlink-errors",
    group: "nvlink",
    title: text("NVLinks count no errors", "NVLink没有错误计数"),
    consequence: text(
      "Each replay delays a packet by microseconds, and a recovery stops the link for milliseconds: tails grow long.",
      "每次重放使包延迟数微秒，一次恢复使链路停顿数毫秒：尾延迟变长。",
    ),
    fix: text(
      "Watch whether they grow under load (nvidia-smi nvlink -e); reseat the bridge or tray, clean its contacts.",
      "观察负载下是否增长（nvidia-smi nvlink -e）；重插桥接器或托盘，清洁触点。",
    ),
    source: "https://docs.nvidia.com/deploy/nvidia-smi/",
    run(facts) {
      const told = facts.gpus.flatMap((gpu) =>
        (gpu.driver?.state?.links ?? []).flatMap((link) => {
          const counts = [link.replayErrors, link.recoveryErrors, link.crcErrors, link.receiveErrors];
          const known = counts.filter((count): count is number => count !== null);
          return known.length === 0
            ? []
            : [{ gpu, link: link.link, errors: known.reduce((a, b) => a + b, 0) }];
        }),
      );
      if (told.length === 0) return noLinks(facts);
      const bad = told.filter(({ errors }) => errors > 0);
      if (bad.length === 0) return pass(text(`none on ${told.length} links`, `${told.length}条链路均无错误`));
      return warn(
        text(
          few(bad.map(({ gpu, link, errors }) => `GPU ${gpu.index} link ${link}: ${errors}`)),
          few(bad.map(({ gpu, link, errors }) => `GPU ${gpu.index}链路${link}：${errors}`)),
        ),
      );
    },
  },
  {
    id: "fabric-manager",
    group: "nvlink",
    title: text("GPUs are registered with the NVSwitch fabric", "GPU已在NVSwitch交换网注册"),
    consequence: text(
      "CUDA does not start (result 802), or GPUs have no NVLink to their peers.",
      "CUDA无法启动（结果802），或GPU之间没有NVLink。",
    ),
    fix: text(
      "sudo systemctl status nvidia-fabricmanager: it must run, in the driver's very version.",
      "sudo systemctl status nvidia-fabricmanager：必须在运行，且版本与驱动完全一致。",
    ),
    source: "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/",
    run: fabricManager,
  },
  {
    id: "imex",
    group: "nvlink",
    title: text("IMEX is ready where NVLink leaves the computer", "跨机NVLink的IMEX已就绪"),
    consequence: text(
      "Memory cannot be shared over NVLink with other computers of the domain; within this one nothing is lost.",
      "无法经NVLink与域内其他机器共享显存；本机之内不受影响。",
    ),
    fix: text(
      "sudo systemctl status nvidia-imex, and make a channel (/dev/nvidia-caps-imex-channels/channel0).",
      "sudo systemctl status nvidia-imex，并创建通道（/dev/nvidia-caps-imex-channels/channel0）。",
    ),
    source: "https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      // Such machines have GPUs joined to their CPU by NVLink, or name themselves so.
      const multi = facts.gpus.some((gpu) => /\bGB[23]00\b/.test(gpu.name));
      const { imex, imexChannels, missing } = facts.software;
      if (!multi) return skip(text("NVLink ends within this computer", "NVLink不出本机"));
      if (imex === null && imexChannels === null) return unread(missing.imexChannels);
      const seen = text(
        `service ${imex === null ? "not known" : imex ? "runs" : "does not run"}, ${imexChannels ?? 0} channels`,
        `服务${imex === null ? "未知" : imex ? "在运行" : "未运行"}，${imexChannels ?? 0}个通道`,
      );
      return imexChannels ? pass(seen) : warn(seen);
    },
  },
];

function withLinks(facts: MachineFacts): GpuFacts[] {
  return facts.gpus.filter((gpu) => active(gpu).length > 0);
}

function active(gpu: GpuFacts) {
  return (gpu.driver?.facts?.links ?? []).filter((link) => link.active === true);
}

function noLinks(facts: MachineFacts): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const told = facts.gpus.filter((gpu) => gpu.driver?.facts);
  if (told.length === 0)
    return unread(facts.gpus[0]?.driver?.reason ?? facts.driver.cuda.reason ?? undefined);
  return skip(text("no NVLink is up", "没有连通的NVLink"));
}

function nvlinkActive(facts: MachineFacts): Judgement {
  const told = facts.gpus.flatMap((gpu) =>
    gpu.driver?.facts ? [{ gpu, links: gpu.driver.facts.links }] : [],
  );
  if (told.length === 0) return noLinks(facts);
  if (told.every(({ gpu, links }) => links.length === 0 && gpu.driver?.facts?.linkCount == null)) {
    return unread(told[0]?.gpu.driver?.facts?.missing.linkCount);
  }
  const having = told.filter(({ links }) => links.length > 0);
  if (having.length === 0) return skip(text("these GPUs have no NVLink", "这些GPU没有NVLink"));
  const up = having.filter(({ links }) => links.some((link) => link.active));
  const board = hasSwitches(facts);
  // A card without a bridge is built so; on a board with NVSwitches no GPU is meant to be without.
  if (up.length === 0 && !board)
    return skip(text("no link is up: no bridge is fitted", "没有连通的链路：未装桥接器"));
  const down = having.flatMap(({ gpu, links }) => {
    const dead = links.filter((link) => link.active === false).map((link) => link.link);
    const bare = dead.length === links.length && !board;
    return dead.length > 0 && !bare ? [{ gpu, dead, all: links.length }] : [];
  });
  if (down.length === 0) {
    return pass(
      plain(
        few(up.map(({ gpu, links }) => `GPU ${gpu.index}: ${links.filter((link) => link.active).length}`)),
      ),
    );
  }
  return fail(
    text(
      few(
        down.map(
          ({ gpu, dead, all }) =>
            `GPU ${gpu.index}: ${dead.length} of ${all} down (${few(dead.map(String))})`,
        ),
      ),
      few(
        down.map(
          ({ gpu, dead, all }) =>
            `GPU ${gpu.index}：${all}条中断开${dead.length}条（${few(dead.map(String))}）`,
        ),
      ),
    ),
  );
}

function hasSwitches(facts: MachineFacts): boolean {
  const fabric = facts.gpus.some((gpu) => {
    const state = gpu.driver?.facts?.fabric;
    return state != null && state !== "not-supported";
  });
  const ends = facts.gpus.some((gpu) => active(gpu).some((link) => link.remoteType === "switch"));
  return fabric || ends || facts.pci.devices.some((device) => device.kind === "nvswitch");
}

function fabricManager(facts: MachineFacts): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const { reason } = facts.driver.cuda;
  if (reason !== null && /\b802\b|SYSTEM_NOT_READY/.test(reason)) return fail(plain(reason));
  const told = facts.gpus.flatMap((gpu) => {
    const state = gpu.driver?.facts?.fabric ?? null;
    return state === null || state === "not-supported" ? [] : [{ gpu, state }];
  });
  const bad = told.filter(({ state }) => WAITING.includes(state) || state.startsWith("failed"));
  if (bad.length > 0) return fail(plain(few(bad.map(({ gpu, state }) => `GPU ${gpu.index}: ${state}`))));
  if (told.length > 0) return pass(plain(few(told.map(({ gpu, state }) => `GPU ${gpu.index}: ${state}`))));
  const switches = facts.pci.devices.filter((device) => device.kind === "nvswitch").length;
  if (switches === 0) return skip(text("no NVSwitch here", "这里没有NVSwitch"));
  const { fabricManager: runs } = facts.software;
  if (facts.surroundings.container || runs === null)
    return unread("services outside a container are hidden in it");
  const seen = text(
    `${switches} NVSwitches, the service ${runs ? "runs" : "does not run"}`,
    `${switches}个NVSwitch，服务${runs ? "在运行" : "未运行"}`,
  );
  return runs ? pass(seen) : fail(seen);
}
