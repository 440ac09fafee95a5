import { P2pError } from "../../errors.js";
import type { Allocator, StepOperation } from "../../operations.js";
import type { Program } from "../../program.js";
import { VerdictError } from "../../verdict.js";
import type { Cell, Ground, Prober } from "./prober.js";

/** Up to so many GPUs all pairs are asked about at once, for what the probe's process costs is paid only once then. */
const ALL_AT_ONCE = 8;
/** How long those that the program does not need may add to its first run. */
const BESIDES_MS = 5000;

/** The one-line switch: `P2PLAB_P2P=off` stages every transfer between GPUs through the host. */
export function peerAccessOff(): boolean {
  const value = process.env.P2PLAB_P2P ?? "";
  if (value === "" || value === "on") return false;
  if (value === "off") return true;
  throw new P2pError("usage", `P2PLAB_P2P is "${value}"`, "Set it to off, or leave it out.");
}

/** A program as it may run, and what its run must say beside what it measures. */
export interface Admitted {
  readonly program: Program;
  readonly warnings: readonly string[];
}

/** Lets a program run only where every pair that it uses is known to work. */
export class Gate {
  readonly #ground: Ground;
  readonly #prober: Prober;
  readonly #gpus: number;

  /** @param gpus how many the machine has. */
  constructor(ground: Ground, prober: Prober, gpus: number) {
    this.#ground = ground;
    this.#prober = prober;
    this.#gpus = gpus;
  }

  /**
   * Asks about pairs before their first use. A program without peer access runs in any case; where the direct path is known
   * not to work, its run says `host-staged: …`.
   * @throws P2pError `not-available` where the driver grants no access, or where the switch is off and the program cannot do
   * without; VerdictError with the first verdict that is not `ok`; P2pError `cancelled`.
   */
  async admit(asked: Program, signal: AbortSignal | undefined): Promise<Admitted> {
    const { program, warnings } = switched(asked);
    if (program.kind === "setup") return { program, warnings };
    if (!program.data.peerAccess) {
      return { program, warnings: warnings.length > 0 ? warnings : this.#stagedBecause(program) };
    }
    const needed = cellsOf(program);
    for (const { from, to } of needed) {
      const denied = this.#ground.denied(from, to);
      if (denied === null) continue;
      throw new P2pError(
        "not-available",
        `no peer access: ${denied}`,
        "Run the staged path, or let the driver stage the copy with .peerAccess(false).",
      );
    }
    if (needed.length === 0) return { program, warnings: this.#stagedBecause(program) };
    await this.#require(needed, signal);
    return { program, warnings: [] };
  }

  async #require(needed: readonly Cell[], signal: AbortSignal | undefined): Promise<void> {
    const wanted = new Set(needed.map(keyOf));
    const known = needed.every((cell) => this.#prober.known(cell));
    const begin = performance.now();
    const verdicts = await this.#prober.verdicts(
      known ? needed : [...needed, ...besides(needed, this.#gpus)],
      signal,
      // One that the program does not need must not hold it up by a deadline again and again.
      (verdict) =>
        verdict.outcome === "ok" && (wanted.has(keyOf(verdict)) || performance.now() - begin < BESIDES_MS),
    );
    const bad = verdicts.find((verdict) => wanted.has(keyOf(verdict)) && verdict.outcome !== "ok");
    if (bad) throw new VerdictError(bad);
  }

  /** A staged program between GPUs whose direct path is known not to work says so. */
  #stagedBecause(program: Program): string[] {
    const cells = program.gpus.flatMap((from) =>
      program.gpus.filter((to) => to !== from).map((to): Cell => ({ from, to, allocator: "malloc" })),
    );
    return cells.flatMap((cell) => {
      const verdict = this.#prober.known(cell);
      if (!verdict || verdict.outcome === "ok") return [];
      return [`host-staged: GPU ${cell.from} → GPU ${cell.to} is ${verdict.outcome} at ${verdict.stage}`];
    });
  }
}

/** With the switch off, the program without peer access; otherwise as it is. */
function switched(program: Program): Admitted {
  if (!peerAccessOff()) return { program, warnings: [] };
  const [first] = program.data.operations;
  if (first?.op === "setup" && first.peer !== undefined && first.peer !== first.gpu) {
    throw refused(`set-up "${first.kind}" between GPUs needs peer access`);
  }
  if (program.kind === "probe" && program.pairs.length > 0) {
    throw refused("a probe of another GPU's memory needs peer access");
  }
  if (program.kind !== "transfer" || !program.data.peerAccess || program.gpus.length < 2) {
    return { program, warnings: [] };
  }
  const kernel = (program.data.operations as readonly StepOperation[]).find(
    (o) => o.op === "put" || o.op === "receive" || (o.op === "copy" && o.engine !== undefined),
  );
  if (kernel) throw refused(`${kernel.op} by a kernel between GPUs needs peer access`);
  return {
    program: program.peerAccess(false),
    warnings: ["host-staged: P2PLAB_P2P=off turns peer access off for every transfer"],
  };
}

function refused(why: string): P2pError {
  return new P2pError(
    "not-available",
    `${why}, and P2PLAB_P2P=off turns it off`,
    "Unset P2PLAB_P2P, or use copies by copy engine, which the driver stages through the host.",
  );
}

/** The pairs of a program, once for each allocator of the memory that they join. */
function cellsOf(program: Program): Cell[] {
  const cells = new Map<string, Cell>();
  for (const { from, to } of program.pairs) {
    // Of a probe the kernel's GPU comes first, whichever way its bytes go.
    const ways =
      program.kind === "probe"
        ? [
            { from, to },
            { from: to, to: from },
          ]
        : [{ from, to }];
    for (const way of ways) {
      for (const allocator of allocatorsOn(program, [from, to])) {
        const cell = { ...way, allocator };
        cells.set(keyOf(cell), cell);
      }
    }
  }
  return [...cells.values()];
}

function allocatorsOn(program: Program, gpus: readonly number[]): Set<Allocator> {
  return new Set(
    program.data.buffers.flatMap(({ place }) =>
      // What another process owns it has by cuMemAlloc.
      "gpu" in place && gpus.includes(place.gpu)
        ? [place.allocator === "ipc" || !place.allocator ? "malloc" : place.allocator]
        : [],
    ),
  );
}

/** All other pairs of a small machine, in the memory that the program uses. */
function besides(needed: readonly Cell[], gpus: number): Cell[] {
  if (gpus > ALL_AT_ONCE) return [];
  const wanted = new Set(needed.map(keyOf));
  const allocators = new Set(needed.map((cell) => cell.allocator));
  return pairsOf(gpus)
    .flatMap((pair) => [...allocators].map((allocator) => ({ ...pair, allocator })))
    .filter((cell) => !wanted.has(keyOf(cell)));
}

/** Every ordered pair of so many GPUs. */
export function pairsOf(gpus: number): { from: number; to: number }[] {
  const ordinals = Array.from({ length: gpus }, (_, gpu) => gpu);
  return ordinals.flatMap((from) => ordinals.filter((to) => to !== from).map((to) => ({ from, to })));
}

function keyOf({ from, to, allocator }: Cell): string {
  return `${from}>${to} ${allocator}`;
}
