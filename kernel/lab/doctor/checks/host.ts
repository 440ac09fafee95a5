import type { MachineFacts } from "../facts.js";
import { cpusOf } from "../host.js";
import { type Check, few, type Judgement, NO_GPU, pass, plain, skip, text, unread, warn } from "./check.js";

const GIB = 2 ** 30;
/** Docker gives 64 MiB where nobody asks for more; NCCL and data loaders of frameworks want hundreds for each GPU. */
const SMALL_SHM = GIB;

/** The host's part in transfers: processors, memory, limits. */
export const HOST_CHECKS: readonly Check[] = [
  {
    id: "cpu-affinity",
    group: "host",
    title: text("This process may run beside every GPU", "本进程可运行在每块GPU旁边"),
    consequence: text(
      "Launches, polls and staged copies cross the socket link: microseconds on each, and half the staging bandwidth.",
      "启动、轮询和中转拷贝要跨插槽：每次多出微秒级延迟，中转带宽减半。",
    ),
    fix: text(
      "Start with numactl or taskset on the GPU's node; ask the scheduler for CPUs near the GPU (--gpu-bind, cpuset).",
      "用numactl或taskset绑到GPU所在节点；向调度器申请靠近GPU的CPU（--gpu-bind、cpuset）。",
    ),
    source: "https://docs.nvidia.com/deploy/nvidia-smi/",
    run: cpuAffinity,
  },
  {
    id: "numa-balancing",
    group: "host",
    title: text("The kernel does not move pages between nodes", "内核不在节点间迁移页面"),
    consequence: text(
      "Pages are unmapped to see who touches them: faults of microseconds in the middle of host work.",
      "内核会取消映射以观察访问者：主机工作中途出现微秒级缺页。",
    ),
    fix: text("sudo sysctl kernel.numa_balancing=0", "sudo sysctl kernel.numa_balancing=0"),
    source: "https://docs.nvidia.com/networking/display/perftuning",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { numaNodes, numaBalancing, missing } = facts.host;
      if (numaNodes === null) return unread(missing.numaNodes);
      if (numaNodes.length < 2) return pass(text("one NUMA node", "只有一个NUMA节点"));
      if (numaBalancing === null) return unread(missing.numaBalancing);
      return numaBalancing ? warn(text("on", "开启")) : pass(text("off", "关闭"));
    },
  },
  {
    id: "cpu-governor",
    group: "host",
    title: text("Processors do not save power", "处理器未处于节能策略"),
    consequence: text(
      "A core that polls or launches first has to speed up: launch latencies double and spread.",
      "轮询或启动内核的核心要先升频：启动延迟加倍且发散。",
    ),
    fix: text("sudo cpupower frequency-set -g performance", "sudo cpupower frequency-set -g performance"),
    source: "https://docs.kernel.org/admin-guide/pm/cpufreq.html",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { governor, governorDriver, energyPreference, missing } = facts.host;
      if (governor === null) return unread(missing.governor);
      const seen = plain([governor, governorDriver, energyPreference].filter(Boolean).join(", "));
      // Drivers that choose by themselves call their usual way powersave; then what they lean to counts.
      const chooses = /^(intel_pstate|amd-pstate-epp|amd_pstate_epp)$/.test(governorDriver ?? "");
      const saves = chooses
        ? /^(power|balance_power)$/.test(energyPreference ?? "")
        : governor === "powersave" || governor === "conservative";
      return saves ? warn(seen) : pass(seen);
    },
  },
  {
    id: "shm-size",
    group: "host",
    title: text("/dev/shm is large enough", "/dev/shm足够大"),
    consequence: text(
      "NCCL's shared-memory path and data loaders fail to start, or fall back to sockets.",
      "NCCL的共享内存路径与数据加载器启动失败，或退回套接字。",
    ),
    fix: text(
      "Start the container with --shm-size=8g or --ipc=host; in Kubernetes mount an emptyDir of medium Memory.",
      "以--shm-size=8g或--ipc=host启动容器；Kubernetes中挂载medium为Memory的emptyDir。",
    ),
    source: "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      const { shmBytes, missing } = facts.host;
      if (shmBytes === null) return unread(missing.shmBytes);
      const seen = plain(`${Math.round(shmBytes / 2 ** 20)} MiB`);
      return shmBytes < SMALL_SHM ? warn(seen) : pass(seen);
    },
  },
  {
    id: "memory-lock",
    group: "host",
    title: text("Programs may lock memory", "程序可以锁定内存"),
    consequence: text(
      "Network cards cannot register buffers: RDMA fails to start (Couldn't allocate MR).",
      "网卡无法注册缓冲区：RDMA启动失败（Couldn't allocate MR）。",
    ),
    fix: text(
      "ulimit -l unlimited (limits.conf, or LimitMEMLOCK=infinity of the service; docker run --ulimit memlock=-1).",
      "ulimit -l unlimited（limits.conf，或服务的LimitMEMLOCK=infinity；docker run --ulimit memlock=-1）。",
    ),
    source: "https://github.com/linux-rdma/perftest/issues/31",
    run(facts) {
      if (facts.gpus.length === 0) return NO_GPU;
      if (!facts.nics.some((nic) => nic.rdma)) return skip(text("no RDMA card", "没有RDMA网卡"));
      const { memlockBytes, missing } = facts.host;
      if (memlockBytes === null) return unread(missing.memlockBytes);
      if (memlockBytes < 0) return pass(text("no limit", "无限制"));
      const seen = plain(`${Math.round(memlockBytes / 2 ** 20)} MiB`);
      return memlockBytes < GIB ? warn(seen) : pass(seen);
    },
  },
];

function cpuAffinity(facts: MachineFacts): Judgement {
  if (facts.gpus.length === 0) return NO_GPU;
  const { allowedCpus, missing } = facts.host;
  if (allowedCpus === null) return unread(missing.allowedCpus);
  const allowed = cpusOf(allowedCpus);
  const told = facts.gpus.flatMap((gpu) =>
    gpu.device?.cpus ? [{ gpu, near: cpusOf(gpu.device.cpus) }] : [],
  );
  if (told.length === 0)
    return unread(facts.gpus[0]?.device?.missing.cpus ?? facts.pci.reason ?? "sysfs shows no GPU here");
  const far = told.filter(({ near }) => near.size > 0 && ![...near].some((cpu) => allowed.has(cpu)));
  if (far.length === 0) return pass(plain(allowedCpus));
  const list = few(far.map(({ gpu }) => `GPU ${gpu.index} (${gpu.device?.cpus})`));
  return warn(
    text(`may run on ${allowedCpus}, not beside ${list}`, `可用CPU为${allowedCpus}，不在${list}旁边`),
  );
}
