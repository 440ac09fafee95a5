import { messageOf, P2pError } from "../errors.js";
import type { Description } from "../topology/description.js";
import { readHwlocXml } from "../topology/readers/hwloc-xml.js";
import { type Element, elementsOf, parseXml, wholeNumber } from "../topology/readers/xml.js";
import { Imported, type Importer } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { rootOf } from "./nccl-xml.js";
import { numberIn } from "./number.js";
import { filled, recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

type Row = Record<string, Value>;

const HINT = "Write it anew with: lstopo-no-graphics --whole-io topo.xml";

/** XML of hwloc's lstopo, versions 1 to 3. */
export const importer: Importer = {
  format: "hwloc",
  title: "topology XML of hwloc",
  detect(head) {
    const text = headText(head);
    if (rootOf(text) !== "topology") return 0;
    return /hwloc2?\.dtd/.test(text) || /<object type="Machine"|<object type="System"/.test(text)
      ? 0.97
      : 0.6;
  },
  async read(source) {
    const { text, notes: odd } = await textOf(source);
    const root = parseXml(text);
    if (root.name !== "topology") {
      throw new P2pError("import", `the root element is "${root.name.slice(0, 40)}", not "topology"`, HINT);
    }
    const major = root.attributes.version === undefined ? 1 : Number.parseInt(root.attributes.version, 10);
    const devices: Row[] = [];
    devicesOf(root, null, null, major, devices);
    const objects = countsOf(root);
    if (objects.length === 0) throw new P2pError("import", "the topology has no object", HINT);
    const notes = [...odd, "The file does not say when it was written."];
    const distances = distancesOf(root, notes);
    let topology: Description | null = null;
    try {
      topology = readHwlocXml(root);
      for (const sentence of topology.unknown) notes.push(`Unknown: ${sentence}`);
    } catch (error) {
      if (!(error instanceof P2pError)) throw error;
      notes.push(`The file makes no topology to simulate: ${messageOf(error)}`);
    }
    if (devices.length === 0)
      notes.push(
        "The file names no PCI device: lstopo leaves them out without --whole-io, or where it may not see them.",
      );
    const origin = {
      machine: machineOf(devices.map(({ gpu_model: model }) => model as string | null)),
      date: null,
    };
    return new Imported({
      format: importer.format,
      title: importer.title,
      version: root.attributes.version ?? "1",
      tables: filled({
        objects: recordsTable(objects, origin),
        devices: recordsTable(devices, origin),
        distances: recordsTable(distances, origin),
      }),
      topology,
      notes,
      source,
    });
  },
};

function countsOf(root: Element): Row[] {
  const counts = new Map<string, number>();
  for (const element of elementsOf(root)) {
    if (element.name !== "object") continue;
    const type = element.attributes.type ?? "";
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return [...counts].map(([type, count]) => ({ type, count }));
}

/** Kinds of operating system devices: a number before version 3, a set of bits since. */
const OS_DEVICES = ["block", "gpu", "net", "openfabrics", "dma", "coproc"];
const OS_BITS: readonly (readonly [number, string])[] = [
  [1, "storage"],
  [2, "memory"],
  [4, "gpu"],
  [8, "coproc"],
  [16, "net"],
  [32, "openfabrics"],
  [64, "dma"],
];

function devicesOf(
  element: Element,
  bridge: string | null,
  nodeset: string | null,
  major: number,
  rows: Row[],
): void {
  const { attributes } = element;
  const below = attributes.nodeset ?? nodeset;
  let above = bridge;
  if (attributes.type === "PCIDev") {
    const [, code = null, vendor = null, device = null] =
      /^([\da-f]{4}) \[([\da-f]{4}):([\da-f]{4})\]/i.exec(attributes.pci_type ?? "") ?? [];
    const speed = numberIn(attributes.pci_link_speed ?? "");
    const inside = [...elementsOf(element)];
    const os = inside.filter((child) => child.attributes.type === "OSDev");
    rows.push({
      pci: attributes.pci_busid ?? null,
      class: code,
      vendor,
      device,
      link_gbps: speed === 0 ? null : speed,
      bridge,
      nodeset: below,
      os_devices: os.map((child) => child.attributes.name ?? "?").join(" "),
      os_kinds: [...new Set(os.map((child) => osKind(child, major)))].join(" "),
      gpu_model: infoOf(inside, "GPUModel"),
    });
  } else if (attributes.type === "Bridge") {
    above = attributes.pci_busid ?? attributes.bridge_pci ?? bridge;
  }
  for (const child of element.children)
    if (child.name === "object") devicesOf(child, above, below, major, rows);
}

function osKind(element: Element, major: number): string {
  const kind = wholeNumber(element, "osdev_type");
  if (kind === null) return "unknown";
  if (major < 3) return OS_DEVICES[kind] ?? "unknown";
  return (
    OS_BITS.filter(([bit]) => (kind & bit) !== 0)
      .map(([, name]) => name)
      .join("+") || "unknown"
  );
}

function infoOf(elements: readonly Element[], name: string): string | null {
  const found = elements.find((element) => element.name === "info" && element.attributes.name === name);
  return found?.attributes.value?.slice(0, 200) ?? null;
}

/** More cells are none of a computer's GPUs or NUMA nodes. */
const MAX_MATRIX = 1_000_000;

/** Matrices of distances: bandwidths between GPUs among them. */
function distancesOf(root: Element, notes: string[]): Row[] {
  const rows: Row[] = [];
  for (const element of elementsOf(root)) {
    if (element.name !== "distances2" && element.name !== "distances2hetero" && element.name !== "distances")
      continue;
    const size = wholeNumber(element, "nbobjs") ?? 0;
    const name = element.attributes.name ?? null;
    const words = (tag: string) =>
      element.children
        .filter((child) => child.name === tag)
        .flatMap((child) => child.text.trim().split(/\s+/))
        .filter((word) => word !== "");
    const indexes = words("indexes");
    const old = element.children
      .filter((child) => child.name === "latency")
      .map((child) => child.attributes.value ?? "");
    const values = old.length > 0 ? old : words("u64values");
    if (size < 1 || values.length !== size * size || values.length > MAX_MATRIX) {
      notes.push(
        `Distances ${name ?? ""} (line ${element.line}) hold ${values.length} values for ${size} objects: left out.`,
      );
      continue;
    }
    const bandwidth = /bandwidth/i.test(name ?? "");
    values.forEach((value, at) => {
      const [row, column] = [Math.floor(at / size), at % size];
      const number = numberIn(value);
      rows.push({
        matrix: name ?? (old.length > 0 ? "latency" : null),
        type: element.attributes.type ?? null,
        from: indexes[row] ?? String(row),
        to: indexes[column] ?? String(column),
        // The diagonal of a bandwidth matrix is a number that stands for "itself".
        gbps: bandwidth && row !== column && number !== null ? number / 1000 : null,
        relative: bandwidth ? null : number,
      });
    });
  }
  if (rows.some(({ gbps }) => gbps !== null)) {
    notes.push(
      "Bandwidths in distances are line rates in MB/s of 1e6 as the driver tells them, not measured; gbps here are 1e9 bytes/s.",
    );
  }
  return rows;
}
