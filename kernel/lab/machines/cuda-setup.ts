import { P2pError } from "../errors.js";
import type { Provenance, Run, RunOptions } from "../machine.js";
import { type NativeAddon, translate } from "../native.js";
import type { NativeSetup } from "../native-setup.js";
import type { SetupOperation } from "../operations.js";
import type { Program } from "../program.js";
import { OPENED_ELSEWHERE } from "../program-checks.js";
import { type SamplingOptions, samplingOf, stop } from "../sampling.js";
import { formatNs } from "../units.js";
import type { Elsewhere, IpcRequest } from "./children/ipc-child.js";
import { ChildGone, INHERITED_FILE, KillableChild } from "./children/killable-child.js";
import { throwIfCancelled } from "./cuda-calls.js";
import { profilerWarnings } from "./profiler.js";

/** How long one batch should take. */
const BATCH_MS = 50;
/** What another process may take to start, make its context and open the memory; and then for a batch. */
const OPEN_DEADLINE_MS = 60_000;
const BATCH_DEADLINE_MS = 20_000;
const END_DEADLINE_MS = 5000;

/** What differs from the usual sampling: calls of milliseconds among them, and warm after a few. */
const SAMPLING = { warmup: 3, minSamples: 20, maxSamples: 1000, budgetMs: 400, target: 0.05 };

/** The part of {@link NativeSetup} that sampling needs; in this process or in another. */
type Work = Pick<NativeSetup, "time"> & {
  checked(): Promise<string>;
  cancel(): void;
  close(): Promise<void>;
};

/**
 * Runs a program of set-up work: the kind is done and undone until the stopping rule ends it. A sample is the host's time
 * in the named driver call(s) alone; the very first repetition is reported apart, as `firstNs`.
 * @throws P2pError `cuda`, `not-available`, `verification`, `usage` or `cancelled`.
 */
export async function runSetup(
  addon: NativeAddon,
  program: Program,
  options: RunOptions,
  provenance: Provenance,
): Promise<Run> {
  const operation = program.data.operations[0] as SetupOperation;
  const sampling = samplingOf({ ...SAMPLING, ...fitting(options.sampling) });
  throwIfCancelled(options.signal);
  try {
    const work = await workOf(addon, operation);
    const cancel = () => work.cancel();
    options.signal?.addEventListener("abort", cancel);
    try {
      const repeat = async (repetitions: number): Promise<Float64Array> => {
        throwIfCancelled(options.signal);
        const { ns, cancelled } = await work.time(repetitions, BATCH_MS);
        if (cancelled) throwIfCancelled(options.signal, true);
        return ns;
      };
      const firstNs = (await repeat(1))[0] as number;
      if (sampling.warmup > 0) await repeat(sampling.warmup);
      const begin = performance.now();
      const all: number[] = [];
      for (;;) {
        all.push(...(await repeat(Math.max(1, sampling.maxSamples - all.length))));
        const totalNs = Float64Array.from(all);
        const convergence = stop(totalNs, performance.now() - begin, sampling);
        if (!convergence) continue;
        const beside = await work.checked();
        return {
          program,
          mode: "setup",
          provenance: { ...provenance, date: new Date().toISOString() },
          samples: { totalNs, apiNs: new Float64Array(0), convergence },
          trace: null,
          traceReason: options.trace ? "set-up work is timed, not traced" : null,
          firstNs,
          verification: {
            state: "ok",
            checkedBytes: isElsewhere(operation.kind) ? (operation.bytes as number) : 0,
            wrongBytes: 0,
            sentinelBytes: 0,
            detail: `every call of ${all.length + sampling.warmup + 1} repetitions succeeded and was undone${beside ? `; ${beside}` : ""}`,
          },
          warnings: [
            `the first repetition took ${formatNs(firstNs)} and is not among the samples`,
            ...profilerWarnings(),
          ],
        };
      }
    } finally {
      options.signal?.removeEventListener("abort", cancel);
      await work.close();
    }
  } catch (error) {
    throw translate(error);
  }
}

/** A caller who wants fewer samples than our least wants fewer. */
function fitting(options: SamplingOptions = {}): SamplingOptions {
  const { maxSamples } = options;
  if (maxSamples === undefined || options.minSamples !== undefined) return options;
  return { ...options, minSamples: Math.min(SAMPLING.minSamples, maxSamples) };
}

function isElsewhere(kind: SetupOperation["kind"]): kind is Elsewhere {
  return OPENED_ELSEWHERE.includes(kind);
}

async function workOf(addon: NativeAddon, operation: SetupOperation): Promise<Work> {
  const { kind, gpu, peer = -1, bytes = 0, nodes = 0 } = operation;
  if (isElsewhere(kind)) return await OpenedElsewhere.open(addon, kind, gpu, peer, bytes);
  const native = await addon.setup(kind, gpu, peer, bytes, nodes, null);
  return {
    time: (repetitions, budgetMs) => native.time(repetitions, budgetMs),
    checked: async () => native.checked(),
    cancel: () => native.cancel(),
    close: async () => native.close(),
  };
}

/** Memory of this process, opened and closed again and again by a process of its own. */
class OpenedElsewhere implements Work {
  readonly #child: KillableChild;
  readonly #close: () => void;
  #cancelled = false;

  private constructor(child: KillableChild, close: () => void) {
    this.#child = child;
    this.#close = close;
  }

  static async open(
    addon: NativeAddon,
    kind: Elsewhere,
    gpu: number,
    peer: number,
    bytes: number,
  ): Promise<OpenedElsewhere> {
    const devices = addon.devices();
    const uuid = devices[peer]?.uuid ?? "";
    const owner = devices[gpu]?.uuid ?? "";
    const byFile = kind === "vmm-import";
    const exported = await addon.exportMemory(gpu, bytes, byFile ? "file" : "ipc");
    const child = new KillableChild(
      new URL("./children/ipc-child.js", import.meta.url),
      byFile ? exported.file : null,
    );
    const opened = new OpenedElsewhere(child, () => exported.close());
    try {
      const handle = byFile ? INHERITED_FILE : exported.handle;
      await opened.#ask({ do: "setup", kind, uuid, owner, bytes, handle }, OPEN_DEADLINE_MS);
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  async time(repetitions: number, budgetMs: number): ReturnType<NativeSetup["time"]> {
    const timing = (await this.#ask(
      { do: "time", repetitions, budgetMs },
      budgetMs + BATCH_DEADLINE_MS,
    )) as Awaited<ReturnType<NativeSetup["time"]>>;
    return { ns: timing.ns, cancelled: this.#cancelled };
  }

  async checked(): Promise<string> {
    return (await this.#ask({ do: "checked" }, BATCH_DEADLINE_MS)) as string;
  }

  /** Its batch is short: it ends by itself. */
  cancel(): void {
    this.#cancelled = true;
  }

  async close(): Promise<void> {
    await this.#child.finish(END_DEADLINE_MS);
    // Only now that nobody has it open.
    this.#close();
  }

  async #ask(request: IpcRequest, deadlineMs: number): Promise<unknown> {
    try {
      return await this.#child.request(request, deadlineMs);
    } catch (error) {
      if (!(error instanceof ChildGone)) throw error;
      throw new P2pError(
        "not-available",
        `the process that opens the memory ${error.why === "deadline" ? "hangs" : "ended"} (${error.message})`,
        "Look for Xid messages in the kernel log; in a container, both processes need the same IPC and PID namespace.",
      );
    }
  }
}
