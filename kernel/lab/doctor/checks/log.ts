import type { MachineFacts } from "../facts.js";
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

/**
 * What a faulty program alone brings about: graphics exception, page fault, a channel stopped or cleaned up (NVIDIA, Xid Errors).
 * Everything else is hardware, firmware, driver or links.
 */
const OF_PROGRAMS: readonly number[] = [13, 31, 43, 45];

/** What the kernel wrote down about GPUs. */
export const LOG_CHECKS: readonly Check[] = [
  {
    id: "xid-errors",
    group: "gpu",
    title: text("The kernel's log holds no Xid error of hardware", "内核日志中没有硬件类Xid错误"),
    consequence: text(
      "A GPU, its memory or a link failed since the system was started: transfers were cut off or repeated, and it may come again.",
      "系统启动以来GPU、显存或链路出过故障：传输曾被中断或重发，且可能再次发生。",
    ),
    fix: text(
      "Look the number up in the list of Xid errors; 79 is a GPU that fell off the bus, 74 NVLink, 48, 63, 64, 94 and 95 memory, 119 and 120 its firmware.",
      "在Xid错误表中查编号：79为GPU掉线，74为NVLink，48、63、64、94、95为显存，119、120为GPU固件。",
    ),
    source: "https://docs.nvidia.com/deploy/xid-errors/",
    run: xidErrors,
  },
  {
    id: "iommu-faults",
    group: "pcie",
    title: text("The IOMMU refused no access of a GPU", "IOMMU没有拒绝过GPU的访问"),
    consequence: text(
      "Bytes that a GPU or network card sent were dropped although every call succeeded.",
      "GPU或网卡发出的数据被丢弃，而调用全部成功。",
    ),
    fix: text(
      "See iommu-mode and acs-redirect; stage transfers until the verdicts are ok (P2PLAB_P2P=off).",
      "见iommu-mode与acs-redirect；判定正常之前先走中转（P2PLAB_P2P=off）。",
    ),
    source: "https://github.com/tinygrad/open-gpu-kernel-modules/issues/18",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { iommuFaults, missing } = facts.log;
      if (iommuFaults === null) return closed(missing.iommuFaults, "IO_PAGE_FAULT|DMAR:");
      const names = namesOf(facts);
      const own = iommuFaults.filter(({ pci }) => names.has(pci));
      if (own.length === 0) return pass(text("none in the log", "日志中没有"));
      return fail(plain(few(own.map(({ pci, count }) => `${names.get(pci)}: ${count}`))));
    },
  },
];

function xidErrors(facts: MachineFacts): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const { xids, missing } = facts.log;
  if (xids === null) return closed(missing.xids, "xid");
  const names = namesOf(facts);
  const list = (of: typeof xids) =>
    few(
      of.map(
        ({ pci, xid, count }) => `${names.get(pci) ?? pci}: Xid ${xid}${count > 1 ? ` × ${count}` : ""}`,
      ),
    );
  const hard = xids.filter(({ xid }) => !OF_PROGRAMS.includes(xid));
  if (hard.length > 0) return warn(plain(list(hard)));
  if (xids.length === 0) return pass(text("none in the log", "日志中没有"));
  return pass(text(`${list(xids)}, of programs alone`, `${list(xids)}，只属程序错误`));
}

/** GPUs and network cards by PCI address. */
function namesOf(facts: MachineFacts): Map<string, string> {
  const nics = facts.nics.flatMap(({ pci, rdma }) => (pci && rdma ? [[pci, rdma] as const] : []));
  const gpus = facts.gpus.flatMap(({ pci, index }) => (pci ? [[pci, `GPU ${index}`] as const] : []));
  return new Map([...nics, ...gpus]);
}

function closed(reason: string | undefined, wanted: string): Judgement {
  const command = `sudo dmesg | grep -iE "${wanted}"`;
  return skip(unread(reason).evidence, text(`This would tell: ${command}`, `可用此命令查看：${command}`));
}
