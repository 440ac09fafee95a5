/**
 * What readers, the driver's library and the verdict ladder say in English, in Chinese. They answer in one language, since their
 * words are kept in snapshots and cross processes; names, paths, codes and commands stay as they are.
 */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/^no NVIDIA GPU$/, "没有NVIDIA GPU"],
  // Files.
  [/: there is none\b/g, "：不存在"],
  [/: permission denied\b/g, "：没有读取权限"],
  [/: not permitted\b/g, "：不允许读取"],
  [/: (?:it is )?links that lead in a circle\b/g, "：链接成环"],
  [/: the kernel does not tell\b/g, "：内核未给出"],
  [/: it is a folder\b/g, "：是目录"],
  [/: it is not a regular file\b/g, "：不是普通文件"],
  [/: it leads out of the snapshot\b/g, "：指向快照之外"],
  [/: the snapshot has no content for it\b/g, "：快照中没有内容"],
  [/: the snapshot does not tell its size\b/g, "：快照未给出大小"],
  [/: no node in it\b/g, "：其中没有节点"],
  [/: no process can be seen\b/g, "：看不到任何进程"],
  [/\bthe snapshot does not tell\b/g, "快照未给出"],
  [/\bthe snapshot holds no verdicts\b/g, "快照中没有判定"],
  [/\bthe model does not tell\b/g, "模型未给出"],
  [/\bthe recording does not tell\b/g, "录制未给出"],
  [/\bneither a recording nor a model tells\b/g, "录制与模型都不给出"],
  [/\ba model moves no bytes\b/g, "模型不传输数据"],
  [/\bthe recording holds no verdicts\b/g, "录制中没有判定"],
  [
    /\bclocks, temperatures and counters are kept with each run \(run\.state\)/g,
    "时钟、温度与计数器随每次运行保存（run.state）",
  ],
  [/\bno libcuda\.so with a version in (.+)$/g, "以下目录中没有带版本号的libcuda.so：$1"],
  [/\bno version file and no cuda\.h in (\S+) or (\S+)/g, "$1与$2中没有版本文件，也没有cuda.h"],
  [/\bno process of the first namespaces\b/g, "看不到首进程"],
  [/\bnamespaces of the first process cannot be read\b/g, "无法读取首进程的命名空间"],
  [/\breading the files of "(\w+)" did not end within ([\d.]+) s/g, "读取$1类文件超过$2秒仍未结束"],
  [/\bthe process that reads the files of "(\w+)" failed: /g, "读取$1类文件的进程出错："],
  [/ is not a NUMA node: the firmware tells none/g, "不是NUMA节点：固件未给出"],
  [/ is not a link speed\b/g, "不是链路速率"],
  [/ is not a number of lanes\b/g, "不是通道数"],
  [/ is not a list of CPUs(?: with models)?/g, "不是CPU列表"],
  [/ is not a list of memory (?:windows|figures)\b/g, "不是内存列表"],
  [/ is not a place in a PCI tree\b/g, "不是PCI树中的位置"],
  [/ is not a PCI id\b/g, "不是PCI标识"],
  [/ is not a process status\b/g, "不是进程状态"],
  [/ is not a (?:list of limits|limit)\b/g, "不是资源限制"],
  [/ is not a port state\b/g, "不是端口状态"],
  [/ is not a rate\b/g, "不是速率"],
  [/ is not a version of the module\b/g, "不是内核模块版本"],
  [/ is not a list of error counts\b/g, "不是错误计数"],
  [/ is not a choice\b/g, "不是可选值"],
  [/ is not 0 or 1\b/g, "不是0或1"],
  [/ is not a driver\b/g, "不是驱动名"],
  [/ is not a group\b/g, "不是IOMMU组"],
  [/ is not a log\b/g, "不是日志"],
  // PCIe.
  [
    /\bonly (\d+) bytes of configuration space can be read without root/g,
    "非root用户只能读到配置空间的前$1字节",
  ],
  [/\bconfiguration space of (\d+) bytes/g, "配置空间只有$1字节"],
  [/\bthe device does not answer: all bytes are ff/g, "设备没有应答：读到的全是ff"],
  [/\bsysfs does not show both GPUs/g, "sysfs没有同时列出两块GPU"],
  [/\bsysfs shows no GPU here/g, "sysfs在这里没有列出GPU"],
  [/\bno bridge above the GPUs can be seen/g, "看不到GPU上方的桥"],
  [/\ba part of the way is hidden/g, "路径有一部分不可见"],
  [/\bwhich pairs have NVLink\b/g, "哪些GPU对有NVLink"],
  [/\bwhich way GPU (\d+) and (\d+) take/g, "GPU $1与GPU $2之间走哪条路径"],
  [/\bservices outside a container are hidden in it/g, "容器内看不到容器外的服务"],
  [/\bno driver\b(?=\))/g, "无驱动"],
  // Driver.
  [/\bno NVIDIA GPU on the bus, and no driver of one/g, "总线上没有NVIDIA GPU，也没有其驱动"],
  [/\bit was not asked for\b/g, "没有要求"],
  [/\bit was not asked\b/g, "没有询问"],
  [/\bNVML was not asked\b/g, "没有询问NVML"],
  [/\bstarting a process\b/g, "启动进程"],
  [/\bloading the addon\b/g, "加载原生扩展"],
  [/\bstarting CUDA and NVML\b/g, "启动CUDA与NVML"],
  [/\blisting the GPUs\b/g, "列出GPU"],
  [/\basking NVML about GPU (\d+)/g, "向NVML询问GPU $1"],
  [/\basking about the pairs\b/g, "询问各GPU对"],
  [/ did not return within ([\d.]+) s/g, "在$1秒内没有返回"],
  [/ failed: (?:it could not be started: |it could not be reached: )?/g, "失败："],
  [/\bended by (SIG\w+)/g, "被$1终止"],
  [/\bexit status (\d+)/g, "退出码$1"],
  [/\bthe NVIDIA driver's libcuda cannot be opened\b/g, "无法打开NVIDIA驱动的libcuda"],
  [/\bNVML cannot be opened\b/g, "无法打开NVML"],
  [/(\S+) cannot be opened\b/g, "无法打开$1"],
  [/: cannot open shared object file: No such file or directory/g, "：文件不存在"],
  [/: file too short\b/g, "：文件不完整"],
  [/: invalid ELF header\b/g, "：不是动态库"],
  [
    /\bkernel module and user library of the NVIDIA driver are of different versions/g,
    "NVIDIA驱动的内核模块与用户态库版本不一致",
  ],
  [
    /\bthe NVSwitch fabric is not ready: fabric manager not running, or of another version/g,
    "NVSwitch交换网未就绪：fabric manager未运行或版本不符",
  ],
  [
    /\bthe libcuda that was found is the toolkit's stub, not a driver/g,
    "找到的libcuda是工具包的桩库，不是驱动",
  ],
  [/\bthe NVIDIA driver is too old\b/g, "NVIDIA驱动太旧"],
  [/\bthe forward-compatibility libcuda does not support this GPU/g, "前向兼容版libcuda不支持这块GPU"],
  [/\bthe NVIDIA kernel module does not answer/g, "NVIDIA内核模块没有应答"],
  [/\bthe NVIDIA driver cannot be initialised/g, "NVIDIA驱动无法初始化"],
  [/\bthe NVIDIA driver shows no GPU/g, "NVIDIA驱动没有给出GPU"],
  [/\bthe driver shows no GPU/g, "驱动没有给出GPU"],
  [/\bthe driver does not tell\b/g, "驱动未给出"],
  [/\bthe native addon cannot be loaded\b/g, "无法加载原生扩展"],
  [/ lacks (?=\w)/g, "缺少"],
  [/ \(it came with the driver of CUDA ([\d.]+)\)/g, "（CUDA $1的驱动起才有）"],
  [
    /\bNVML does not know (GPU \d+): by its UUID (\S+) (\w+), by its PCI address (\S+) (\w+)/g,
    "NVML不认识$1：按UUID $2为$3，按PCI地址$4为$5",
  ],
  [/\bthe driver refuses peer access between (.+?)(?: over PCIe)? \(/g, "驱动拒绝$1之间的对等访问（"],
  [/\bthey are in two computers without NVLink between them/g, "它们分处两台机器，之间没有NVLink"],
  // Verdicts.
  [/\bthe time for it, ([\d.]+) s, was over/g, "限时$1秒已到"],
  [
    /\bpairs that hang in one kind of memory, or that no process can start on, are not asked about in another/g,
    "在一种内存上挂起或进程无法启动的GPU对不再探测其他内存",
  ],
  [/\bwhich GPUs programs started here see is not known/g, "不知道从这里启动的程序能看到哪些GPU"],
  [
    /\bno GPU is visible to programs started here: there is no pair/g,
    "从这里启动的程序看不到GPU，没有可探测的GPU对",
  ],
  [
    /\bone GPU is visible to programs started here: there is no pair/g,
    "从这里启动的程序只看到一块GPU，没有可探测的GPU对",
  ],
  [/\bP2PLAB_P2P=off turns peer access off/g, "P2PLAB_P2P=off关闭了对等访问"],
  [/\bthe driver does not let GPU (\d+) access the memory of GPU (\d+)/g, "驱动不允许GPU $1访问GPU $2的显存"],
  [/ \(NVML says (\w+)\)/g, "（NVML：$1）"],
  [
    /\bthe writer reads back all (\d+) bytes that it wrote, but the GPU that owns the memory still sees what stood there before/g,
    "写入方读回了自己写的全部$1字节，而显存所属GPU看到的仍是原来的内容",
  ],
  [
    /\bnever written: all (\d+) bytes still hold what stood there before/g,
    "从未写入：全部$1字节仍是原来的内容",
  ],
  [
    /\bcorrupt: a kernel of the owner sees (\d+) of (\d+) bytes wrong, though the host reads all of them right/g,
    "数据损坏：主机读到的全部正确，而所属GPU的内核看到$2字节中有$1字节错误",
  ],
  [/\bcorrupt: (\d+) of (\d+) bytes wrong/g, "数据损坏：$2字节中有$1字节错误"],
  [/ \((\d+) as if never written\)/g, "（$1字节像从未写入）"],
  [/, the first at offset (\d+)/g, "，首个位于偏移$1"],
  [
    /; the same bytes arrive when the driver stages them through the host: the direct path alone is at fault/g,
    "；经主机中转时同样的数据能到达：问题只在直接路径",
  ],
  [
    /; the same bytes do not arrive when the driver stages them through the host either/g,
    "；经主机中转时同样的数据也不能到达",
  ],
  [/\bno memory for the probe\b/g, "没有供探测用的内存"],
  [/\bnot complete by its deadline/g, "到期未完成"],
  [/\bthe access ends in an error\b/g, "访问以错误结束"],
  [/\bthe driver grants no access\b/g, "驱动不允许访问"],
  [/\bthe driver refuses to copy between these GPUs/g, "驱动拒绝在这些GPU之间拷贝"],
  [
    /\bthe probe's process did not answer within (\d+) ms and was ended/g,
    "探测进程在$1 ms内没有应答，已被结束",
  ],
  [/\bthe probe's process does not see the GPU (\S+)/g, "探测进程看不到GPU $1"],
  [/\bthe probe's process ended\b/g, "探测进程已结束"],
  [
    / \(kernel 0 runs on the source GPU, kernel 1 on the destination GPU\)/g,
    "（内核0在源GPU上，内核1在目的GPU上）",
  ],
  // Of an error of CUDA only its name; what to do stands in the fix.
  [/(CUDA_ERROR_\w+(?: \(\d+\))?)\. [A-Z].*?(?=[)）](?:, |；|$)|；|$)/g, "$1"],
  // What to look at next, as the ladder advises.
  [
    /\bSee nvidia-smi topo -p2p r and nvidia-smi topo -m; MIG, vGPU, a BAR1 smaller than the memory \(Resizable BAR\) and a fabric manager that is down stand in the way of peer access\./g,
    "查看nvidia-smi topo -p2p r与nvidia-smi topo -m；MIG、vGPU、小于显存的BAR1（Resizable BAR）与未运行的fabric manager都会妨碍对等访问。",
  ],
  [
    /\bWrites that only the writer sees are known of GPUs passed into virtual machines: the host must let peer traffic through\./g,
    "只有写入方能看到的写入见于直通给虚拟机的GPU：宿主机须放行对等流量。",
  ],
  [
    /\bLook at PCIe ACS on the way between the GPUs(?: \(lspci -vvv as root: ACSCtl with ReqRedir\+ sends peer traffic to the IOMMU\), at Xid messages in the kernel log \(dmesg\), and at nvidia-smi nvlink -e)?\./g,
    "查看GPU之间路径上的PCIe ACS（以root运行lspci -vvv：ACSCtl中的ReqRedir+把对等流量送往IOMMU）、内核日志（dmesg）中的Xid消息和nvidia-smi nvlink -e。",
  ],
  [
    /\bSee whether a new process can use the GPUs: nvidia-smi, CUDA_VISIBLE_DEVICES, and exclusive compute mode \(nvidia-smi -q -d COMPUTE\)\./g,
    "查看新进程能否使用GPU：nvidia-smi、CUDA_VISIBLE_DEVICES与独占计算模式（nvidia-smi -q -d COMPUTE）。",
  ],
  [
    / ?\bIn a container, all processes need the same devices passed in\./g,
    "在容器中，所有进程须传入相同的设备。",
  ],
  [
    /\bSee what else uses the GPUs \(nvidia-smi\), and the kernel log for Xid messages; then ask again with lab\.verdicts\(machine\)\./g,
    "查看还有什么在使用GPU（nvidia-smi）和内核日志中的Xid消息，再用lab.verdicts(machine)重新探测。",
  ],
  [
    /\bThe IOMMU of this machine is on and translates: boot with iommu=pt, or turn it off in the firmware, and try again\. ?/g,
    "本机IOMMU已启用并做转换：以iommu=pt启动，或在固件中关闭，然后重试。",
  ],
  [
    /\bThe IOMMU of this machine is on, in pass-through mode: try it off\. ?/g,
    "本机IOMMU处于直通模式：试着关闭它。",
  ],
  [
    /\bThis machine shows no IOMMU; in a virtual machine the host may have one\. ?/g,
    "本机没有IOMMU；若是虚拟机，宿主机可能有。",
  ],
  [
    /\bLook whether an IOMMU is on \(ls \/sys\/class\/iommu\): iommu=pt helps on some machines\. ?/g,
    "查看IOMMU是否启用（ls /sys/class/iommu）：在有的机器上iommu=pt有效。",
  ],
  [
    / ?\bThis is a virtual machine: its host decides how peer traffic goes\. ?/g,
    "这是虚拟机：对等流量怎样走由宿主机决定。",
  ],
  [/ ?\bThis looks like bare metal\. ?/g, "看来是裸机。"],
];

/** Between the parts of a list, and before what is said of a name. */
const MARKS: readonly (readonly [RegExp, string])[] = [
  [/(?<=[^\s,]), (?=\S)/g, "、"],
  [/(?<=[\p{Script=Han}）\w]): (?=\S)/gu, "："],
  [/(?<=\S); (?=\S)/g, "；"],
  [/ \((\+\d+)\)/g, "（另有$1）"],
];

/** The same words with their English phrases in Chinese, and the punctuation that goes with it. */
export function inChinese(words: string): string {
  let text = words;
  for (const [english, chinese] of [...PHRASES, ...MARKS]) text = text.replace(english, chinese);
  return text.replace(/（另有\+/g, "（另有");
}
