/** The diagnosis as one JSON object; doctor.schema.json describes it. */
import { versionOf } from "./checks/driver.js";
import type { Examined } from "./examined.js";
import type { GpuFacts, MachineFacts, PairFacts } from "./facts.js";
import { matrices } from "./tree.js";

export const SCHEMA = "p2plab-doctor/1";

/** Numbers are numbers; what is not known is null, and the `missing` beside it, or a `reason`, says why. */
export function diagnosisJson({ facts, findings, exitStatus }: Examined): Record<string, unknown> {
  const { provenance, host, surroundings, software, nics, pci, ladder, late } = facts;
  const { environment, ...place } = surroundings;
  return {
    schema: SCHEMA,
    machine: provenance.machine,
    provenance: provenance.kind,
    date: provenance.date,
    basis: facts.basis,
    exit_status: exitStatus,
    findings,
    versions: versionsOf(facts),
    gpus: facts.gpus.map((gpu) => snake(gpuOf(gpu))),
    pairs: facts.pairs.map((pair) => snake(pairOf(pair))),
    verdicts: snake(ladder),
    nics: snake(nics),
    pci: snake(pci),
    topology: topologyOf(facts),
    driver: snake(facts.driver),
    software: snake(software),
    host: snake(host),
    kernel_log: snake(facts.log),
    surroundings: { ...(snake(place) as object), environment },
    late,
  };
}

/** The four versions that users mix up. */
function versionsOf({ software, driver }: MachineFacts): Record<string, unknown> {
  const { version, reason } = driver.cuda;
  const user = driver.version ?? software.userDriver;
  const cuda = version === null ? null : versionOf(version);
  const reasons = {
    kernel_module: software.missing.kernelModule,
    user_driver: user === null ? software.missing.userDriver : undefined,
    driver_cuda: cuda === null ? (reason ?? "the driver does not tell") : undefined,
    toolkit: software.missing.toolkit,
  };
  const missing = Object.entries(reasons).filter(([, why]) => why !== undefined);
  return {
    kernel_module: software.kernelModule,
    user_driver: user,
    driver_cuda: cuda,
    toolkit: software.toolkit,
    missing: Object.fromEntries(missing),
  };
}

function gpuOf(gpu: GpuFacts): object {
  const { driver, device, ...own } = gpu;
  return {
    ...own,
    computeCapability: driver?.computeCapability ?? null,
    gpuDirectRdma: driver?.gpuDirectRdma ?? null,
    dmaBuf: driver?.dmaBuf ?? null,
    pcie: device,
    nvml: driver?.facts ?? null,
    state: driver?.state ?? null,
    reason: driver === null ? "the driver does not show it" : driver.reason,
  };
}

function pairOf({ from, to, link, pcie, routing, driver }: PairFacts): object {
  return {
    from,
    to,
    link,
    pcie,
    acs: routing.acs,
    acsPorts: routing.ports,
    acsReason: routing.reason,
    access: driver?.access ?? null,
    nativeAtomics: driver?.nativeAtomics ?? null,
    nvml: driver?.nvml ?? null,
    reason: driver === null ? "the driver was not asked about it" : driver.reason,
  };
}

function topologyOf({ topology, gpus }: MachineFacts): unknown {
  if (topology === null) return null;
  const { format, layout, unknown } = topology;
  return {
    format,
    nodes: layout.nodes,
    // Those of a model carry what it is fitted with, which is no fact of a machine.
    links: layout.links.map(({ from, to, kind, width, rawGbps }) =>
      snake({ from, to, kind, width, rawGbps }),
    ),
    matrix: matrices(topology, gpus)
      .map(({ text }) => text)
      .join("\n"),
    unknown,
  };
}

/** The same with field names such as `memory_bytes`; the names in `missing` are field names too. */
function snake(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snake);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, own]) => [
      name
        .replace(/([a-z0-9])([A-Z]+)/g, (_, before: string, after: string) => `${before}_${after}`)
        .toLowerCase(),
      snake(own),
    ]),
  );
}
