/** Boards and servers that machines of the tests are made of. */
import {
  cpusOf,
  type DriverGpu,
  driverGpu,
  driverPairs,
  type GpuModel,
  type LinkEnds,
  Sheet,
  SWITCH_DOWN,
  SWITCH_UP,
  XEON,
} from "./sheet.js";

export interface Machine {
  readonly name: string;
  readonly describes: string;
  /** Checks that must not pass, and how they must end. */
  readonly planted: Readonly<Record<string, "warn" | "fail">>;
  readonly exitStatus: 0 | 1 | 2 | 3;
  readonly sheet: Sheet;
  readonly driver: object;
  readonly verdicts?: readonly object[];
}

const SPEED: Readonly<Record<number, number>> = { 3: 8, 4: 16, 5: 32 };
export const NO_CUDA = { available: false, version: null, path: null };
export const hex = (value: number) => value.toString(16).padStart(2, "0");

/** A GPU's function under its bridges. */
export function putGpu(
  sheet: Sheet,
  model: GpuModel,
  chain: readonly string[],
  numa: number,
  change: Partial<Parameters<Sheet["pci"]>[1]> = {},
): string {
  return sheet.pci(chain, {
    vendor: "10de",
    device: model.device,
    code: /GeForce/.test(model.name) ? "030000" : "030200",
    speed: SPEED[model.pcie] as number,
    numa,
    cpus: cpusOf(numa),
    barBytes: model.barBytes,
    driver: "nvidia",
    ...change,
  });
}

export function putNic(
  sheet: Sheet,
  chain: readonly string[],
  name: string,
  numa: number,
  state?: string,
): void {
  sheet.pci(chain, { vendor: "15b3", device: "1021", code: "020700", numa, driver: "mlx5_core" });
  sheet.rdma(chain, name, state);
}

/** Eight GPUs on NVSwitch, four a socket, each behind a switch of its own with a network card beside it. */
export function hgx(
  model: GpuModel,
  sheet = new Sheet().host().driver(),
): { sheet: Sheet; gpus: DriverGpu[] } {
  const gpus = Array.from({ length: 8 }, (_, i) => {
    const numa = i < 4 ? 0 : 1;
    const bus = 0x10 + i * 0x10;
    const [port, up] = [`0000:${hex(bus)}:01.0`, `0000:${hex(bus + 1)}:00.0`];
    const root = [`pci0000:${hex(bus)}`, port];
    sheet.pci(root, { ...XEON, numa });
    sheet.pci([...root, up], { ...SWITCH_UP, numa });
    const downs = [0, 1].map((n) => `0000:${hex(bus + 2)}:0${n}.0`);
    for (const down of downs) sheet.pci([...root, up, down], { ...SWITCH_DOWN, numa });
    const pci = putGpu(sheet, model, [...root, up, downs[0] as string, `0000:${hex(bus + 3)}:00.0`], numa);
    putNic(sheet, [...root, up, downs[1] as string, `0000:${hex(bus + 4)}:00.0`], `mlx5_${i}`, numa);
    return driverGpu(model, i, pci, "switch");
  });
  for (let i = 0; i < 4; i++) {
    const root = ["pci0000:05", `0000:05:0${i + 1}.0`];
    sheet.pci(root, { ...XEON });
    const function_ = { vendor: "10de", device: "22a3", code: "068000", speed: 16, width: 2 };
    sheet.pci([...root, `0000:0${6 + i}:00.0`], function_);
  }
  return { sheet, gpus };
}

export function hgxPairs() {
  return driverPairs(8, (a, b) => ({
    access: true,
    nvlink: true,
    meet: a < 4 === b < 4 ? "node" : "system",
  }));
}

/** So many GPUs behind switches of two, one NUMA node each two switches. */
export function switched(
  model: GpuModel,
  count: number,
  sheet: Sheet,
  change: {
    readonly acs?: number;
    readonly cut?: boolean;
    readonly gpu?: (gpu: number) => Partial<Parameters<Sheet["pci"]>[1]>;
    readonly ends?: (gpu: number, addresses: readonly string[]) => LinkEnds;
    readonly numa?: (gpu: number) => number;
  } = {},
): DriverGpu[] {
  const addresses = Array.from({ length: count }, (_, i) => `0000:${hex(0x20 + i * 4 + 3)}:00.0`);
  return addresses.map((address, i) => {
    const numa = change.numa?.(i) ?? 0;
    const bus = 0x20 + (i - (i % 2)) * 4;
    const root = [`pci0000:${hex(bus)}`, `0000:${hex(bus)}:01.0`];
    const up = `0000:${hex(bus + 1)}:00.0`;
    const cut = change.cut ? { cut: true } : {};
    const speed = { speed: SPEED[model.pcie] as number, numa, ...cut };
    if (i % 2 === 0) {
      sheet.pci(root, { ...XEON, ...speed });
      sheet.pci([...root, up], { ...SWITCH_UP, ...speed });
    }
    const down = `0000:${hex(bus + 2)}:0${i % 2}.0`;
    sheet.pci([...root, up, down], { ...SWITCH_DOWN, ...speed, acs: change.acs ?? 0 });
    putGpu(sheet, model, [...root, up, down, address], numa, { ...cut, ...change.gpu?.(i) });
    return driverGpu(model, i, address, change.ends?.(i, addresses));
  });
}

/** GPUs right below root ports, one each. */
export function attached(
  model: GpuModel,
  count: number,
  sheet: Sheet,
  gpu: (index: number) => {
    numa?: number;
    pci?: Partial<Parameters<Sheet["pci"]>[1]>;
    port?: object;
  } = () => ({}),
): DriverGpu[] {
  return Array.from({ length: count }, (_, i) => {
    const { numa = 0, pci = {}, port = {} } = gpu(i);
    const root = [`pci0000:${hex(numa * 0x80)}`, `0000:${hex(numa * 0x80)}:0${i + 1}.0`];
    sheet.pci(root, { ...XEON, speed: SPEED[model.pcie] as number, numa, ...port });
    const address = `0000:${hex(numa * 0x80 + i + 1)}:00.0`;
    putGpu(sheet, model, [...root, address], numa, pci);
    return driverGpu(model, i, address);
  });
}

export function overPcie(count: number, access = true, code = "CNS") {
  return driverPairs(count, () => ({ access, nvlink: false, meet: "hostbridge", code }));
}

export function changed(gpus: DriverGpu[], change: (gpu: DriverGpu, index: number) => void): DriverGpu[] {
  gpus.forEach(change);
  return gpus;
}
