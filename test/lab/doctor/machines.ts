/**
 * The machines that the doctor is tested on: made up, with the values that machines of their kind show. Each says what is
 * planted in it. `node dist/test/lab/doctor/write-machines.js` writes them to test/fixtures/machines.
 */
import { BOARDS } from "./boards.js";
import { attached, changed, type Machine, NO_CUDA, overPcie, putGpu, putNic, switched } from "./builders.js";
import { answers, type DriverGpu, driverGpu, MODELS, okVerdicts, Sheet, XEON } from "./sheet.js";

function pcieAcs(): Machine {
  const sheet = new Sheet().host().driver().iommu("DMA");
  // Source validation, request and completion redirect, upstream forwarding: what Linux sets where an IOMMU translates.
  const gpus = switched(MODELS.l40s, 4, sheet, { acs: 0x1d, numa: () => 0 });
  const fault = "nvidia 0000:27:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT";
  sheet.put("/dev/kmsg", `${fault}\n${fault}\nxhci_hcd 0000:05:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT\n`);
  return {
    name: "pcie-acs",
    describes: "4 L40S behind two PCIe switches; ACS redirects and the IOMMU translates",
    planted: { "iommu-faults": "fail", "acs-redirect": "warn", "iommu-mode": "warn", verdicts: "fail" },
    exitStatus: 2,
    sheet,
    driver: answers(gpus, overPcie(4)),
    verdicts: [
      {
        from: 0,
        to: 1,
        allocator: "malloc",
        outcome: "broken",
        stage: "copy-engine write",
        reason: "never written: all 1048576 bytes still hold what stood there before",
        next: "Look at PCIe ACS on the way between the GPUs.",
      },
    ],
  };
}

function downtrained(): Machine {
  const sheet = new Sheet().host({ sockets: 1 }).driver();
  const gpus = attached(MODELS.a100, 2, sheet, (i) =>
    i === 0 ? {} : { pci: { width: 8, maxWidth: 16, speed: 8, maxSpeed: 16, errors: [412, 0, 0] } },
  );
  for (const gpu of gpus) {
    gpu.state.events = [];
    gpu.state.smClockMhz = 1410;
  }
  return {
    name: "downtrained",
    describes:
      "2 A100 PCIe; the second at half its lanes and one generation low under work, with repeated packets",
    planted: { "pcie-width": "fail", "pcie-generation": "warn", "pcie-errors": "warn" },
    exitStatus: 2,
    sheet,
    driver: answers(gpus, overPcie(2)),
    verdicts: okVerdicts(2),
  };
}

function rtxPair(): Machine {
  const sheet = new Sheet()
    .host({ sockets: 1, product: "ASUS ProArt X670E" })
    .driver({ open: false, peermem: false });
  const gpus = changed(attached(MODELS.rtx4090, 2, sheet), (gpu, i) => {
    gpu.facts.displayActive = i === 0;
    gpu.facts.ecc = null;
    gpu.facts.missing.ecc = "nvmlDeviceGetEccMode: NVML_ERROR_NOT_SUPPORTED";
    gpu.facts.missing.mig = "nvmlDeviceGetMigMode: NVML_ERROR_NOT_SUPPORTED";
  });
  return {
    name: "rtx-pair",
    describes: "2 GeForce RTX 4090: no peer access, BAR1 of 256 MiB, a display on the first",
    planted: { "peer-access": "warn", "bar1-size": "warn", display: "warn" },
    exitStatus: 1,
    sheet,
    driver: answers(gpus, overPcie(2, false, "GNS")),
    verdicts: [],
  };
}

function mig(): Machine {
  const sheet = new Sheet().host({ sockets: 1 }).driver();
  const [gpu] = changed(attached(MODELS.a100, 2, sheet), (one) => {
    one.facts.mig = true;
    one.facts.joinedBy = "mig-parent";
    one.name = `${one.name} MIG 3g.40gb`;
  });
  return {
    name: "mig",
    describes: "2 A100 cut into MIG instances, of which CUDA shows one",
    planted: { mig: "warn" },
    exitStatus: 1,
    sheet,
    driver: answers([gpu as DriverGpu], []),
  };
}

function wsl2(): Machine {
  const sheet = new Sheet();
  sheet.put(
    "/proc/cpuinfo",
    "processor\t: 0\nmodel name\t: 13th Gen Intel(R) Core(TM) i9-13900K\nflags\t\t: fpu hypervisor\n",
  );
  sheet.put("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
  sheet.put("/proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-31\n");
  sheet.put("/dev/dxg", "");
  sheet.put("/usr/lib/wsl/lib/libcuda.so.1", "");
  // What Hyper-V shows in the place of the GPU.
  sheet.pci(["pci0001:00", "0001:00:00.0"], { vendor: "1414", device: "008e", code: "030200" });
  sheet.spaces["/dev/shm"] = { totalBytes: 16 * 2 ** 30, freeBytes: 16 * 2 ** 30 };
  const [gpu] = changed([driverGpu(MODELS.rtx4090, 0, "0000:01:00.0")], (one) => {
    one.facts.persistence = true;
    one.facts.displayActive = true;
    one.state.processes = [];
  });
  return {
    name: "wsl2",
    describes: "WSL2 on a desktop with one RTX 4090 that draws Windows",
    planted: { wsl: "warn", display: "warn" },
    exitStatus: 1,
    sheet,
    driver: answers([gpu as DriverGpu], []),
  };
}

function virtualMachine(): Machine {
  const sheet = new Sheet()
    .host({ sockets: 1, vm: true, product: "QEMU Standard PC (Q35 + ICH9, 2009)" })
    .driver();
  const gpus = Array.from({ length: 4 }, (_, i) => {
    const chain = ["pci0000:00", `0000:00:0${i + 5}.0`];
    const gpu = driverGpu(MODELS.a100, i, putGpu(sheet, MODELS.a100, chain, 0));
    gpu.facts.virtualization = "pass-through";
    return gpu;
  });
  return {
    name: "vm-mirror",
    describes: "a virtual machine with 4 A100 PCIe on its root bus; the host mirrors peer writes",
    planted: { "pcie-tree": "warn", verdicts: "fail" },
    exitStatus: 2,
    sheet,
    driver: answers(gpus, overPcie(4)),
    verdicts: [
      {
        from: 0,
        to: 1,
        allocator: "malloc",
        outcome: "mirror",
        stage: "copy-engine write",
        reason:
          "the writer reads back all 1048576 bytes that it wrote, but the GPU that owns the memory still sees what stood there before",
        next: "",
      },
    ],
  };
}

function none(): Machine {
  const sheet = new Sheet().host({ sockets: 1, product: "Dell PowerEdge R650" });
  sheet.pci(["pci0000:00", "0000:00:01.0", "0000:01:00.0"], {
    vendor: "8086",
    device: "1563",
    code: "020000",
  });
  return {
    name: "none",
    describes: "a server without a GPU",
    planted: {},
    exitStatus: 3,
    sheet,
    driver: { cuda: { ...NO_CUDA, reason: "libcuda.so.1 cannot be opened" } },
  };
}

function mismatch(): Machine {
  const sheet = new Sheet().host({ sockets: 1 }).driver({ user: "580.105.08" });
  attached(MODELS.l40s, 2, sheet);
  return {
    name: "version-mismatch",
    describes: "2 L40S after an update of the libraries without a restart",
    planted: { "driver-versions": "fail", "cuda-starts": "fail" },
    exitStatus: 2,
    sheet,
    driver: {
      cuda: { ...NO_CUDA, reason: "cuInit failed: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)" },
      nvml: { available: false, reason: "nvmlInit failed: NVML_ERROR_LIB_RM_VERSION_MISMATCH" },
    },
  };
}

function wrongNode(): Machine {
  const sheet = new Sheet().host().driver();
  sheet.put("/proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t32-63\n");
  sheet.put("/proc/sys/kernel/numa_balancing", "1\n");
  sheet.put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  sheet.put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n");
  sheet.put("/sys/module/pcie_aspm/parameters/policy", "default performance [powersave] powersupersave\n");
  const gpus = attached(MODELS.a100, 2, sheet);
  return {
    name: "wrong-node",
    describes:
      "2 A100 on socket 0, a process that may run on socket 1 only, and a host that saves power; not root",
    planted: {
      "cpu-affinity": "warn",
      "numa-balancing": "warn",
      "cpu-governor": "warn",
      "link-power": "warn",
    },
    exitStatus: 1,
    sheet,
    driver: answers(gpus, overPcie(2)),
    verdicts: okVerdicts(2),
  };
}

function gpuLost(): Machine {
  const sheet = new Sheet().host({ sockets: 1 }).driver();
  const gpus = switched(MODELS.l40s, 4, sheet, {
    cut: true,
    gpu: (i) => (i === 2 ? { width: 4, maxWidth: 16, speed: 2.5, maxSpeed: 16 } : {}),
  }).filter((_, i) => i !== 2);
  sheet.put("/dev/kmsg", "NVRM: Xid (PCI:0000:23:00): 31\nNVRM: Xid (PCI:0000:2b:00): 79\n");
  return {
    name: "gpu-lost",
    describes: "4 L40S of which the driver lost one, seen without root",
    planted: { "gpus-shown": "fail", "xid-errors": "warn", "pcie-width": "fail" },
    exitStatus: 2,
    sheet,
    driver: answers(gpus, overPcie(3)),
    verdicts: okVerdicts(3),
  };
}

function nvmlErrors(): Machine {
  const sheet = new Sheet().host({ sockets: 1 }).driver({ toolkit: "13.2" });
  const gpus = changed(attached(MODELS.l40s, 2, sheet), (gpu) => {
    gpu.facts.persistence = null;
    gpu.facts.bar1Bytes = null;
    gpu.facts.missing = {
      persistence: "nvmlDeviceGetPersistenceMode: NVML_ERROR_UNKNOWN",
      bar1Bytes: "nvmlDeviceGetBAR1MemoryInfo: NVML_ERROR_UNKNOWN",
    };
    gpu.state.events = null;
    gpu.state.missing = { events: "nvmlDeviceGetCurrentClocksEventReasons: NVML_ERROR_NOT_SUPPORTED" };
  });
  return {
    name: "nvml-errors",
    describes: "2 L40S of which NVML answers some questions with errors, and a toolkit newer than the driver",
    planted: { "nvml-answers": "warn", "toolkit-version": "warn" },
    exitStatus: 1,
    sheet,
    driver: answers(gpus, overPcie(2)),
    verdicts: okVerdicts(2),
  };
}

function renumbered(): Machine {
  const sheet = new Sheet().host({ sockets: 1 }).driver();
  const gpus = switched(MODELS.l40s, 4, sheet);
  const order = [3, 1, 0].map((i) => (gpus[i] as DriverGpu).uuid);
  sheet.environment.CUDA_VISIBLE_DEVICES = order.join(",");
  sheet.environment.NCCL_P2P_DISABLE = "1";
  return {
    name: "renumbered",
    describes: "4 L40S, three of them shown in another order by UUID, and NCCL told not to use peer access",
    planted: { "visible-devices": "warn", "switches-off": "warn" },
    exitStatus: 1,
    sheet,
    driver: { ...answers(gpus, overPcie(4)), visible: order },
    verdicts: okVerdicts(4),
  };
}

function rdma(): Machine {
  const sheet = new Sheet().host().driver({ open: false, peermem: false });
  sheet.put(
    "/proc/self/limits",
    "Max locked memory         8388608              8388608              bytes\n",
  );
  const gpus = attached(MODELS.a100, 2, sheet);
  const root = ["pci0000:80", "0000:80:07.0"];
  sheet.pci(root, { ...XEON, numa: 1 });
  putNic(sheet, [...root, "0000:91:00.0"], "mlx5_0", 1, "1: DOWN");
  return {
    name: "rdma-missing",
    describes:
      "2 A100 with a network card on the other socket, its port down, no peermem, little memory to lock",
    planted: {
      "gpu-direct-rdma": "warn",
      "nic-affinity": "warn",
      "nic-ports": "warn",
      "memory-lock": "warn",
    },
    exitStatus: 1,
    sheet,
    driver: answers(gpus, overPcie(2)),
    verdicts: okVerdicts(2),
  };
}

function worn(): Machine {
  const sheet = new Sheet().host({ sockets: 1 }).driver();
  const gpus = changed(
    attached(MODELS.l40s, 2, sheet, (i) =>
      i === 1 ? { port: { width: 8, maxWidth: 8 }, pci: { width: 8, maxWidth: 16 } } : {},
    ),
    (gpu, i) => {
      gpu.facts.persistence = false;
      gpu.facts.computeMode = i === 0 ? "exclusive-process" : "default";
      gpu.facts.powerLimitW = i === 0 ? 350 : 200;
      gpu.state.events = i === 0 ? ["hw_thermal_slowdown"] : [];
      gpu.state.eccUncorrected = i === 0 ? 2 : 0;
      gpu.state.processes = i === 1 ? [{ pid: 4711, memoryBytes: 2 ** 30, own: false }] : [];
    },
  );
  return {
    name: "worn",
    describes: "2 L40S in use: hot, memory errors, settings that differ, a slot of 8 lanes",
    planted: {
      persistence: "warn",
      "compute-mode": "warn",
      "clocks-alike": "warn",
      "clocks-held": "warn",
      "ecc-errors": "fail",
      "other-processes": "warn",
      "pcie-slot": "warn",
    },
    exitStatus: 2,
    sheet,
    driver: answers(gpus, overPcie(2)),
    verdicts: okVerdicts(2),
  };
}

function malformed(): Machine {
  const sheet = new Sheet().host().driver();
  const gpus = attached(MODELS.l40s, 2, sheet);
  const bad: Record<string, string | { error: string }> = {
    current_link_width: "x16 or so\n",
    max_link_width: "255\n",
    current_link_speed: "Unknown\n",
    max_link_speed: { error: "the kernel does not tell" },
    numa_node: "-1\n",
    resource: "0xfffff 0x0 nothing\n",
    aer_dev_correctable: "garbage",
    aer_dev_fatal: { error: "permission denied" },
    local_cpulist: "\u0000\ufffd,9999999999-0",
    config: { error: "permission denied" },
  };
  for (const path of Object.keys(sheet.files)) {
    const name = path.split("/").at(-1) ?? "";
    if (path.startsWith("/sys/devices/pci") && name in bad) sheet.put(path, bad[name] as string);
  }
  sheet.put("/proc/self/status", "\u0000\u0001");
  sheet.put("/proc/self/limits", "Max locked memory");
  sheet.put("/proc/driver/nvidia/version", "NVRM version: ?\n");
  sheet.put("/usr/local/cuda/version.json", "{");
  sheet.put("/sys/class/iommu/dmar0", { link: "dmar0" });
  return {
    name: "malformed",
    describes: "2 L40S on a system whose files hold nonsense or cannot be read",
    planted: { "numa-of-gpus": "warn", "iommu-mode": "warn" },
    exitStatus: 1,
    sheet,
    driver: { ...answers(gpus, overPcie(2)), nvml: { available: true, driverVersion: 580 } },
    verdicts: okVerdicts(2),
  };
}

function oneGpu(): Machine {
  const sheet = new Sheet().host({ sockets: 1, product: "Dell PowerEdge R760" }).driver();
  const gpus = attached(MODELS.l40s, 1, sheet);
  return {
    name: "one-gpu",
    describes: "one L40S; nothing is wrong with it",
    planted: {},
    exitStatus: 0,
    sheet,
    driver: answers(gpus, []),
  };
}

function nouveau(): Machine {
  const sheet = new Sheet().host({ sockets: 1 });
  attached(MODELS.l40s, 1, sheet, () => ({ pci: { driver: "nouveau" } }));
  sheet.put("/sys/module/nouveau/initstate", "live\n");
  return {
    name: "nouveau",
    describes: "an L40S served by nouveau: NVIDIA's module is not loaded",
    planted: { "driver-loaded": "fail", "cuda-starts": "fail" },
    exitStatus: 2,
    sheet,
    driver: { cuda: { ...NO_CUDA, reason: "libcuda.so.1 cannot be opened" } },
  };
}

function mixed(): Machine {
  const sheet = new Sheet().host({ sockets: 1 }).driver();
  sheet.put("/proc/self/ns/ipc", { link: "ipc:[4026532999]" });
  const models = [MODELS.rtx4090, MODELS.l40s];
  const gpus = models.map((model, i) => {
    const root = ["pci0000:00", `0000:00:0${i + 1}.0`];
    sheet.pci(root, { ...XEON, speed: 16 });
    const large = { ...model, barBytes: 64 * 2 ** 30 };
    return driverGpu(large, i, putGpu(sheet, large, [...root, `0000:0${i + 1}:00.0`], 0));
  });
  return {
    name: "mixed-models",
    describes: "an RTX 4090 and an L40S with peer access, in an IPC namespace of their own",
    planted: { "models-alike": "warn", "known-models": "warn", namespaces: "warn" },
    exitStatus: 1,
    sheet,
    driver: answers(gpus, overPcie(2)),
    verdicts: okVerdicts(2),
  };
}

function vgpu(): Machine {
  const sheet = new Sheet().host({ sockets: 1, vm: true, product: "VMware7,1 Virtual Platform" }).driver();
  const gpus = changed(attached(MODELS.l40s, 2, sheet), (gpu) => {
    gpu.facts.virtualization = "vgpu";
  });
  return {
    name: "vgpu",
    describes: "a virtual machine with 2 vGPUs, of which no verdict is known",
    planted: { vgpu: "warn", "virtual-machine": "warn", "peer-access": "warn" },
    exitStatus: 1,
    sheet,
    driver: answers(gpus, overPcie(2, false, "NS")),
  };
}

function ten(): Machine {
  const sheet = new Sheet().host({ sockets: 1 }).driver();
  const gpus = switched(MODELS.l40s, 10, sheet);
  return {
    name: "ten-gpus",
    describes: "10 L40S behind five switches: nine peers each",
    planted: { "peer-count": "warn" },
    exitStatus: 1,
    sheet,
    driver: answers(gpus, overPcie(10)),
    verdicts: okVerdicts(10),
  };
}

export const MACHINES: readonly Machine[] = [
  ...BOARDS,
  oneGpu(),
  nouveau(),
  mixed(),
  vgpu(),
  ten(),
  pcieAcs(),
  downtrained(),
  rtxPair(),
  mig(),
  wsl2(),
  virtualMachine(),
  none(),
  mismatch(),
  wrongNode(),
  gpuLost(),
  nvmlErrors(),
  renumbered(),
  rdma(),
  worn(),
  malformed(),
];

/** As it stands in test/fixtures/machines/NAME/machine.json. */
export function fileOf(machine: Machine): string {
  const { name, describes, planted, exitStatus, sheet, driver, verdicts } = machine;
  const head = {
    schema: "p2plab-machine/1",
    name,
    describes,
    synthetic: true,
    date: "2026-11-30",
    planted,
    exitStatus,
    environment: sheet.environment,
    spaces: sheet.spaces,
  };
  const lines = (items: readonly string[]) => items.map((item) => `  ${item}`).join(",\n");
  const files = Object.entries(sheet.files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, entry]) => `${JSON.stringify(path)}: ${JSON.stringify(entry)}`);
  const text = JSON.stringify(head, null, 1).slice(0, -2);
  const told = `,\n "driver": ${JSON.stringify(driver)}`;
  const judged = verdicts === undefined ? "" : `,\n "verdicts": ${JSON.stringify(verdicts)}`;
  return `${text},\n "files": {\n${lines(files)}\n }${told}${judged}\n}\n`;
}
