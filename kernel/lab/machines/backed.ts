import { P2pError } from "../errors.js";
import type { BackedBy, Machine, MachineInfo, Provenance, Run, RunOptions } from "../machine.js";
import type { Change, Collective, CollectiveResult, RdmaCard } from "../model.js";
import type { Program } from "../program.js";
import { RecordedMachine } from "./recorded.js";
import type { SimulatedMachine } from "./simulated.js";
import { openTwin } from "./twin.js";

/** What a specification ends with that wants the twin behind a recording. */
const SUFFIX = "+twin";

/** The recording that a name such as `h200x2+twin` wants a twin behind; null for another name. */
export function backedName(name: string): string | null {
  return name.endsWith(SUFFIX) && name !== SUFFIX ? name.slice(0, -SUFFIX.length) : null;
}

/**
 * A recording with its twin behind it: what was recorded is answered as recorded, everything else by the model that is fitted
 * to it. Each run says which of the two it is. The twin is fitted when it is first asked.
 */
export class BackedMachine implements Machine {
  readonly provenance: Provenance;
  readonly info: MachineInfo;
  readonly deterministic = true;
  readonly #recorded: RecordedMachine;
  readonly #name: string;
  #twin: SimulatedMachine | null = null;

  private constructor(recorded: RecordedMachine, name: string) {
    this.#recorded = recorded;
    this.#name = name;
    this.provenance = { ...recorded.provenance, source: `${recorded.provenance.source}${SUFFIX}` };
    const behind = `twin:${name} (simulated) answers programs that were not recorded`;
    this.info = { ...recorded.info, facts: { ...recorded.info.facts, behind } };
  }

  /**
   * @param nameOrFile of a recording of a real machine.
   * @throws P2pError as {@link RecordedMachine.open}; `machine-spec` for the recording of a model.
   */
  static open(nameOrFile: string): BackedMachine {
    const recorded = RecordedMachine.open(nameOrFile);
    if (recorded.provenance.kind === "recorded") return new BackedMachine(recorded, nameOrFile);
    throw new P2pError(
      "machine-spec",
      `"${nameOrFile}" was made on a model: a twin is of a real machine`,
      "Give the recording of a real machine, such as recorded:h200x2+twin.",
    );
  }

  /** The programs that were recorded. */
  get programs(): Program[] {
    return this.#recorded.programs;
  }

  get backedBy(): BackedBy {
    return { alone: this.#recorded, model: () => this.#model };
  }

  get #model(): SimulatedMachine {
    this.#twin ??= openTwin(this.#name);
    return this.#twin;
  }

  async run(program: Program, options: RunOptions = {}): Promise<Run> {
    try {
      return await this.#recorded.run(program, options);
    } catch (error) {
      if (!(error instanceof P2pError && error.code === "not-recorded")) throw error;
      return await this.#modelled(program, options, error);
    }
  }

  async #modelled(program: Program, options: RunOptions, notRecorded: P2pError): Promise<Run> {
    const missing = program.gpus.find((gpu) => !this.info.gpus.some(({ index }) => index === gpu));
    if (missing !== undefined) throw notRecorded;
    try {
      return await this.#model.run(program, options);
    } catch (error) {
      if (!(error instanceof P2pError && error.code === "not-available")) throw error;
      const message = `${this.#recorded.provenance.source} does not hold it, and ${error.message}`;
      throw new P2pError("not-available", message, error.hint, { cause: error });
    }
  }

  /** Of the twin: a recording is no other machine. */
  with(change: Change): Machine {
    return this.#model.with(change);
  }

  collective(wanted: Collective): CollectiveResult {
    return this.#model.collective(wanted);
  }

  rdma(gpu: number): readonly RdmaCard[] {
    return this.#model.rdma(gpu);
  }

  async close(): Promise<void> {
    await this.#recorded.close();
    await this.#twin?.close();
  }
}
