/** The PCI devices that matter to transfers between GPUs, and the bridges above them, from sysfs. */
import { PCIE_GIGATRANSFERS } from "../topology/pcie.js";
import { type AcsControl, type PortType, readConfig } from "./pci-config.js";
import type { Root } from "./root.js";
import { gather, known, type Missing, reasonOf, type Told, understood, unknown } from "./told.js";

const DEVICES = "/sys/bus/pci/devices";
/** More functions than any server has. */
const MOST_DEVICES = 8192;
const ADDRESS = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;
const NVIDIA = "10de";

export type PciKind = "gpu" | "nic" | "nvswitch" | "bridge";

export interface PciDevice {
  /** Such as `0000:0f:00.0`; in a model, which has no addresses, the name of a node. */
  readonly address: string;
  readonly kind: PciKind;
  /** Four hexadecimal digits, as `device`. */
  readonly vendor: string | null;
  readonly device: string | null;
  /** Addresses of the bridges above it, from the root port down; empty right on the root complex. */
  readonly above: readonly string[];
  /** Root bus that its tree begins at, such as `0000:00`. */
  readonly rootBus: string | null;
  /** Driver that serves it, such as `nvidia` or `vfio-pci`. */
  readonly driver: string | null;
  readonly numaNode: number | null;
  /** 1e9 transfers a second of one lane: now, and the most the device can. */
  readonly speedGts: number | null;
  readonly maxSpeedGts: number | null;
  readonly width: number | null;
  readonly maxWidth: number | null;
  /** The largest memory window. Of a GPU this is BAR1, through which peers and network cards reach its memory. */
  readonly barBytes: number | null;
  readonly iommuGroup: string | null;
  /** CPUs beside it, as a list such as `0-31,64-95`. */
  readonly cpus: string | null;
  /** Errors since it was started, of bridges and devices that count them. */
  readonly errors: PcieErrors | null;
  readonly portType: PortType | null;
  readonly acs: AcsControl | null;
  readonly missing: Missing;
}

export interface PcieErrors {
  readonly correctable: number;
  readonly nonFatal: number;
  readonly fatal: number;
}

export interface PciFacts {
  /** GPUs, network cards and NVSwitches, and every bridge above one of them, by address. */
  readonly devices: readonly PciDevice[];
  /** Why there is no list; null where there is one. */
  readonly reason: string | null;
}

export function readPci(root: Root): PciFacts {
  const names = root.list(DEVICES);
  if (names.value === null) return { devices: [], reason: reasonOf(names) };
  const found = new Map<string, PciDevice>();
  for (const name of names.value.slice(0, MOST_DEVICES)) {
    const kind = ADDRESS.test(name) ? kindOf(root, name) : null;
    if (kind === null) continue;
    const device = deviceOf(root, name, kind);
    found.set(name, device);
    for (const bridge of device.above) {
      if (!found.has(bridge)) found.set(bridge, deviceOf(root, bridge, "bridge"));
    }
  }
  return { devices: [...found.values()].sort((a, b) => (a.address < b.address ? -1 : 1)), reason: null };
}

/** What a device is to us; virtual functions are left to the programs that they are made for. */
function kindOf(root: Root, address: string): PciKind | null {
  const code = root.text(`${DEVICES}/${address}/class`).value ?? "";
  const nvidia = idOf(root.text(`${DEVICES}/${address}/vendor`)).value === NVIDIA;
  const kind = /^0x0(30[02]|380)/.test(code)
    ? nvidia && "gpu"
    : /^0x02/.test(code)
      ? "nic"
      : /^0x0680/.test(code) && nvidia && "nvswitch";
  if (!kind) return null;
  return root.exists(`${DEVICES}/${address}/physfn`) ? null : kind;
}

function idOf(told: Told<string>): Told<string> {
  return understood(told, (text) => /^0x([0-9a-f]{4})$/i.exec(text)?.[1]?.toLowerCase() ?? null, "a PCI id");
}

function deviceOf(root: Root, address: string, kind: PciKind): PciDevice {
  const folder = `${DEVICES}/${address}`;
  const text = (name: string) => root.text(`${folder}/${name}`);
  const place = placeOf(root.link(folder), address);
  const config = root.bytes(`${folder}/config`);
  const space = config.value === null ? null : readConfig(config.value);
  const unread = unknown(reasonOf(config));
  const isBridge = kind === "bridge";
  const aside = unknown("of no interest here");
  return {
    address,
    kind,
    above: place.value?.above ?? [],
    ...gather({
      vendor: idOf(text("vendor")),
      device: idOf(text("device")),
      rootBus: place.value === null ? unknown(reasonOf(place)) : known(place.value.rootBus),
      driver: understood(
        root.link(`${folder}/driver`),
        (link) => /([\w-]{1,64})$/.exec(link)?.[1] ?? null,
        "a driver",
      ),
      numaNode: understood(
        text("numa_node"),
        (node) => (/^\d{1,4}$/.test(node) ? Number(node) : null),
        "a NUMA node: the firmware tells none",
      ),
      speedGts: speedOf(text("current_link_speed")),
      maxSpeedGts: speedOf(text("max_link_speed")),
      width: widthOf(text("current_link_width")),
      maxWidth: widthOf(text("max_link_width")),
      barBytes: isBridge ? aside : understood(text("resource"), largestWindow, "a list of memory windows"),
      iommuGroup: understood(
        root.link(`${folder}/iommu_group`),
        (link) => /\/(\d{1,9})$/.exec(link)?.[1] ?? null,
        "a group",
      ),
      cpus: understood(
        text("local_cpulist"),
        (list) => (/^[\d,-]{1,4096}$/.test(list) ? list : null),
        "a list of CPUs",
      ),
      errors: errorsOf(text),
      portType: space?.portType ?? unread,
      acs: space?.acs ?? unread,
    }),
  };
}

/** Where a device hangs: the link names every bridge above it, `../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0`. */
function placeOf(link: Told<string>, address: string): Told<{ rootBus: string; above: string[] }> {
  return understood(
    link,
    (text) => {
      const parts = text.split("/");
      const start = parts.findLastIndex((part) => /^pci[0-9a-f]{4,8}:[0-9a-f]{2}$/.test(part));
      const above = parts.slice(start + 1, -1).filter((part) => ADDRESS.test(part));
      if (start < 0 || parts.at(-1) !== address) return null;
      return { rootBus: (parts[start] as string).slice(3), above };
    },
    "a place in a PCI tree",
  );
}

/** `16.0 GT/s PCIe`; `Unknown` where no link is trained. */
function speedOf(told: Told<string>): Told<number> {
  return understood(
    told,
    (text) => {
      const speed = Number(/^([\d.]{1,6}) GT\/s/.exec(text)?.[1] ?? Number.NaN);
      return speed > 0 && speed <= 256 ? speed : null;
    },
    "a link speed",
  );
}

/** Generation by transfers a second of a lane; null for a speed that no generation has. */
export function generationOf(gigatransfers: number | null): number | null {
  const at = gigatransfers === null ? -1 : PCIE_GIGATRANSFERS.indexOf(gigatransfers);
  return at < 0 ? null : at + 1;
}

/** 0 and 255 lanes stand for no link, as virtual machines show it. */
function widthOf(told: Told<string>): Told<number> {
  return understood(
    told,
    (text) => ([1, 2, 4, 8, 12, 16, 32].includes(Number(text)) ? Number(text) : null),
    "a number of lanes",
  );
}

/** Lines of first address, last address and flags. */
function largestWindow(text: string): number | null {
  let most = 0;
  for (const line of text.split("\n")) {
    const [first, last] = line
      .trim()
      .split(/\s+/)
      .map((word) => (/^0x[0-9a-f]{1,16}$/i.test(word) ? BigInt(word) : null));
    if (first == null || last == null || last <= first) continue;
    most = Math.max(most, Number(last - first + 1n));
  }
  return most > 0 ? most : null;
}

/** Totals of advanced error reporting, which need no root: `TOTAL_ERR_COR 3` in the last line of each file. */
function errorsOf(text: (name: string) => Told<string>): Told<PcieErrors> {
  const total = (name: string) =>
    understood(
      text(`aer_dev_${name}`),
      (content) => {
        const count = /TOTAL_ERR_\w+ (\d{1,15})\s*$/.exec(content)?.[1];
        return count === undefined ? null : Number(count);
      },
      "a list of error counts",
    );
  const [correctable, nonFatal, fatal] = [total("correctable"), total("nonfatal"), total("fatal")];
  for (const told of [correctable, nonFatal, fatal]) if (told.value === null) return unknown(reasonOf(told));
  return known({
    correctable: correctable.value as number,
    nonFatal: nonFatal.value as number,
    fatal: fatal.value as number,
  });
}
