/** Machines whose GPUs are joined by NVLink. */
import { hex, hgx, hgxPairs, type Machine, NO_CUDA, putGpu, putNic } from "./builders.js";
import {
  answers,
  driverGpu,
  driverPairs,
  MODELS,
  okVerdicts,
  Sheet,
  SWITCH_DOWN,
  SWITCH_UP,
  XEON,
} from "./sheet.js";

/** NVLinks of DGX-1: the pairs with two, and with one (`nvidia-smi topo -m`, T1). */
const CUBE_MESH: readonly (readonly [number, number, number])[] = [
  ...(
    [
      [0, 3],
      [0, 4],
      [1, 2],
      [1, 5],
      [2, 3],
      [4, 7],
      [5, 6],
      [6, 7],
    ] as const
  ).map(([a, b]) => [a, b, 2] as const),
  ...(
    [
      [0, 1],
      [0, 2],
      [1, 3],
      [2, 6],
      [3, 7],
      [4, 5],
      [4, 6],
      [5, 7],
    ] as const
  ).map(([a, b]) => [a, b, 1] as const),
];

export function dgx1(): Machine {
  const sheet = new Sheet()
    .host({ product: "NVIDIA DGX-1" })
    .driver({ version: "535.183.01", open: false, toolkit: "12.2" });
  const addresses = Array.from(
    { length: 8 },
    (_, i) => `0000:${hex((i < 4 ? 0x06 : 0x85) + (i % 4) * 2)}:00.0`,
  );
  const linksOf = (gpu: number) =>
    CUBE_MESH.flatMap(([a, b, count]) =>
      a === gpu || b === gpu ? Array<string>(count).fill(addresses[a === gpu ? b : a] as string) : [],
    );
  const gpus = addresses.map((address, i) => {
    const numa = i < 4 ? 0 : 1;
    const first = numa === 0 ? 0x00 : 0x80;
    // Two GPUs and a network card share a switch; two switches a socket.
    const pair = Math.floor((i % 4) / 2);
    const root = [`pci0000:${hex(first)}`, `0000:${hex(first)}:0${pair + 2}.0`];
    const up = `0000:${hex(first + 0x40 + pair * 4)}:00.0`;
    const old = { speed: 8, numa };
    if (i % 2 === 0) {
      sheet.pci(root, { ...XEON, ...old });
      sheet.pci([...root, up], { ...SWITCH_UP, ...old });
      const side = `0000:${hex(first + 0x41 + pair * 4)}:10.0`;
      sheet.pci([...root, up, side], { ...SWITCH_DOWN, ...old });
      const card = [...root, up, side, `0000:${hex(first + 0x20 + pair)}:00.0`];
      putNic(sheet, card, `mlx5_${numa * 2 + pair}`, numa);
    }
    const down = `0000:${hex(first + 0x41 + pair * 4)}:0${4 + (i % 2) * 4}.0`;
    sheet.pci([...root, up, down], { ...SWITCH_DOWN, ...old });
    putGpu(sheet, MODELS.v100, [...root, up, down, address], numa);
    return driverGpu(MODELS.v100, i, address, linksOf(i));
  });
  const linked = (a: number, b: number) =>
    CUBE_MESH.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
  const pairs = driverPairs(8, (a, b) => ({
    access: a < 4 === b < 4 || linked(a, b),
    nvlink: linked(a, b),
    meet: a < 4 === b < 4 ? (a >> 1 === b >> 1 ? "single" : "hostbridge") : "system",
    code: "TNS",
  }));
  return {
    name: "dgx-1",
    describes: "DGX-1: 8 V100, cube mesh of NVLinks; 12 pairs of two sockets have none",
    planted: { "peer-access": "warn", "across-sockets": "warn" },
    exitStatus: 1,
    sheet,
    driver: answers(gpus, pairs, { cuda: 12020, version: "535.183.01" }),
    verdicts: [],
  };
}

function hgxH200(): Machine {
  const { sheet, gpus } = hgx(MODELS.h200);
  sheet.service(901, "nv-fabricmanager").service(902, "nvidia-persistenced");
  return {
    name: "hgx-h200-8",
    describes: "bare metal HGX: 8 H200 on NVSwitch, a 400 Gb/s card beside each; nothing is wrong with it",
    planted: {},
    exitStatus: 0,
    sheet,
    driver: answers(gpus, hgxPairs()),
    verdicts: okVerdicts(8),
  };
}

function fabricDown(): Machine {
  const { sheet } = hgx(MODELS.h100);
  const reason = "cuInit failed: CUDA_ERROR_SYSTEM_NOT_READY (802)";
  return {
    name: "fabric-down",
    describes: "HGX H100 whose fabric manager does not run: CUDA does not start",
    planted: { "cuda-starts": "fail", "fabric-manager": "fail" },
    exitStatus: 2,
    sheet,
    driver: {
      cuda: { ...NO_CUDA, reason, version: 13000 },
      nvml: { available: true, driverVersion: "580.95.05" },
    },
  };
}

function nvlinkDown(): Machine {
  const { sheet, gpus } = hgx(MODELS.h100);
  for (const link of [4, 5]) {
    const [own, counters] = [gpus[3]?.facts.links[link], gpus[3]?.state.links[link]];
    if (own) own.active = false;
    if (counters) counters.active = false;
  }
  const counters = gpus[5]?.state.links[7];
  if (counters) counters.replayErrors = 213;
  return {
    name: "nvlink-down",
    describes: "HGX H100: two NVLinks of GPU 3 down, replays on a link of GPU 5",
    planted: { "nvlink-active": "fail", "nvlink-alike": "warn", "nvlink-errors": "warn" },
    exitStatus: 2,
    sheet,
    driver: answers(gpus, hgxPairs()),
    verdicts: okVerdicts(8),
  };
}

function gb200(): Machine {
  const sheet = new Sheet().host({ product: "NVIDIA GB200 NVL" }).driver();
  const gpus = Array.from({ length: 4 }, (_, i) => {
    const numa = i < 2 ? 0 : 1;
    const domain = `000${8 + i}`;
    const root = [`pci${domain}:00`, `${domain}:00:00.0`];
    sheet.pci(root, { ...XEON, vendor: "10de", device: "22b8", numa });
    return driverGpu(
      MODELS.gb200,
      i,
      putGpu(sheet, MODELS.gb200, [...root, `${domain}:01:00.0`], numa),
      "switch",
    );
  });
  return {
    name: "gb200-tray",
    describes: "a compute tray of a GB200 NVL72 without IMEX",
    planted: { imex: "warn" },
    exitStatus: 1,
    sheet,
    driver: answers(
      gpus,
      driverPairs(4, () => ({ access: true, nvlink: true, meet: "system" })),
    ),
    verdicts: okVerdicts(4),
  };
}

function confidential(): Machine {
  const sheet = new Sheet().host({ sockets: 1, vm: true, product: "QEMU Standard PC" }).driver();
  sheet.put(
    "/proc/cpuinfo",
    "processor\t: 0\nmodel name\t: Intel(R) Xeon(R)\nflags\t\t: fpu hypervisor tdx_guest\n",
  );
  sheet.put("/dev/tdx_guest", "");
  const gpus = [0, 1].map((i) => {
    const gpu = driverGpu(
      MODELS.h100,
      i,
      putGpu(sheet, MODELS.h100, ["pci0000:00", `0000:00:0${i + 5}.0`], 0),
      "switch",
    );
    gpu.facts.virtualization = "pass-through";
    return gpu;
  });
  return {
    name: "confidential-vm",
    describes: "a TDX guest with 2 H100 on NVSwitch",
    planted: { "confidential-computing": "warn" },
    exitStatus: 1,
    sheet,
    driver: answers(
      gpus,
      driverPairs(2, () => ({ access: true, nvlink: true, meet: "hostbridge" })),
    ),
    verdicts: okVerdicts(2),
  };
}

function container(): Machine {
  const sheet = new Sheet().host().driver();
  for (const path of Object.keys(sheet.files)) if (path.startsWith("/sys/")) delete sheet.files[path];
  sheet.put("/.dockerenv", "");
  sheet.put("/proc/1/cgroup", "0::/\n");
  sheet.spaces["/dev/shm"] = { totalBytes: 64 * 2 ** 20, freeBytes: 64 * 2 ** 20 };
  const gpus = [0, 1].map((i) => driverGpu(MODELS.h100, i, `0000:${hex(0x13 + i * 0x10)}:00.0`, "switch"));
  return {
    name: "container",
    describes: "a container that shows 2 of a board's H100 and nothing of sysfs; /dev/shm as Docker gives it",
    planted: { "shm-size": "warn" },
    exitStatus: 1,
    sheet,
    driver: answers(
      gpus,
      driverPairs(2, () => ({ access: true, nvlink: true, meet: "system" })),
    ),
    verdicts: okVerdicts(2),
  };
}

/** As Docker shows it: sysfs of the whole machine, of which two GPUs on two sockets are passed in. */
function containerPart(): Machine {
  const { sheet, gpus } = hgx(MODELS.h100);
  sheet.put("/.dockerenv", "");
  sheet.spaces["/dev/shm"] = { totalBytes: 2 ** 36, freeBytes: 2 ** 36 };
  sheet.put("/proc/self/status", "CapEff:\t00000000a80425fb\nCpus_allowed_list:\t0-63\n");
  return {
    name: "container-part",
    describes: "a container with 2 of a board's 8 H100, which sees the bus of all; nothing is wrong with it",
    planted: {},
    exitStatus: 0,
    sheet,
    driver: answers(
      [2, 6].flatMap((i) => gpus[i] ?? []),
      driverPairs(2, () => ({ access: true, nvlink: true, meet: "system" })),
    ),
    verdicts: okVerdicts(2),
  };
}

export const BOARDS: readonly Machine[] = [
  hgxH200(),
  dgx1(),
  container(),
  containerPart(),
  fabricDown(),
  nvlinkDown(),
  confidential(),
  gb200(),
];
