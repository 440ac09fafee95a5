import { P2pError } from "../errors.js";
import { type Element, parseXml } from "../topology/readers/xml.js";
import { scaled } from "./columns.js";
import { monthDate } from "./date.js";
import { Imported, type Importer } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { numberIn } from "./number.js";
import { recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

/** Paths of the values that are kept: what was first in the list is taken where several versions have it elsewhere. */
const FIELDS: readonly (readonly [column: string, paths: readonly string[], unit?: string])[] = [
  ["name", ["product_name"]],
  ["architecture", ["product_architecture"]],
  ["pci", ["pci/pci_bus_id"]],
  ["minor_number", ["minor_number"], ""],
  ["performance_state", ["performance_state"]],
  ["persistence_mode", ["persistence_mode"]],
  ["mig_mode", ["mig_mode/current_mig"]],
  ["virtualization_mode", ["gpu_virtualization_mode/virtualization_mode"]],
  ["addressing_mode", ["addressing_mode"]],
  ["c2c_mode", ["c2c_mode"]],
  ["fabric_state", ["fabric/state"]],
  ["pcie_generation", ["pci/pci_gpu_link_info/pcie_gen/current_link_gen"], ""],
  ["pcie_max_generation", ["pci/pci_gpu_link_info/pcie_gen/max_link_gen"], ""],
  ["pcie_device_max_generation", ["pci/pci_gpu_link_info/pcie_gen/max_device_link_gen"], ""],
  ["pcie_host_max_generation", ["pci/pci_gpu_link_info/pcie_gen/max_host_link_gen"], ""],
  ["pcie_width", ["pci/pci_gpu_link_info/link_widths/current_link_width"], "x"],
  ["pcie_max_width", ["pci/pci_gpu_link_info/link_widths/max_link_width"], "x"],
  ["pcie_tx_gbps", ["pci/tx_util"], "KB/s"],
  ["pcie_rx_gbps", ["pci/rx_util"], "KB/s"],
  ["pcie_replays", ["pci/replay_counter"], ""],
  ["memory_bytes", ["fb_memory_usage/total"], "MiB"],
  ["memory_used_bytes", ["fb_memory_usage/used"], "MiB"],
  ["bar1_bytes", ["bar1_memory_usage/total"], "MiB"],
  ["gpu_utilization_percent", ["utilization/gpu_util"], "%"],
  ["temperature_c", ["temperature/gpu_temp"], "C"],
  [
    "power_w",
    [
      "gpu_power_readings/instant_power_draw",
      "gpu_power_readings/power_draw",
      "gpu_power_readings/average_power_draw",
      "power_readings/power_draw",
    ],
    "W",
  ],
  [
    "power_limit_w",
    [
      "gpu_power_readings/current_power_limit",
      "gpu_power_readings/power_limit",
      "power_readings/power_limit",
      "power_readings/enforced_power_limit",
    ],
    "W",
  ],
  ["graphics_clock_mhz", ["clocks/graphics_clock"], "MHz"],
  ["sm_clock_mhz", ["clocks/sm_clock"], "MHz"],
  ["memory_clock_mhz", ["clocks/mem_clock"], "MHz"],
  ["max_sm_clock_mhz", ["max_clocks/sm_clock"], "MHz"],
  ["max_memory_clock_mhz", ["max_clocks/mem_clock"], "MHz"],
  ["ecc_mode", ["ecc_mode/current_ecc"]],
];

/** Printed number × factor, by the unit that the value must have. */
const FACTORS: Readonly<Record<string, number>> = { "KB/s": 1e-6, MiB: 2 ** 20 };

/** The XML of `nvidia-smi -q -x`, versions 10 to 13 of its DTD. */
export const importer: Importer = {
  format: "nvidia-smi-xml",
  title: "XML of nvidia-smi -q -x",
  detect(head) {
    const text = headText(head);
    return /<nvidia_smi_log[\s>]/.test(text) ? 0.98 : /nvsmi_device_v\d{1,3}\.dtd/.test(text) ? 0.9 : 0;
  },
  async read(source) {
    const { text, notes: odd } = await textOf(source);
    // Warnings of the tool may stand before the document.
    const start = text.search(/<\?xml|<!DOCTYPE|<nvidia_smi_log/);
    const root = parseXml(text.slice(Math.max(0, start)));
    if (root.name !== "nvidia_smi_log") {
      throw new P2pError(
        "import",
        `the root element is "${root.name.slice(0, 40)}"`,
        "Give the output of nvidia-smi -q -x.",
      );
    }
    const gpus = root.children.filter((child) => child.name === "gpu");
    if (gpus.length === 0) {
      throw new P2pError("import", "the file names no GPU", "Write it anew where nvidia-smi lists GPUs.");
    }
    const version = /nvsmi_device_(v\d{1,3})\.dtd/.exec(text)?.[1] ?? null;
    const date = monthDate(valueAt(root, "timestamp") ?? "");
    const missing = new Map<string, Set<string>>();
    const rows = gpus.map((gpu, index) => ({
      gpu: index,
      ...rowOf(gpu, missing),
      ...reasonsOf(gpu),
      mig_devices: migDevicesOf(gpu),
    }));
    const origin = {
      machine: machineOf(rows.map((row) => (row as Record<string, Value>).name as string | null)),
      date,
    };
    const notes = [
      ...odd,
      "Serial numbers, UUIDs and names of processes are not taken over.",
      "The file does not say how GPUs are joined.",
    ];
    if (date === null) notes.push("The file does not say when it was written.");
    const split = rows.filter(({ mig_devices: devices }) => devices !== null && devices > 0);
    if (split.length > 0) {
      notes.push(
        `Split into MIG devices, which are counted and not listed: GPU ${split.map(({ gpu }) => gpu).join(", ")}.`,
      );
    }
    const attached = numberIn(valueAt(root, "attached_gpus") ?? "");
    if (attached !== null && attached !== gpus.length) {
      notes.push(
        `attached_gpus is ${attached}, but the file holds ${gpus.length}: some were left out or the file was cut.`,
      );
    }
    if (rows.some((row) => generationRests(row as Record<string, Value>))) {
      notes.push(
        "A GPU at rest runs its PCIe link at a lower generation: pcie_generation below the maximum is no fault by itself.",
      );
    }
    for (const [reason, columns] of missing) notes.push(`"${reason}": ${[...columns].join(", ")}.`);
    return new Imported({
      format: importer.format,
      title: importer.title,
      version,
      tables: {
        gpus: recordsTable(rows, origin),
        system: recordsTable(
          [
            {
              driver_version: valueAt(root, "driver_version"),
              cuda_version: valueAt(root, "cuda_version"),
              attached_gpus: attached,
            },
          ],
          origin,
        ),
      },
      notes,
      source,
    });
  },
};

function rowOf(gpu: Element, missing: Map<string, Set<string>>): Record<string, Value> {
  const row: Record<string, Value> = {};
  for (const [column, paths, unit] of FIELDS) {
    const text = paths.map((path) => valueAt(gpu, path)).find((value) => value !== null) ?? null;
    row[column] = null;
    if (text === null) continue;
    if (/^\[?N\/A\]?$/.test(text)) continue;
    if (/^\[.*\]$|deprecated|Unknown Error|not supported|permission/i.test(text)) {
      const columns = missing.get(text.slice(0, 80)) ?? new Set();
      missing.set(text.slice(0, 80), columns.add(column));
      continue;
    }
    if (unit === undefined) {
      row[column] = text.slice(0, 200);
      continue;
    }
    const value = numberIn(unit === "" ? text : text.replace(unit, ""));
    if (value === null)
      missing.set(text.slice(0, 80), (missing.get(text.slice(0, 80)) ?? new Set()).add(column));
    else row[column] = scaled(value, FACTORS[unit] ?? 1);
  }
  return row;
}

/** Active clocks events: what keeps the clocks down. */
function reasonsOf(gpu: Element): Record<string, Value> {
  const parent = childOf(gpu, "clocks_event_reasons") ?? childOf(gpu, "clocks_throttle_reasons");
  if (!parent) return { clocks_events: null };
  const active = parent.children
    .filter((child) => child.text.trim() === "Active")
    .map((child) => child.name.replace(/^clocks_(?:event|throttle)_reason_/, ""));
  return { clocks_events: active.join(" ") };
}

/** Null where the file has no list of them, as that of a GPU without MIG. */
function migDevicesOf(gpu: Element): number | null {
  const list = childOf(gpu, "mig_devices");
  return list ? list.children.filter((child) => child.name === "mig_device").length : null;
}

function generationRests(row: Record<string, Value>): boolean {
  const { pcie_generation: current, pcie_max_generation: most } = row;
  return typeof current === "number" && typeof most === "number" && current < most;
}

function childOf(element: Element, name: string): Element | null {
  return element.children.find((child) => child.name === name) ?? null;
}

/** Trimmed text at a path of element names; null where there is none or it is empty. */
function valueAt(element: Element, path: string): string | null {
  let at: Element | null = element;
  for (const name of path.split("/")) at = at && childOf(at, name);
  const text = at?.text.trim() ?? "";
  return text === "" ? null : text;
}
