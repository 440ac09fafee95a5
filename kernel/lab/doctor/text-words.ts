/** What stands around the facts in the text, in both languages. */
import { text } from "./checks/check.js";

export const WORDS = {
  verdict: {
    0: text("healthy: no finding", "健康：没有发现问题"),
    1: text("warnings", "有警告"),
    2: text("failures", "有故障"),
    3: text("nothing to judge: no NVIDIA GPU here", "无可判断：这里没有NVIDIA GPU"),
  },
  /** Where nobody looked at the machine itself. */
  told: text("nothing wrong in what is known of it", "已知部分没有发现问题"),
  check: text("check", "检查"),
  model: text("model", "型号"),
  state: text("state", "状态"),
  versions: text("versions", "版本"),
  module: text("kernel module", "内核模块"),
  user: text("user driver", "用户态驱动"),
  cuda: text("driver's CUDA", "驱动的CUDA"),
  toolkit: text("toolkit", "工具包"),
  host: text("host", "主机"),
  topology: text("topology", "拓扑"),
  unknown: text("not known", "未知"),
  kind: {
    measured: text("measured", "实测"),
    recorded: text("recorded", "录制"),
    simulated: text("simulated", "模拟"),
  },
  vm: text("VM", "虚拟机"),
  container: text("container", "容器"),
  node: text("NUMA node", "个NUMA节点"),
  nodes: text("NUMA nodes", "个NUMA节点"),
  iommu: {
    off: text("IOMMU off", "IOMMU关闭"),
    "pass-through": text("IOMMU pass-through", "IOMMU直通"),
    translate: text("IOMMU translates", "IOMMU做转换"),
  },
  notShown: text("not shown by the driver", "驱动未识别"),
  idle: text("idle", "空闲"),
  noGpu: text(
    "If there should be one: lspci -d 10de: lists what is on the bus, nvidia-smi -L what the driver shows. " +
      "Without: p2plab doctor --machine recorded:h200x2, or a model (p2plab machines lists them).",
    "若本应有：lspci -d 10de:列出总线上的，nvidia-smi -L列出驱动识别的。" +
      "没有GPU时：p2plab doctor --machine recorded:h200x2，或用模型（p2plab machines可列出）。",
  ),
  peers: text("peer access", "对等访问"),
  granted: text("granted to", "允许"),
  pair: text("ordered pair", "个有序对"),
  pairs: text("ordered pairs", "个有序对"),
  findings: text("findings", "发现"),
  evidence: text("seen", "所见"),
  consequence: text("effect", "影响"),
  fix: text("to do", "处理"),
  source: text("source", "来源"),
  skipped: text("not judged", "未判断"),
  passed: text("hold", "通过"),
} as const;
