import { existsSync } from "node:fs";
import { noteAnswer, noteOpened, noteRun } from "./activity.js";
import { bannerOf } from "./banner.js";
import { messageOf, P2pError, shown } from "./errors.js";
import { interruptSignal } from "./interrupt.js";
import type { Machine, Run, RunOptions } from "./machine.js";
import { BackedMachine, backedName } from "./machines/backed.js";
import { CudaMachine } from "./machines/cuda.js";
import { RecordedMachine, shippedRecordings } from "./machines/recorded.js";
import { PRESETS, SimulatedMachine } from "./machines/simulated.js";
import { openTwin } from "./machines/twin.js";
import type { Change } from "./model.js";
import { loadAddon } from "./native.js";
import { Program } from "./program.js";
import { keepRun } from "./recording/recorder.js";
import { type MimeBundle, richDisplay } from "./rich.js";
import { requireRunOptions } from "./run-options.js";
import { rated } from "./topology/rate.js";
import { readTopology } from "./topology/read.js";

/** The recording that stands in where there are no GPUs. */
const DEFAULT_RECORDING = "h200x2";

/**
 * Opens a machine.
 * @param spec `auto` (real GPUs with peer access if there are any, otherwise the shipped recording with its twin behind it), `cuda`,
 * `recorded:<name or file>`, `twin:<name or file>` (a model fitted to a recording), `recorded:<name or file>+twin` (recorded where
 * recorded, the twin's elsewhere; each run says which) or `sim:<preset or topology file>`; default: the environment's
 * `P2PLAB_MACHINE`, otherwise `auto`.
 * @throws P2pError `machine-spec` for a specification that names nothing, `not-available` for `cuda` without GPUs,
 * `recording` or `topology` for a file that cannot be read.
 */
export async function open(spec?: string): Promise<OpenMachine> {
  const wanted = spec ?? (process.env.P2PLAB_MACHINE || "auto");
  const machine = new OpenMachine(await find(wanted));
  noteOpened(machine);
  return machine;
}

async function find(spec: string): Promise<Machine> {
  if (typeof spec !== "string") return await find(String(spec));
  const [kind, ...rest] = spec.split(":");
  const name = rest.join(":");
  if (spec === "auto") return (await realGpus()) ?? BackedMachine.open(DEFAULT_RECORDING);
  if (spec === "cuda") return await CudaMachine.open();
  if (kind === "recorded" && name) return recorded(name);
  if (kind === "twin" && name) return openTwin(name);
  if (kind === "sim" && name) return simulated(name);
  const known = machines()
    .map((machine) => machine.spec)
    .join(", ");
  throw new P2pError(
    "machine-spec",
    `no machine "${spec}"`,
    `Use one of: auto, ${known}, recorded:<file>, twin:<file>, sim:<topology file>.`,
  );
}

/** A recording, alone or with its twin behind it. A file that is named so comes first. */
function recorded(name: string): Machine {
  const backed = existsSync(name) ? null : backedName(name);
  return backed === null ? RecordedMachine.open(name) : BackedMachine.open(backed);
}

/** A preset, or what a topology file tells of a machine. A preset's name comes first; what looks like a path is a file. */
function simulated(name: string): Machine {
  const isPreset = PRESETS.some((preset) => preset.name === name);
  if (isPreset || !(/[/\\.]/.test(name) || existsSync(name))) return SimulatedMachine.open(name);
  return SimulatedMachine.of(rated(readTopology(name), name));
}

/** The CUDA machine, if at least one pair of its GPUs has peer access; null otherwise. */
async function realGpus(): Promise<Machine | null> {
  let machine: CudaMachine;
  try {
    machine = await CudaMachine.open();
  } catch (error) {
    if (error instanceof P2pError && error.code === "not-available") return null;
    throw error;
  }
  if (machine.info.pairs.some((pair) => pair.peerAccess)) return machine;
  await machine.close();
  return null;
}

/** Why the GPUs of this machine cannot be opened; null when they can. */
function whyNoGpus(): string | null {
  try {
    return loadAddon().availability().cuda.reason;
  } catch (error) {
    return messageOf(error);
  }
}

/** What can be opened, with a line on each; `unavailable` says why `cuda` cannot be opened here, and is null otherwise. */
export function machines(): { spec: string; describes: string; unavailable: string | null }[] {
  return [
    {
      spec: "cuda",
      describes: "the GPUs of this machine (measured)",
      unavailable: whyNoGpus(),
    },
    ...[...shippedRecordings().keys()].map((name) => ({
      spec: `recorded:${name}`,
      describes: "a recording of a real machine (recorded)",
      unavailable: null,
    })),
    ...[...shippedRecordings().keys()].map((name) => ({
      spec: `twin:${name}`,
      describes: "a model fitted to that recording, for programs that it does not hold (simulated)",
      unavailable: null,
    })),
    ...[...shippedRecordings().keys()].map((name) => ({
      spec: `recorded:${name}+twin`,
      describes: "that recording, with that model behind it (recorded or simulated, as each row says)",
      unavailable: null,
    })),
    ...PRESETS.map(({ name, describes }) => ({
      spec: `sim:${name}`,
      describes: `${describes} (simulated)`,
      unavailable: null,
    })),
  ];
}

/** An opened machine: shows itself in a notebook, and keeps its runs while a recording is being made. */
export class OpenMachine implements Machine {
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  get provenance(): Machine["provenance"] {
    return this.#machine.provenance;
  }

  get info(): Machine["info"] {
    return this.#machine.info;
  }

  get deterministic(): boolean {
    return this.#machine.deterministic ?? false;
  }

  /** See {@link Machine.topology}. */
  get topology(): Machine["topology"] {
    return this.#machine.topology;
  }

  /** Programs a recording holds; null for machines that run any program. */
  get programs(): readonly Program[] | null {
    const recorded = this.#machine instanceof RecordedMachine || this.#machine instanceof BackedMachine;
    return recorded ? this.#machine.programs : null;
  }

  /** See {@link Machine.backedBy}. */
  get backedBy(): Machine["backedBy"] {
    const by = this.#machine.backedBy;
    return by && { alone: new OpenMachine(by.alone), model: () => new OpenMachine(by.model()) };
  }

  async run(program: Program, options?: RunOptions): Promise<Run> {
    if (!(program instanceof Program)) {
      throw new P2pError(
        "usage",
        `machine.run was given ${shown(program)} as its program`,
        "Make one with lab.program() or lab.transfer().",
      );
    }
    requireRunOptions(options);
    const signal = options?.signal ?? interruptSignal();
    const run = await this.#machine.run(program, { ...options, ...(signal ? { signal } : {}) });
    keepRun(this.#machine, run, options?.trace ?? null);
    noteRun(run);
    return run;
  }

  /** See {@link Machine.verdicts}; missing where the machine has none. */
  get verdicts(): Machine["verdicts"] {
    return this.#machine.verdicts?.bind(this.#machine);
  }

  /** See {@link Machine.with}; missing where the machine is no model. */
  get with(): ((change: Change) => OpenMachine) | undefined {
    const change = this.#machine.with?.bind(this.#machine);
    return change && ((wanted) => new OpenMachine(change(wanted)));
  }

  /** See {@link Machine.collective}; missing where the machine is no model. */
  get collective(): Machine["collective"] {
    const answer = this.#machine.collective?.bind(this.#machine);
    return (
      answer &&
      ((wanted) => {
        noteAnswer((this.#machine.backedBy?.model() ?? this.#machine).provenance);
        return answer(wanted);
      })
    );
  }

  /** See {@link Machine.rdma}; missing where the machine is no model. */
  get rdma(): Machine["rdma"] {
    return this.#machine.rdma?.bind(this.#machine);
  }

  close(): Promise<void> {
    return this.#machine.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  toString(): string {
    const { kind, machine, date, source } = this.provenance;
    return `${kind}: ${machine}, ${date.slice(0, 10)} (${source})`;
  }

  [richDisplay](): MimeBundle {
    return bannerOf(this.provenance, this.info, this.toString());
  }
}
