import type { MachineFacts } from "../facts.js";
import {
  type Check,
  fail,
  few,
  type Judgement,
  joined,
  lookedAt,
  mayUsePcie,
  NO_GPU,
  NO_PAIR,
  NOT_LOOKED,
  once,
  overPcie,
  pairNames,
  pass,
  plain,
  skip,
  type Text,
  text,
  unread,
  warn,
} from "./check.js";
import { verdictWords } from "./verdict-words.js";

/** NVML's codes for what stands against peer access, as `nvidia-smi topo -p2p` prints them. */
const CODES: Readonly<Record<string, ReturnType<typeof text>>> = {
  CNS: text("CNS: the chipset does not support it", "CNS：芯片组不支持"),
  GNS: text("GNS: the GPU does not support it", "GNS：GPU不支持"),
  TNS: text("TNS: the topology does not support it", "TNS：拓扑不支持"),
  DR: text("DR: turned off by a setting of the driver", "DR：被驱动设置关闭"),
  NS: text("NS: not supported", "NS：不支持"),
  U: text("U: NVML does not know why", "U：NVML不知道原因"),
};
/** CUDA C++ Programming Guide: peers of a GPU on machines without NVSwitch. */
const MOST_PEERS = 8;

const STAGE = text(
  "Stage transfers meanwhile (P2PLAB_P2P=off, NCCL_P2P_DISABLE=1); look at IOMMU and ACS",
  "先改走中转（P2PLAB_P2P=off、NCCL_P2P_DISABLE=1）；查看IOMMU与ACS",
);

/** Peer access: is it granted, and do bytes arrive. */
export const PEER_CHECKS: readonly Check[] = [
  {
    id: "peer-access",
    group: "peer",
    title: text("The driver grants peer access", "驱动允许对等访问"),
    consequence: text(
      "Copies between these GPUs are staged through host memory: two crossings, more latency, a fraction of the bandwidth.",
      "这些GPU之间的拷贝经主机内存中转：两次穿越，延迟更高，带宽只剩一部分。",
    ),
    fix: text(
      "See nvidia-smi topo -p2p r for the code; MIG, vGPU, a small BAR1 and a fabric manager that is down stand in its way too. Consumer models have none.",
      "用nvidia-smi topo -p2p r查看代码；MIG、vGPU、BAR1偏小与fabric manager未运行也会妨碍。消费级型号本来没有。",
    ),
    source: "https://github.com/NVIDIA/nvbandwidth/issues/13",
    run: peerAccess,
  },
  {
    id: "verdicts",
    group: "peer",
    title: text(
      "Bytes and flags arrive, seen by the GPU that owns the memory",
      "数据与标志到达，由显存所属GPU证实",
    ),
    consequence: text(
      "Peer access that is granted and loses, mirrors or holds back writes makes results wrong, or programs hang.",
      "授予了对等访问却丢失、镜像或滞留写入，会使结果出错或程序挂起。",
    ),
    fix: STAGE,
    source: "https://github.com/NVIDIA/nccl/issues/2335",
    run: verdicts,
  },
  {
    id: "peer-count",
    group: "peer",
    title: text("No GPU has more peers than it can map", "每块GPU的对等数不超过可映射数"),
    consequence: text(
      "The ninth peer is refused (CUDA_ERROR_TOO_MANY_PEERS) where no NVSwitch joins the GPUs.",
      "没有NVSwitch时第九个对等访问会被拒绝（CUDA_ERROR_TOO_MANY_PEERS）。",
    ),
    fix: text("Enable peers when they are used, and disable them after.", "用时启用对等访问，用后关闭。"),
    source: "https://github.com/ggml-org/llama.cpp/issues/21883",
    run(facts) {
      if (facts.gpus.length < 2) return facts.gpus.length === 0 ? NO_GPU : NO_PAIR;
      const most = (by: typeof overPcie) =>
        Math.max(
          ...facts.gpus.map(
            (gpu) => facts.pairs.filter((pair) => pair.from === gpu.index && by(pair)).length,
          ),
        );
      const known = most(overPcie);
      if (known > MOST_PEERS) return warn(text(`${known} over PCIe`, `经PCIe的有${known}个`));
      const possible = most(mayUsePcie);
      return possible > MOST_PEERS
        ? unread("which pairs have NVLink")
        : pass(text(`at most ${possible} over PCIe`, `经PCIe的最多${possible}个`));
    },
  },
  {
    id: "known-models",
    group: "peer",
    title: text("No model of which peer access is known to hang", "没有已知对等访问会挂起的型号"),
    consequence: text(
      "Systems with these GPUs were reported to hang with peer access on; some work well.",
      "有报告称装有这些GPU的系统开启对等访问后挂起；也有正常的。",
    ),
    fix: text(
      "Trust the verdicts of this machine, not its model; P2PLAB_P2P=off stages everything.",
      "以本机的判定为准而非型号；P2PLAB_P2P=off使全部传输走中转。",
    ),
    source: "https://github.com/NVIDIA/nccl-tests/issues/117",
    run(facts) {
      if (facts.gpus.length < 2) return facts.gpus.length === 0 ? NO_GPU : NO_PAIR;
      const granted = facts.pairs.some((pair) => pair.driver?.access);
      const models = [
        ...new Set(facts.gpus.map((gpu) => gpu.name).filter((name) => /GeForce RTX 40\d0/.test(name))),
      ];
      if (models.length === 0 || !granted)
        return pass(text("none with peer access", "没有启用对等访问的此类型号"));
      return warn(plain(few(models)));
    },
  },
  {
    id: "switches-off",
    group: "peer",
    title: text("No variable turns transfers off or serialises them", "没有环境变量关闭或串行化传输"),
    consequence: text(
      "NCCL_P2P_DISABLE stages everything; CUDA_LAUNCH_BLOCKING and one connection serialise what should overlap.",
      "NCCL_P2P_DISABLE使一切走中转；CUDA_LAUNCH_BLOCKING与单连接使本应重叠的工作串行。",
    ),
    fix: text("Unset them before measuring.", "测量前取消这些变量。"),
    source: "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
    run(facts) {
      if (!lookedAt(facts)) return NOT_LOOKED;
      const set = Object.entries(facts.surroundings.environment).filter(([name, value]) =>
        slows(name, value),
      );
      if (set.length === 0) return pass(text("none is set", "没有设置"));
      return warn(plain(few(set.map(([name, value]) => `${name}=${value}`))));
    },
  },
];

function slows(name: string, value: string): boolean {
  switch (name) {
    case "NCCL_P2P_DISABLE":
    case "NCCL_SHM_DISABLE":
    case "NCCL_IB_DISABLE":
    case "CUDA_LAUNCH_BLOCKING":
      return value !== "" && value !== "0";
    case "NCCL_P2P_LEVEL":
      return value === "LOC" || value === "0";
    case "CUDA_DEVICE_MAX_CONNECTIONS":
      return value === "1";
    case "P2PLAB_P2P":
      return value === "off";
    case "CUDA_INJECTION64_PATH":
      return value !== "";
    default:
      return false;
  }
}

function peerAccess(facts: MachineFacts): Judgement {
  if (facts.pairs.length === 0) return facts.gpus.length === 0 ? NO_GPU : NO_PAIR;
  const told = facts.pairs.filter((pair) => pair.driver !== null && pair.driver.access !== null);
  if (told.length === 0) {
    if (facts.gpus.some((gpu) => gpu.driver?.facts?.mig)) {
      return skip(text("MIG instances have none", "MIG实例没有对等访问"));
    }
    return unread(facts.driver.cuda.reason ?? undefined);
  }
  const refused = once(told).filter((pair) => !pair.driver?.access);
  if (refused.length === 0)
    return pass(text(`all ${told.length} ordered pairs`, `全部${told.length}个有序对`));
  const codes = new Set(
    refused.flatMap((pair) =>
      [pair.driver?.nvml?.read, pair.driver?.nvml?.write].filter((code) => code != null && code !== "OK"),
    ),
  );
  return warn(
    joined([
      plain(pairNames(refused)),
      ...[...codes].map((code) => CODES[code as string] ?? plain(String(code))),
      ...(codes.size === 0
        ? [...new Set(refused.flatMap((pair) => pair.driver?.reason ?? []))].map(plain)
        : []),
    ]),
  );
}

function verdicts(facts: MachineFacts): Judgement {
  if (facts.pairs.length === 0) return facts.gpus.length === 0 ? NO_GPU : NO_PAIR;
  const { verdicts: all, unasked, reason } = facts.ladder;
  if (all.length === 0) return skip(text(`not asked: ${reason ?? ""}`, `未探测：${reason ?? ""}`));
  const by = (...outcomes: string[]) => all.filter((verdict) => outcomes.includes(verdict.outcome));
  const words = (list: typeof all): Text => {
    const told = list.map(verdictWords);
    return { en: few(told.map(({ en }) => en)), zh: few(told.map(({ zh }) => zh)) };
  };
  const lost = by("broken", "mirror", "hang");
  if (lost.length > 0) {
    const next = lost.find((verdict) => verdict.next !== "")?.next;
    return fail(words(lost), next ? joined([STAGE, plain(next)]) : undefined);
  }
  const open = by("inconclusive");
  if (open.length > 0) return warn(words(open));
  const good = by("ok").length;
  const rest = unasked > 0 ? text(`${unasked} not asked: ${reason}`, `${unasked}个未探测：${reason}`) : null;
  const seen = text(
    `${good} of ${all.length} pairs and kinds of memory ok`,
    `${all.length}个卡对与内存类型中${good}个正常`,
  );
  // A pair without peer access is told by peer-access; nothing is lost on its way.
  if (good === 0) return skip(text("the driver grants no peer access", "驱动不允许对等访问"));
  return rest ? warn(joined([seen, rest])) : pass(seen);
}
