import type { GpuFacts, MachineFacts, PairFacts } from "../facts.js";
import { rests } from "../gpus.js";
import { generationOf, type PciDevice } from "../pcie.js";
import {
  type Check,
  fail,
  few,
  type Judgement,
  joined,
  mayUsePcie,
  NO_GPU,
  NO_PAIR,
  once,
  pairNames,
  pass,
  plain,
  skip,
  text,
  unread,
  warn,
} from "./check.js";

/** PCI Express errors that were repeated and went well: fewer than this many since the start happen on good links. */
const MANY_CORRECTED = 100;

/** A device with what is right above it. */
interface Seat {
  readonly name: string;
  readonly device: PciDevice;
  readonly port: PciDevice | null;
  readonly gpu: GpuFacts | null;
}

/** The PCIe tree: links, routing of peer traffic, errors. */
export const PCIE_CHECKS: readonly Check[] = [
  {
    id: "pcie-width",
    group: "pcie",
    title: text("PCIe links run at full width", "PCIe链路宽度达到最大"),
    consequence: text(
      "Half the lanes is half the bandwidth: transfers through host memory and over PCIe take twice as long from some KiB on.",
      "通道减半则带宽减半：经主机内存或PCIe的传输从数KiB起耗时加倍。",
    ),
    fix: text(
      "Reseat card and riser, clean the contacts, try another slot; see sudo lspci -vv for LnkSta against LnkCap.",
      "重新插拔GPU与转接线、清洁金手指、更换插槽；用sudo lspci -vv对比LnkSta与LnkCap。",
    ),
    source: "https://docs.kernel.org/PCI/sysfs-pci.html",
    run(facts) {
      return judgeLinks(
        facts,
        ({ device, port }) => {
          const can = least(device.maxWidth, port?.maxWidth ?? null);
          if (device.width === null || can === null) return null;
          return { bad: device.width < can, now: `x${device.width}`, can: `x${can}` };
        },
        fail,
      );
    },
  },
  {
    id: "pcie-generation",
    group: "pcie",
    title: text("PCIe links run at full speed", "PCIe链路达到最高速率"),
    consequence: text(
      "Each generation lost halves the bandwidth and lengthens each crossing.",
      "每降一代带宽减半，每次穿越也更慢。",
    ),
    fix: text(
      "Look at the speed under load (an idle GPU rests at generation 1); set the slot's generation in the firmware, reseat the riser.",
      "在负载下查看速率（空闲GPU停在第1代）；在固件中设定插槽代数，重新插拔转接线。",
    ),
    source: "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/731",
    run: generations,
  },
  {
    id: "pcie-slot",
    group: "pcie",
    title: text("Slots are as wide and fast as their cards", "插槽与GPU规格相当"),
    consequence: text(
      "The slot is the limit of every transfer through host memory, however well the link is trained.",
      "无论链路训练得多好，插槽都是经主机内存传输的上限。",
    ),
    fix: text(
      "Move the card to a slot with all lanes and the card's generation; see the board's manual for bifurcation.",
      "换到通道齐全、代数匹配的插槽；通道拆分见主板手册。",
    ),
    source: "https://docs.kernel.org/PCI/sysfs-pci.html",
    run(facts) {
      const seats = seatsOf(facts).filter(({ gpu, port }) => gpu !== null && port !== null);
      if (seats.length === 0) return facts.gpus.length === 0 ? NO_GPU : unread(noSeat(facts));
      const told = seats.flatMap(({ name, device, port }) => {
        const width = lessThan(port?.maxWidth, device.maxWidth);
        const speed = lessThan(port?.maxSpeedGts, device.maxSpeedGts);
        if (width === null && speed === null) return [];
        const slot = `x${port?.maxWidth ?? "?"} Gen${generationOf(port?.maxSpeedGts ?? null)}`;
        const card = `x${device.maxWidth ?? "?"} Gen${generationOf(device.maxSpeedGts)}`;
        return [{ name, bad: width === true || speed === true, slot, card }];
      });
      if (told.length === 0) return unread(seats[0]?.port?.missing.maxWidth);
      const bad = told.filter((one) => one.bad);
      if (bad.length === 0) return pass(text("as wide and fast as the cards", "与GPU规格相当"));
      return warn({
        en: few(bad.map(({ name, slot, card }) => `${name}: slot ${slot}, card ${card}`)),
        zh: few(bad.map(({ name, slot, card }) => `${name}：插槽${slot}，GPU ${card}`)),
      });
    },
  },
  {
    id: "pcie-errors",
    group: "pcie",
    title: text("PCIe links have no errors", "PCIe链路没有错误"),
    consequence: text(
      "Each repeated packet adds microseconds, at random; errors that are not corrected end transfers.",
      "每个重发的包随机增加数微秒；不可纠正的错误会中止传输。",
    ),
    fix: text(
      "Reseat card and riser; see the files aer_dev_* of the device in sysfs, and nvidia-smi -q for replays.",
      "重新插拔GPU与转接线；查看sysfs中该设备的aer_dev_*文件和nvidia-smi -q中的重放计数。",
    ),
    source: "https://docs.kernel.org/PCI/pcieaer-howto.html",
    run: pcieErrors,
  },
  {
    id: "acs-redirect",
    group: "pcie",
    title: text("No ACS redirect on the way between GPUs", "GPU之间的路径上没有ACS重定向"),
    consequence: text(
      "Ports send peer requests up to the root complex: higher latency, shared uplinks, and lost or damaged writes where the IOMMU is in the way.",
      "端口把对等请求送往根复合体：延迟升高、上行链路被共享，遇上IOMMU时写入可能丢失或损坏。",
    ),
    fix: text(
      "On bare metal turn ACS off in the firmware, or with setpci for the ports named; a host of virtual machines needs it for isolation.",
      "裸机可在固件中关闭ACS，或用setpci关闭所列端口；虚拟化宿主机的隔离依赖它。",
    ),
    source:
      "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#pci-access-control-services-acs",
    run: acsRedirect,
  },
  {
    id: "iommu-mode",
    group: "pcie",
    title: text("The IOMMU does not translate peer traffic", "IOMMU不转换对等流量"),
    consequence: text(
      "On bare metal peer copies through a translating IOMMU are not supported: bytes get lost although every call succeeds.",
      "裸机上经过做转换的IOMMU的对等拷贝不受支持：调用全部成功而数据丢失。",
    ),
    fix: text(
      "Try iommu=pt on the kernel's command line; some machines need ACS off or the IOMMU off as well. The verdict ladder tells.",
      "在内核命令行试用iommu=pt；有的机器还需关闭ACS或IOMMU。以判定阶梯的结果为准。",
    ),
    source: "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#iommu-on-linux",
    run(facts) {
      if (facts.gpus.length < 2) return facts.gpus.length === 0 ? NO_GPU : NO_PAIR;
      const { iommu, missing } = facts.software;
      if (facts.surroundings.virtualMachine) {
        return skip(text("a virtual machine: its host's IOMMU counts", "虚拟机：起作用的是宿主机的IOMMU"));
      }
      if (iommu === null) return unread(missing.iommu);
      if (iommu === "off") return pass(text("none at work", "未启用"));
      if (iommu === "pass-through") return pass(text("pass-through", "直通模式"));
      const between = once(facts.pairs).filter(mayUsePcie);
      if (between.length === 0) {
        return pass(text("translates, but every pair has NVLink", "启用了转换，但每对GPU都有NVLink"));
      }
      return warn(
        text(`translates; ${pairNames(between)} over PCIe`, `启用了转换；${pairNames(between)}走PCIe`),
      );
    },
  },
  {
    id: "pcie-tree",
    group: "pcie",
    title: text("The PCIe tree can be seen", "可以看到PCIe树"),
    consequence: text(
      "Which GPUs share a switch stays unknown: schedules and NCCL place traffic blindly, and peer writes may be mirrored.",
      "不知道哪些GPU共用交换机：调度与NCCL只能盲排，对等写入还可能被镜像。",
    ),
    fix: text(
      "Have the host show the switches to the guest, or give NCCL a file of them (NCCL_TOPO_FILE); in a container mount /sys.",
      "让宿主机向虚拟机呈现交换机，或给NCCL一个拓扑文件（NCCL_TOPO_FILE）；容器中挂载/sys。",
    ),
    source: "https://github.com/NVIDIA/nccl/issues/2335",
    run: pcieTree,
  },
  {
    id: "link-power",
    group: "pcie",
    title: text("PCIe links do not save power", "PCIe链路未开启节能"),
    consequence: text(
      "A link that sleeps wakes for microseconds before each lone small transfer.",
      "休眠的链路在每次零散小传输前要花数微秒唤醒。",
    ),
    fix: text("Boot with pcie_aspm.policy=performance.", "以pcie_aspm.policy=performance启动。"),
    source: "https://docs.kernel.org/admin-guide/kernel-parameters.html",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { aspm, missing } = facts.host;
      if (aspm === null) return unread(missing.aspm);
      return aspm.startsWith("power") ? warn(plain(aspm)) : pass(plain(aspm));
    },
  },
  {
    id: "numa-of-gpus",
    group: "pcie",
    title: text("The firmware tells each GPU's NUMA node", "固件给出每块GPU的NUMA节点"),
    consequence: text(
      "Buffers and threads land on the wrong socket: staged copies cross the socket link twice.",
      "缓冲区与线程落在错误的CPU插槽上：中转拷贝两次穿越CPU之间的互联。",
    ),
    fix: text(
      "Update the firmware, or pin by hand: numactl --cpunodebind=N --membind=N.",
      "更新固件，或手工绑定：numactl --cpunodebind=N --membind=N。",
    ),
    source: "https://docs.kernel.org/PCI/sysfs-pci.html",
    run(facts) {
      const { numaNodes, missing } = facts.host;
      const placed = facts.gpus.filter((gpu) => gpu.device !== null);
      if (facts.gpus.length === 0) return NO_GPU;
      if (numaNodes === null) return unread(missing.numaNodes);
      const nodes = numaNodes.filter((node) => node.cpus !== "");
      if (placed.length === 0) return unread(noSeat(facts));
      if (nodes.length < 2) return pass(text("one NUMA node", "只有一个NUMA节点"));
      const untold = placed.filter((gpu) => gpu.device?.numaNode === null);
      const list = few(placed.map((gpu) => `GPU ${gpu.index}: ${gpu.device?.numaNode ?? "?"}`));
      return untold.length > 0 ? warn(plain(list)) : pass(plain(list));
    },
  },
  {
    id: "across-sockets",
    group: "pcie",
    title: text("No pair depends on the link between sockets", "没有GPU对依赖CPU之间的互联"),
    consequence: text(
      "Peer copies across sockets can be slower than staging through host memory, above all small reads.",
      "跨插槽的对等拷贝可能比经主机内存中转还慢，小块读取尤甚。",
    ),
    fix: text(
      "Measure both ways (lab.sweep with path peer and staged), and keep neighbours in a ring on one socket.",
      "两条路径都测（lab.sweep，path取peer与staged），环上相邻的卡放在同一插槽。",
    ),
    source: "https://github.com/NVIDIA/nccl-tests/issues/74",
    run(facts) {
      if (facts.pairs.length === 0) return facts.gpus.length === 0 ? NO_GPU : NO_PAIR;
      // A way that NVLink may shorten is at most as long as that of PCIe.
      const open = once(facts.pairs).find((pair) => pair.link === null && (pair.pcie ?? "SYS") === "SYS");
      const across = once(facts.pairs).filter((pair) => pair.link === "SYS");
      if (across.length === 0 && open) return unread(`which way GPU ${open.from} and ${open.to} take`);
      if (across.length === 0) return pass(text("none does", "没有"));
      return warn(plain(`SYS: ${pairNames(across)}`));
    },
  },
];

/** GPUs and RDMA cards with the ports right above them. */
function seatsOf(facts: MachineFacts): Seat[] {
  const devices = new Map(facts.pci.devices.map((device) => [device.address, device]));
  const rdma = new Map(
    facts.nics.flatMap((nic) => (nic.rdma ? [[nic.pci ?? nic.rdma, nic.rdma] as const] : [])),
  );
  return facts.pci.devices.flatMap((device) => {
    const gpu = facts.gpus.find((own) => own.device === device) ?? null;
    const name = gpu ? `GPU ${gpu.index}` : rdma.get(device.address);
    return name === undefined
      ? []
      : [{ name, device, gpu, port: devices.get(device.above.at(-1) ?? "") ?? null }];
  });
}

function noSeat(facts: MachineFacts): string {
  return facts.pci.reason ?? "sysfs shows no GPU here";
}

function judgeLinks(
  facts: MachineFacts,
  look: (seat: Seat) => { bad: boolean; now: string; can: string } | null,
  worst: typeof fail,
): Judgement {
  const seats = seatsOf(facts);
  if (facts.gpus.length === 0) return NO_GPU;
  if (seats.length === 0) return unread(noSeat(facts));
  const told = seats.flatMap((seat) => {
    const found = look(seat);
    return found === null ? [] : [{ ...found, name: seat.name }];
  });
  if (told.length === 0) return unread(seats[0]?.device.missing.width ?? seats[0]?.device.missing.maxWidth);
  const bad = told.filter((one) => one.bad);
  if (bad.length > 0) return worst(plain(few(bad.map(({ name, now, can }) => `${name}: ${now} / ${can}`))));
  return pass(plain(few(told.map(({ name, now }) => `${name} ${now}`))));
}

/** An idle GPU rests at a lower generation: what was seen under load counts, or else a GPU that works or whose link is fast all the same. */
function generations(facts: MachineFacts): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const seats = seatsOf(facts).filter(({ gpu }) => gpu !== null);
  const told = seats.flatMap(({ name, device, port, gpu }) => {
    const can = generationOf(least(device.maxSpeedGts, port?.maxSpeedGts ?? null));
    const loaded = gpu?.loaded?.generation ?? null;
    const now = Math.max(loaded ?? 0, generationOf(device.speedGts) ?? 0);
    if (can === null || now === 0) return [];
    const state = { rests: gpu !== null && rests(gpu), loaded: loaded !== null, low: now < can };
    return [{ name, now, can, ...state }];
  });
  if (told.length === 0) return unread(seats[0]?.device.missing.speedGts ?? noSeat(facts));
  const bad = told.filter((one) => one.low && !one.rests);
  const words = (list: typeof told) =>
    few(list.map(({ name, now, can }) => `${name}: Gen${now} / Gen${can}`));
  if (bad.length > 0) return warn(plain(words(bad)));
  const resting = told.filter((one) => one.low);
  if (resting.length > 0) {
    return pass(
      text(`${words(resting)}, idle: not seen under load`, `${words(resting)}，空闲：没有在负载下看到`),
    );
  }
  const seen = few(told.map(({ name, now }) => `${name} Gen${now}`));
  // Seen at full speed at rest is seen too: a link does not slow down under load.
  return pass(told.every((one) => one.loaded) ? text(`under load: ${seen}`, `负载下：${seen}`) : plain(seen));
}

function pcieErrors(facts: MachineFacts): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const near = new Set(seatsOf(facts).flatMap(({ device }) => [device.address, ...device.above]));
  const told = facts.pci.devices.flatMap((device) =>
    near.has(device.address) && device.errors ? [{ device, errors: device.errors }] : [],
  );
  const silent = facts.pci.devices.find((device) => near.has(device.address));
  if (told.length === 0) return unread(silent?.missing.errors ?? noSeat(facts));
  const lost = told.filter(({ errors }) => errors.fatal + errors.nonFatal > 0);
  const many = told.filter(({ errors }) => errors.correctable >= MANY_CORRECTED);
  if (lost.length > 0) {
    const list = few(
      lost.map(({ device, errors }) => `${device.address}: ${errors.fatal + errors.nonFatal}`),
    );
    return fail(text(`not corrected: ${list}`, `不可纠正：${list}`));
  }
  if (many.length > 0) {
    const list = few(many.map(({ device, errors }) => `${device.address}: ${errors.correctable}`));
    return warn(text(`corrected: ${list}`, `已纠正：${list}`));
  }
  return pass(
    text(`fewer than ${MANY_CORRECTED} corrected on each link`, `每条链路已纠正的少于${MANY_CORRECTED}个`),
  );
}

function acsRedirect(facts: MachineFacts): Judgement {
  if (facts.pairs.length === 0) return facts.gpus.length === 0 ? NO_GPU : NO_PAIR;
  const between = once(facts.pairs).filter(mayUsePcie);
  if (between.length === 0) return pass(text("every pair has NVLink", "每对GPU都有NVLink"));
  const by = (acs: PairFacts["routing"]["acs"]) => between.filter((pair) => pair.routing.acs === acs);
  const [redirected, hidden] = [by("redirected"), by("unknown")];
  if (redirected.length > 0) {
    const ports = few([...new Set(redirected.flatMap((pair) => pair.routing.ports))]);
    return warn(
      joined([
        plain(pairNames(redirected)),
        text(`ports ${ports} redirect requests`, `端口${ports}重定向请求`),
      ]),
    );
  }
  if (hidden.length > 0) {
    const ports = hidden.flatMap((pair) => pair.routing.ports);
    const tell =
      ports.length > 0 ? `sudo lspci -vvv -s ${ports[0]} | grep ACSCtl` : "sudo lspci -vvv | grep ACSCtl";
    return skip(
      text(`not known: ${hidden[0]?.routing.reason}`, `未知：${hidden[0]?.routing.reason}`),
      text(
        `This would tell: ${tell} (ReqRedir+ redirects).`,
        `可用此命令查看：${tell}（ReqRedir+即重定向）。`,
      ),
    );
  }
  return pass(
    text(
      "no port redirects requests; whether bytes arrive the verdicts tell",
      "没有端口重定向请求；数据是否到达以判定为准",
    ),
  );
}

function pcieTree(facts: MachineFacts): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const dark = facts.gpus.filter((gpu) => gpu.device === null);
  const flat = facts.gpus.filter((gpu) => gpu.device !== null && gpu.device.above.length === 0);
  const { virtualMachine, wsl } = facts.surroundings;
  if (wsl) return skip(text("WSL2 shows no PCIe tree", "WSL2不呈现PCIe树"));
  if (dark.length > 0 && facts.basis === "recording") return unread(facts.pci.reason ?? undefined);
  const hidden = dark.length > 0 ? dark : virtualMachine ? flat : [];
  if (hidden.length === 0) {
    const bridges = facts.pci.devices.filter((device) => device.kind === "bridge").length;
    return pass(text(`${bridges} bridges above GPUs and cards`, `GPU与网卡之上有${bridges}个桥`));
  }
  const seen =
    dark.length > 0
      ? text(
          `not shown: where ${few(dark.map((gpu) => `GPU ${gpu.index}`))} is in it`,
          `看不到${few(dark.map((gpu) => `GPU ${gpu.index}`))}在树中的位置`,
        )
      : text("a virtual machine that puts its GPUs right on the root bus", "虚拟机把GPU直接挂在根总线上");
  const between = once(facts.pairs).filter(mayUsePcie);
  if (facts.pairs.length === 0) return pass(seen);
  // Where NVLink joins every pair the tree matters to the host's copies only.
  return between.length > 0
    ? warn(seen)
    : pass(joined([seen, text("every pair has NVLink", "每对GPU都有NVLink")]));
}

function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function lessThan(a: number | null | undefined, b: number | null): boolean | null {
  return a == null || b === null ? null : a < b;
}
