import { existsSync } from "node:fs";
import { P2pError, shown } from "../errors.js";
import { requireWritable, writeFileAtomic } from "../files.js";
import { interruptSignal } from "../interrupt.js";
import type { Machine } from "../machine.js";
import { throwIfCancelled } from "../machines/cuda-calls.js";
import { shippedRecordings } from "../machines/recorded.js";
import { assemble, type Found, readFiles } from "./assemble.js";
import { examine } from "./checks/all.js";
import { Diagnosis } from "./diagnosis.js";
import { noAnswers } from "./driver.js";
import type { MachineFacts } from "./facts.js";
import { climbLadder, noLadder } from "./ladder.js";
import { DriverLook, lookAtFiles, mayHaveGpus } from "./live.js";
import { factsOfOpened } from "./opened.js";
import { cleaner, ownNames } from "./redact.js";
import { openSnapshot, type Snapshot, savedAs, snapshotText } from "./snapshot.js";

export interface DoctorOptions {
  /** A snapshot to look at instead of this machine: a folder with a `machine.json`, or that file. */
  readonly snapshot?: string;
  /** Whether bytes are sent between the GPUs to see whether they arrive; default true. */
  readonly ladder?: boolean;
  /** How long that may take before no other pair is begun, seconds; default 60. */
  readonly ladderS?: number;
  /** How long one call of the driver may take, and its start in a process of the ladder, seconds; default 30. */
  readonly deadlineS?: number;
  /** Where a snapshot of this machine is written, without identifiers: a folder, or a file whose name ends in `.json`. */
  readonly save?: string;
  readonly signal?: AbortSignal;
}

const MOST_S = 3600;
const WATCH_EVERY_MS = 20;
/** What the name of a snapshot beside a recording ends with. */
const BESIDE = ".machine.json";

/**
 * Looks at this machine: what it is, what is wrong with it for transfers between GPUs, and how to mend it. Needs neither root
 * nor a GPU. Whatever could hang runs in processes that are ended at their deadline.
 * @throws P2pError `usage` for options that are none, `topology` for a snapshot that cannot be read, `cancelled`.
 */
export function doctor(options?: DoctorOptions): Promise<Diagnosis>;
/**
 * The same of a machine that is open. Real GPUs: this machine is looked at. A recording: the snapshot that was saved beside it,
 * `NAME.machine.json` for `NAME.arrow`, and without one what the recording itself tells. A model: what its topology holds.
 * @throws P2pError `recording` where the snapshot beside a recording is of other GPUs.
 */
export function doctor(machine: Machine, options?: DoctorOptions): Promise<Diagnosis>;
export async function doctor(first: DoctorOptions | Machine = {}, more?: DoctorOptions): Promise<Diagnosis> {
  const machine = isMachine(first) ? first : null;
  const options = checked(machine ? (more ?? {}) : (first as DoctorOptions));
  if (machine === null && more !== undefined) throw usage(`${shown(first)} is no machine`);
  if (machine && options.snapshot !== undefined) throw usage("a machine and a snapshot");
  if (machine && machine.provenance.kind !== "measured") {
    if (options.save !== undefined) throw usage(`save: ${machine.provenance.source} is not this machine`);
    return examined(ofOpened(machine));
  }
  return options.snapshot === undefined ? await lookHere(options) : ofSnapshot(options.snapshot);
}

async function lookHere(options: DoctorOptions): Promise<Diagnosis> {
  const { ladderS = 60, deadlineS = 30 } = options;
  const signal = options.signal ?? interruptSignal() ?? undefined;
  const environment = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  throwIfCancelled(signal);
  if (options.save !== undefined) requireWritable(savedAs(options.save));
  const look = mayHaveGpus() ? new DriverLook(deadlineS * 1000) : null;
  try {
    const answering = look?.answers ?? noAnswers("no NVIDIA GPU on the bus, and no driver of one");
    const looking = Promise.all([lookAtFiles(environment, options.save !== undefined), answering]);
    const [{ files, late, noted }, driver] = await Promise.race([looking, stopped(signal)]);
    const refused = whyNoLadder(options, environment);
    const climbing =
      refused === null ? climbLadder(driver, ladderS * 1000, deadlineS * 1000, signal) : noLadder(refused);
    const watching = look && refused === null && driver.gpus.length > 1;
    const [ladder, seen] = await Promise.all([
      climbing,
      watching ? look.watch(driver, WATCH_EVERY_MS, climbing) : new Map(),
    ]);
    const loaded = ladder.verdicts.some((verdict) => verdict.outcome !== "no-p2p") ? seen : new Map();
    const machine = (own: string) => own;
    const origin = { kind: "measured", machine, date: new Date().toISOString(), source: "doctor" } as const;
    const facts = assemble({ files, driver, ladder, loaded, late, basis: "machine", origin });
    if (options.save !== undefined) {
      const { machine, date } = facts.provenance;
      const { environment: set } = files.surroundings;
      const { verdicts } = ladder;
      const text = snapshotText({ name: machine, date, environment: set, ...noted, driver, verdicts });
      writeFileAtomic(savedAs(options.save), cleaner(ownNames())(text));
    }
    return examined(facts);
  } finally {
    await look?.close();
  }
}

/** Settles only when the signal stops the work, with the error that says so. */
function stopped(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => {
      try {
        throwIfCancelled(signal);
      } catch (error) {
        reject(error);
      }
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}

function whyNoLadder(options: DoctorOptions, environment: Readonly<Record<string, string>>): string | null {
  if (options.ladder === false) return "it was not asked for";
  return environment.P2PLAB_P2P === "off" ? "P2PLAB_P2P=off turns peer access off" : null;
}

function ofSnapshot(path: string): Diagnosis {
  const snapshot = openSnapshot(path);
  const { name, synthetic, date } = snapshot;
  return examined(
    factsOfSnapshot(snapshot, {
      kind: synthetic ? "simulated" : "recorded",
      machine: (own) => (name && name !== own ? `${name}: ${own}` : own),
      date,
      source: `doctor:${path}`,
    }),
  );
}

function factsOfSnapshot(snapshot: Snapshot, origin: Found["origin"]): MachineFacts {
  const { root, environment, driver, ladder } = snapshot;
  const files = readFiles(root, environment);
  return assemble({ files, driver, ladder, loaded: new Map(), late: [], basis: "snapshot", origin });
}

/** A machine that is not here. */
function ofOpened(machine: Machine): MachineFacts {
  const file = snapshotOf(machine);
  if (file === null) return factsOfOpened(machine);
  const snapshot = openSnapshot(file);
  const { machine: name, kind, source } = machine.provenance;
  const facts = factsOfSnapshot(snapshot, { kind, machine: () => name, date: snapshot.date, source });
  const names = (gpus: readonly { name: string }[]) => gpus.map((gpu) => gpu.name).join(", ");
  const own = facts.gpus.filter((gpu) => gpu.cudaOrdinal !== null);
  if (names(own) === names(machine.info.gpus)) return facts;
  throw new P2pError(
    "recording",
    `${file} is of ${names(own) || "no GPU"}, but ${source} of ${names(machine.info.gpus)}`,
    "Save the snapshot on the machine that was recorded: p2plab doctor --save FILE.machine.json.",
  );
}

/** The snapshot that was saved beside a recording; null where there is none. */
function snapshotOf({ provenance }: Machine): string | null {
  const name = /^recorded:(.+?)(?:\+twin)?$/.exec(provenance.source)?.[1];
  if (name === undefined || provenance.kind !== "recorded") return null;
  const recording = shippedRecordings().get(name) ?? name;
  const file = recording.replace(/(\.arrow)?$/, BESIDE);
  return existsSync(file) ? file : null;
}

function isMachine(value: unknown): value is Machine {
  const { provenance, info, run } = (value ?? {}) as Partial<Machine>;
  return typeof run === "function" && typeof provenance === "object" && typeof info === "object";
}

function examined(facts: Parameters<typeof examine>[0]): Diagnosis {
  return new Diagnosis(facts, examine(facts));
}

const KNOWN = ["snapshot", "ladder", "ladderS", "deadlineS", "save", "signal"];

function checked(options: DoctorOptions): DoctorOptions {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw usage(`options are ${shown(options)}, not an object`);
  }
  const stranger = Object.keys(options).find((name) => !KNOWN.includes(name));
  if (stranger !== undefined) throw usage(`there is no option "${stranger}"`);
  if (options.snapshot !== undefined && (typeof options.snapshot !== "string" || options.snapshot === "")) {
    throw usage(`snapshot is ${shown(options.snapshot)}, not a path`);
  }
  if (options.ladder !== undefined && typeof options.ladder !== "boolean") {
    throw usage(`ladder is ${shown(options.ladder)}, not true or false`);
  }
  if (options.save !== undefined && (typeof options.save !== "string" || options.save === "")) {
    throw usage(`save is ${shown(options.save)}, not a folder`);
  }
  if (options.save !== undefined && options.snapshot !== undefined) {
    throw usage("a snapshot of a snapshot");
  }
  for (const name of ["ladderS", "deadlineS"] as const) {
    const seconds: unknown = options[name];
    if (seconds === undefined) continue;
    if (typeof seconds !== "number" || !(seconds > 0 && seconds <= MOST_S)) {
      throw usage(`${name} is ${shown(seconds)}, not a number of seconds above 0 and up to ${MOST_S}`);
    }
  }
  return options;
}

function usage(what: string): P2pError {
  return new P2pError("usage", `lab.doctor(): ${what}`, `Options are ${KNOWN.join(", ")}.`);
}
