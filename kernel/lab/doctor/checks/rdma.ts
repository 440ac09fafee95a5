import type { MachineFacts } from "../facts.js";
import { type Check, few, type Judgement, NO_GPU, pass, plain, skip, text, unread, warn } from "./check.js";

const NO_CARD: Judgement = skip(text("no RDMA card", "没有RDMA网卡"));

/** What network cards need to reach GPU memory. */
export const RDMA_CHECKS: readonly Check[] = [
  {
    id: "gpu-direct-rdma",
    group: "rdma",
    title: text("Network cards can register GPU memory", "网卡可以注册显存"),
    consequence: text(
      "Without it bytes between computers are staged through host memory on both sides.",
      "否则跨机数据在两端都要经主机内存中转。",
    ),
    fix: text(
      "sudo modprobe nvidia-peermem, or use DMA-BUF: the open kernel module, Linux 5.12 or later, and the tool's flag (perftest --use_cuda_dmabuf).",
      "sudo modprobe nvidia-peermem，或使用DMA-BUF：开源内核模块、Linux 5.12及以上，并加工具参数（perftest --use_cuda_dmabuf）。",
    ),
    source: "https://github.com/linux-rdma/perftest/issues/126",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      if (!facts.nics.some((nic) => nic.rdma)) return NO_CARD;
      const { peermem, openModule, missing } = facts.software;
      if (peermem === null) return unread(missing.peermem);
      if (peermem) return pass(plain("nvidia_peermem"));
      const kernel = /^(\d+)\.(\d+)/.exec(facts.host.kernel ?? "");
      const [major = 0, minor = 0] = (kernel ?? []).slice(1).map(Number);
      const told = facts.gpus.flatMap(({ driver }) => driver?.dmaBuf ?? []);
      // A driver that does not tell has DMA-BUF where its kernel module is the open one.
      const handsOn = told.length > 0 ? told.every((able) => able) : openModule === true;
      const dmabuf = handsOn && (major > 5 || (major === 5 && minor >= 12));
      const without = told.includes(false);
      const lacks = text(
        `nvidia_peermem is not loaded; ${without ? "the driver has no DMA-BUF, " : ""}${openModule ? "open" : "closed"} module, Linux ${facts.host.kernel ?? "?"}`,
        `未加载nvidia_peermem；${without ? "驱动不支持DMA-BUF，" : ""}${openModule ? "开源" : "闭源"}内核模块，Linux ${facts.host.kernel ?? "?"}`,
      );
      return dmabuf
        ? pass(text("DMA-BUF: driver and kernel have it", "DMA-BUF：驱动与内核均支持"))
        : warn(lacks);
    },
  },
  {
    id: "nic-affinity",
    group: "rdma",
    title: text("Every GPU has a network card behind its PCIe switch", "每块GPU在同一PCIe交换机下有网卡"),
    consequence: text(
      "Between GPU and card the bytes pass the host bridge or the socket link: about half the rate, and more latency.",
      "GPU与网卡之间要经过主桥或CPU之间的互联：速率约减半，延迟升高。",
    ),
    fix: text(
      "Choose the nearest card for each GPU (NCCL_IB_HCA, UCX_NET_DEVICES); see the table of classes.",
      "为每块GPU选择最近的网卡（NCCL_IB_HCA、UCX_NET_DEVICES）；见拓扑表。",
    ),
    source: "https://github.com/linux-rdma/perftest/issues/241",
    run: nicAffinity,
  },
  {
    id: "nic-ports",
    group: "rdma",
    title: text("RDMA ports are active", "RDMA端口处于活动状态"),
    consequence: text(
      "Traffic of that card goes through others, or nowhere.",
      "该卡的流量改走其他卡，或中断。",
    ),
    fix: text(
      "See ibstat or rdma link; check cable, switch port and subnet manager.",
      "用ibstat或rdma link查看；检查线缆、交换机端口与子网管理器。",
    ),
    source: "https://docs.nvidia.com/networking/",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const told = facts.nics.filter((nic) => nic.rdma && nic.state !== null);
      if (told.length === 0)
        return facts.nics.some((nic) => nic.rdma) ? unread(facts.nics[0]?.missing.state) : NO_CARD;
      const down = told.filter((nic) => nic.state !== "ACTIVE");
      return down.length > 0
        ? warn(plain(few(down.map((nic) => `${nic.rdma} ${nic.state}`))))
        : pass(text(`${told.length} active`, `${told.length}个活动端口`));
    },
  },
];

function nicAffinity(facts: MachineFacts): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const layout = facts.topology?.layout;
  const nics = layout?.named("nic") ?? [];
  if (!layout || nics.length === 0) return NO_CARD;
  const best = facts.gpus.map((gpu) => {
    const classes = nics.map((nic) => layout.classOf(`gpu${gpu.index}`, nic) ?? "?");
    const order = ["PIX", "PXB", "PHB", "NODE", "SYS", "?"];
    return { gpu, nearest: order.find((word) => classes.includes(word)) ?? "?" };
  });
  const list = (of: typeof best) => few(of.map(({ gpu, nearest }) => `GPU ${gpu.index} ${nearest}`));
  const far = best.filter(({ nearest }) => nearest !== "PIX" && nearest !== "PXB");
  if (far.length === 0) return pass(plain(list(best)));
  if (far.some(({ nearest }) => nearest === "?")) return unread("a part of the way is hidden");
  return warn(plain(list(far)));
}
