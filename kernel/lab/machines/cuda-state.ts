import { messageOf } from "../errors.js";
import type { GpuState, RunState } from "../machine.js";
import type { NativeNvml, NvmlClocks, NvmlFacts, NvmlLinkCounters, NvmlState } from "../native-nvml.js";

/** A run that begins so soon after another takes over the state that the other ended with. */
export const RECENT_MS = 100;

/** Reads what NVML tells of GPUs. NVML is optional as a whole and value by value: nothing here throws. */
export class StateReader {
  readonly #nvml: NativeNvml;
  readonly #facts = new Map<number, NvmlFacts | string>();
  readonly #last = new Map<number, { readonly reading: Reading; readonly atMs: number }>();

  constructor(nvml: NativeNvml) {
    this.#nvml = nvml;
  }

  /** What does not change, read once for each GPU; or why there is none. */
  facts(gpu: number): NvmlFacts | string {
    let known = this.#facts.get(gpu);
    if (known === undefined) {
      known = attempt(() => this.#nvml.nvmlFacts(gpu));
      this.#facts.set(gpu, known);
    }
    return known;
  }

  clocks(gpu: number): NvmlClocks | string {
    return attempt(() => this.#nvml.nvmlClocks(gpu));
  }

  pair(from: number, to: number): ReturnType<NativeNvml["nvmlPair"]> | string {
    return attempt(() => this.#nvml.nvmlPair(from, to));
  }

  /**
   * The state of several GPUs, read while other work goes on; or why one of them cannot be asked. Never rejects.
   * @param recentMs a reading that is no older than this will do: reading takes ten milliseconds and more a GPU, and holds up
   *   the driver's calls meanwhile.
   */
  async read(gpus: readonly number[], recentMs = 0): Promise<Readings> {
    const readings: Reading[] = [];
    try {
      for (const gpu of gpus) {
        const known = this.#last.get(gpu);
        if (known && performance.now() - known.atMs < recentMs) {
          readings.push(known.reading);
          continue;
        }
        const reading = { gpu, state: await this.#nvml.nvmlStateLater(gpu), facts: this.facts(gpu) };
        this.#last.set(gpu, { reading, atMs: performance.now() });
        readings.push(reading);
      }
    } catch (error) {
      return messageOf(error);
    }
    return readings;
  }

  /** The same readings with the clocks and links of this moment, which cost little. */
  withClocks(readings: Readings): Readings {
    if (typeof readings === "string") return readings;
    return readings.map((reading) => {
      const clocks = this.clocks(reading.gpu);
      if (typeof clocks === "string") return reading;
      const { missing, ...values } = clocks;
      return {
        ...reading,
        state: { ...reading.state, ...values, missing: { ...reading.state.missing, ...missing } },
      };
    });
  }
}

/** Those of several GPUs; or why there are none. */
export type Readings = Reading[] | string;

/** One GPU at one moment, as NVML tells it. */
export interface Reading {
  readonly gpu: number;
  readonly state: NvmlState;
  /** Or why there are none. */
  readonly facts: NvmlFacts | string;
}

function attempt<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    return messageOf(error);
  }
}

/** Performance states from here on are those of a GPU at rest. */
const RESTING_STATE = 5;

/** Whether a GPU called itself idle, or runs in a state of rest. */
export function isIdle(clocks: NvmlClocks): boolean {
  return clocks.events?.includes("gpu_idle") === true || (clocks.performanceState ?? 0) >= RESTING_STATE;
}

/** Both readings in the form that goes with a run; or why there is none. */
export function runState(
  before: Readings,
  after: Readings,
): { state: RunState | null; stateReason: string | null } {
  const reason = typeof before === "string" ? before : typeof after === "string" ? after : null;
  if (typeof before === "string" || typeof after === "string") return { state: null, stateReason: reason };
  return { state: { before: before.map(gpuState), after: after.map(gpuState) }, stateReason: null };
}

function gpuState({ gpu, state }: Reading): GpuState {
  const foreign = foreignProcesses(state);
  const missing: Record<string, string> = { ...state.missing };
  delete missing.processes;
  if (typeof foreign === "string") missing.foreignProcesses = foreign;
  return {
    gpu,
    idle: isIdle(state),
    smClockMhz: state.smClockMhz,
    memoryClockMhz: state.memoryClockMhz,
    performanceState: state.performanceState,
    events: state.events,
    temperatureC: state.temperatureC,
    powerW: state.powerW,
    pcieGeneration: state.pcieGeneration,
    pcieWidth: state.pcieWidth,
    pcieReplays: state.pcieReplays,
    pcieTxBytes: state.pcieTxBytes,
    pcieRxBytes: state.pcieRxBytes,
    eccUncorrected: state.eccUncorrected,
    foreignProcesses: typeof foreign === "string" ? null : foreign,
    nvlink: state.links.length === 0 ? null : linkSums(state.links),
    missing,
  };
}

function linkSums(links: readonly NvmlLinkCounters[]): NonNullable<GpuState["nvlink"]> {
  const sum = (counter: Counter) => {
    const told = links.flatMap((link) => link[counter] ?? []);
    return told.length === 0 ? null : told.reduce((a, b) => a + b, 0);
  };
  return {
    activeLinks: links.filter((link) => link.active).length,
    replayErrors: sum("replayErrors"),
    recoveryErrors: sum("recoveryErrors"),
    crcErrors: sum("crcErrors"),
    receiveErrors: sum("receiveErrors"),
    txBytes: sum("txBytes"),
    rxBytes: sum("rxBytes"),
  };
}

type Counter = Exclude<keyof NvmlLinkCounters, "link" | "active" | "missing">;

/**
 * Compute processes other than this one, which has a context on every GPU that it reads; or why they cannot be told. Where
 * identifiers come from another PID namespace, one of those listed is this process all the same.
 */
export function foreignProcesses(state: NvmlState): number | string {
  if (state.processes === null) return state.missing.processes ?? "NVML does not tell";
  if (state.processes.some((process) => process.own))
    return state.processes.filter((process) => !process.own).length;
  if (state.processes.length > 0) return state.processes.length - 1;
  return "NVML does not list this process either, as in a container with a PID namespace of its own";
}
