import { readFileSync } from "node:fs";
import { P2pError } from "./errors.js";
import type { Machine } from "./machine.js";
import { Description } from "./topology/description.js";
import { layoutOfLabels } from "./topology/labels.js";

/**
 * What is joined to what in an opened machine, shown in terms of `nvidia-smi topo -m`. Of a simulated machine the graph that it
 * runs on; of real GPUs, and of a recording of them, what NVML said of each pair, with the NUMA nodes that Linux knows. What
 * nobody told is listed as unknown.
 * @throws P2pError `usage` for what is no machine.
 */
export function topology(machine: Machine): Description {
  const info = machine?.info;
  if (!info || !Array.isArray(info.gpus) || !Array.isArray(info.pairs)) {
    throw new P2pError("usage", "lab.topology() takes a machine", "Open one with lab.open().");
  }
  const { kind, machine: name, date, source } = machine.provenance;
  const heading = `${kind}: ${name}, ${date.slice(0, 10)} (${source})`;
  const gpus = info.gpus.map((gpu) => ({ name: gpu.name, computeCapability: gpu.computeCapability }));
  const modelled = machine.topology;
  if (modelled) {
    return new Description({
      format: "model",
      layout: modelled.graph,
      gpus,
      unknown: modelled.unknown,
      topology: modelled,
      heading,
      provenance: machine.provenance,
    });
  }
  const pairOf = (a: number, b: number) => info.pairs.find(({ from, to }) => from === a && to === b) ?? null;
  const told = (a: number, b: number) => pairOf(a, b)?.link ?? pairOf(b, a)?.link ?? null;
  const { layout, unknown } = layoutOfLabels(
    info.gpus.map(({ pci }) => ({
      kind: "gpu",
      ...(pci ? { pci } : {}),
      numa: kind === "measured" && pci ? numaOf(pci) : null,
    })),
    told,
    (a, b) => pairOf(a, b)?.rawGbps ?? null,
  );
  for (const { from, to, link } of info.pairs) {
    if (from > to || link === null || layout.pairClass(from, to) === link) continue;
    unknown.push(
      `A tree in which GPU ${from} and ${to} are ${link}, as NVML says: it is shown as ${layout.pairClass(from, to)}.`,
    );
  }
  return new Description({
    format: "pairs of the machine",
    layout,
    gpus,
    unknown,
    heading,
    provenance: machine.provenance,
  });
}

/** As Linux knows it; null where it knows none. */
function numaOf(pci: string): number | null {
  try {
    const node = Number(readFileSync(`/sys/bus/pci/devices/${pci.toLowerCase()}/numa_node`, "utf8"));
    return Number.isInteger(node) && node >= 0 ? node : null;
  } catch {
    return null;
  }
}
