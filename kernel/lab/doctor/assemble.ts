/** From what the probes brought to one set of facts. */
import type { Provenance } from "../machine.js";
import { Description } from "../topology/description.js";
import type { Verdict } from "../verdict.js";
import type { DriverAnswers } from "./driver.js";
import type {
  Basis,
  FileFacts,
  GpuFacts,
  LadderFacts,
  LoadedLink,
  MachineFacts,
  PairFacts,
} from "./facts.js";
import { joinGpus } from "./gpus.js";
import { readHost } from "./host.js";
import { readKernelLog } from "./kernel-log.js";
import { readNics } from "./nics.js";
import { readPci } from "./pcie.js";
import { describePlaces, pairsOf } from "./place.js";
import type { Root } from "./root.js";
import { readSoftware } from "./software.js";
import { readSurroundings } from "./surroundings.js";

type Environment = Readonly<Record<string, string>>;

/** One reader a subject; each is asked on its own, for one that hangs must not take the others with it. */
export const SUBJECTS: {
  readonly [K in keyof FileFacts]: (root: Root, environment: Environment) => FileFacts[K];
} = {
  surroundings: readSurroundings,
  software: readSoftware,
  host: readHost,
  pci: readPci,
  nics: readNics,
  log: readKernelLog,
};

export function readFiles(root: Root, environment: Environment): FileFacts {
  return Object.fromEntries(
    Object.entries(SUBJECTS).map(([subject, read]) => [subject, read(root, environment)]),
  ) as unknown as FileFacts;
}

export interface Found {
  readonly files: FileFacts;
  readonly driver: DriverAnswers;
  readonly ladder: LadderFacts;
  readonly loaded: ReadonlyMap<string, LoadedLink>;
  readonly late: readonly string[];
  readonly basis: Basis;
  /** The machine's name is made of what was found, `2 × NVIDIA H200 (NV18)`. */
  readonly origin: Omit<Provenance, "machine"> & { machine(own: string): string };
}

export function assemble(found: Found): MachineFacts {
  const { files, driver, ladder, late } = found;
  const gpus = joinGpus(files, driver, found.loaded);
  const layout = describePlaces(files, gpus, driver);
  const pairs = pairsOf(files, gpus, driver, layout);
  const machine = found.origin.machine(nameOf(gpus, pairs));
  const provenance = { ...found.origin, machine };
  const heading = `${provenance.kind}: ${machine}, ${provenance.date.slice(0, 10)} (${provenance.source})`;
  return {
    ...files,
    basis: found.basis,
    provenance,
    gpus,
    pairs,
    driver: {
      cuda: driver.cuda,
      nvml: { available: driver.nvml.available, reason: driver.nvml.reason },
      version: driver.nvml.driverVersion,
      brokenOff: driver.brokenOff,
      numbered: driver.visible !== null,
    },
    ladder: { ...ladder, verdicts: ladder.verdicts.flatMap((verdict) => renumbered(verdict, gpus, driver)) },
    topology: layout && new Description({ ...layout, heading, provenance }),
    late,
  };
}

/** With the numbers of the GPUs instead of their places among the driver's answers. */
function renumbered(verdict: Verdict, gpus: readonly GpuFacts[], driver: DriverAnswers): Verdict[] {
  const [from, to] = [verdict.from, verdict.to].map((place) =>
    gpus.findIndex((gpu) => gpu.driver !== null && gpu.driver === driver.gpus[place]),
  );
  return from === undefined || to === undefined || from < 0 || to < 0 ? [] : [{ ...verdict, from, to }];
}

/** `2 × NVIDIA H200 (NV18)`; the class of the way stands where all pairs share it. */
function nameOf(gpus: readonly GpuFacts[], pairs: readonly PairFacts[]): string {
  if (gpus.length === 0) return "no NVIDIA GPU";
  const counts = new Map<string, number>();
  for (const { name } of gpus) counts.set(name, (counts.get(name) ?? 0) + 1);
  const models = [...counts].map(([name, count]) => `${count} × ${name}`).join(" + ");
  const links = new Set(pairs.map((pair) => pair.link));
  const [link] = links;
  return links.size === 1 && link != null ? `${models} (${link})` : models;
}
