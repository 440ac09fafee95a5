/** Looks at the live machine. Nothing that could hang is done in this process: files and driver are read by two others, side by side. */
import { existsSync } from "node:fs";
import { messageOf } from "../errors.js";
import { ChildGone, KillableChild } from "../machines/children/killable-child.js";
import type { NvmlClocks } from "../native-nvml.js";
import type { Part, Step } from "./ask.js";
import { SUBJECTS } from "./assemble.js";
import type { LookRequest } from "./child.js";
import { type DriverAnswers, noAnswers } from "./driver.js";
import type { FileFacts, LoadedLink } from "./facts.js";
import type { Noted } from "./noting.js";
import { FolderRoot, LostRoot } from "./root.js";

/** How long one subject's files may take. */
const FILES_MS = 5000;
/** How long an idle process may take to end. */
const END_MS = 1000;
/** Variables that change which GPUs CUDA shows, and under which numbers. */
const RENUMBERING = ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"];

/** Device nodes of NVIDIA's drivers on servers, in WSL and on Jetson. */
const NODES = ["/dev/nvidiactl", "/dev/dxg", "/dev/nvmap"];

/**
 * Whether there can be a GPU at all: asking a driver that is not there costs as much as asking one that is. Device nodes may
 * be made only when CUDA starts, so that a module or a device of NVIDIA's on the bus is enough.
 */
export function mayHaveGpus(): boolean {
  if (process.env.P2PLAB_LIBCUDA || NODES.some(existsSync) || existsSync("/proc/driver/nvidia")) return true;
  const root = new FolderRoot("/");
  const devices = root.list("/sys/bus/pci/devices").value ?? [];
  return devices.some((name) => root.text(`/sys/bus/pci/devices/${name}/vendor`).value === "0x10de");
}

export interface Look {
  readonly files: FileFacts;
  /** What was late, a sentence each. */
  readonly late: readonly string[];
  /** What was read, where it was asked for. */
  readonly noted: Noted;
}

type Environment = Readonly<Record<string, string>>;

function newChild(): KillableChild {
  return new KillableChild(new URL("./child.js", import.meta.url));
}

function ask(child: KillableChild, request: LookRequest, deadlineMs: number): Promise<unknown> {
  return child.request(request, deadlineMs);
}

/** Reads the files of the machine, a subject after the other; one that hangs costs its own facts only. */
export async function lookAtFiles(environment: Environment, note: boolean): Promise<Look> {
  const facts: Record<string, unknown> = {};
  const late: string[] = [];
  let child = newChild();
  for (const [name, read] of Object.entries(SUBJECTS)) {
    const subject = name as keyof FileFacts;
    try {
      facts[subject] = await ask(child, { do: "files", subject, environment }, FILES_MS);
    } catch (error) {
      const gone = error instanceof ChildGone;
      const reason =
        gone && error.why === "deadline"
          ? `reading the files of "${subject}" did not end within ${FILES_MS / 1000} s`
          : `the process that reads the files of "${subject}" failed: ${messageOf(error)}`;
      late.push(reason);
      facts[subject] = read(new LostRoot(reason), environment);
      if (!gone) continue;
      await child.kill();
      child = newChild();
    }
  }
  const none: Noted = { files: {}, spaces: {} };
  const noted = note ? ((await ask(child, { do: "noted" }, FILES_MS)) as Noted) : none;
  await child.finish(END_MS);
  return { files: facts as unknown as FileFacts, late, noted };
}

/** The driver, in a process of its own that stays for {@link watch}. */
export class DriverLook {
  readonly #deadlineMs: number;
  readonly #child = newChild();
  readonly answers: Promise<DriverAnswers>;

  /** @param deadlineMs how long one call of the driver may take. */
  constructor(deadlineMs: number) {
    this.#deadlineMs = deadlineMs;
    this.answers = this.#ask();
  }

  async #ask(): Promise<DriverAnswers> {
    const renumbered = RENUMBERING.some((name) => process.env[name]) ? visibleGpus(this.#deadlineMs) : null;
    let last: Step = { step: "starting a process", part: {} };
    try {
      const part = (await this.#child.request({ do: "driver" }, this.#deadlineMs, (note) => {
        last = note as Step;
        return this.#deadlineMs;
      })) as Part;
      const answers = { ...noAnswers("it was not asked"), ...part };
      return { ...answers, visible: await (renumbered ?? this.#numbered(answers.gpus)) };
    } catch (error) {
      const late = error instanceof ChildGone && error.why === "deadline";
      const why = late ? `did not return within ${this.#deadlineMs / 1000} s` : `failed: ${messageOf(error)}`;
      const said = `${last.step} ${why}`;
      const gone = error instanceof ChildGone;
      return {
        ...noAnswers(said),
        ...last.part,
        // NVML may hang where CUDA works: the verdicts are worth all the more then.
        visible: await (renumbered ?? (last.part.gpus ? this.#numbered(last.part.gpus) : null)),
        // An addon that is not built is a reason to know nothing, not a driver in trouble.
        brokenOff: gone ? said : null,
      };
    }
  }

  /** By PCI address, unless the models differ: then CUDA puts the fastest first, and only it knows which that is. */
  #numbered(gpus: DriverAnswers["gpus"]): Promise<string[] | null> {
    const models = new Set(gpus.map((gpu) => gpu.name));
    if (models.size > 1) return visibleGpus(this.#deadlineMs);
    return Promise.resolve(gpus.flatMap((gpu) => gpu.uuid ?? []));
  }

  /** Looks at the PCIe links until the work ends; the fastest and widest that each GPU was seen with, by UUID. */
  async watch(answers: DriverAnswers, everyMs: number, work: unknown): Promise<Map<string, LoadedLink>> {
    const seen = new Map<string, LoadedLink>();
    let going = true;
    const end = () => {
      going = false;
    };
    const ended = Promise.resolve(work).then(end, end);
    while (going && this.#child.gone === null) {
      try {
        const clocks = (await ask(this.#child, { do: "clocks" }, this.#deadlineMs)) as (NvmlClocks | null)[];
        for (const [place, now] of clocks.entries()) {
          const uuid = answers.gpus[place]?.uuid;
          if (uuid && now) seen.set(uuid, most(seen.get(uuid), now));
        }
      } catch {
        break;
      }
      let timer: NodeJS.Timeout | undefined;
      const pause = new Promise((resolve) => {
        timer = setTimeout(resolve, everyMs);
      });
      await Promise.race([pause, ended]);
      clearTimeout(timer);
    }
    return seen;
  }

  async close(): Promise<void> {
    await this.#child.finish(END_MS);
  }
}

/** UUIDs in the order of CUDA's numbers for programs started here; null where the driver does not answer. */
async function visibleGpus(deadlineMs: number): Promise<string[] | null> {
  const child = newChild();
  try {
    return (await ask(child, { do: "visible" }, deadlineMs)) as string[];
  } catch {
    // What stands in its way is said by the process that asks for everything, which makes the same calls.
    return null;
  } finally {
    await child.finish(END_MS);
  }
}

function most(before: LoadedLink | undefined, now: NvmlClocks): LoadedLink {
  const larger = (a: number | null | undefined, b: number | null) => {
    const known = [a ?? null, b].filter((value): value is number => value !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
  return {
    generation: larger(before?.generation, now.pcieGeneration),
    width: larger(before?.width, now.pcieWidth),
  };
}
