import type { Allocator } from "../../operations.js";
import type { Verdict } from "../../verdict.js";
import { ChildGone, KillableChild } from "../children/killable-child.js";
import { throwIfCancelled } from "../cuda-calls.js";
import { adviceFor, surroundings } from "./advice.js";
import type { ClimbRequest } from "./child.js";
import type { Finding } from "./findings.js";
import type { Climb, Rung } from "./ladder.js";

/** Of a process, until it says its first word. */
const START_MS = 30_000;
const END_MS = 5000;

/** An ordered pair and where its memory comes from. */
export interface Cell {
  readonly from: number;
  readonly to: number;
  readonly allocator: Allocator;
}

/** What the prober needs to know of the machine. */
export interface Ground {
  /** UUID of a GPU. */
  uuid(gpu: number): string;
  /** Why the driver grants no access to one of the two, in words; null when it grants it both ways. */
  denied(from: number, to: number): string | null;
}

/**
 * Climbs the ladder for pairs of GPUs, each verdict once: in a process of its own, which is ended and replaced when a rung
 * does not hold, so that one bad pair changes nothing for the others and nothing for this process.
 */
export class Prober {
  readonly #ground: Ground;
  readonly #callMs: number;
  readonly #verdicts = new Map<string, Verdict>();
  readonly #staged = new Map<string, Finding | null>();
  #child: KillableChild | null = null;
  #ending: Promise<void> = Promise.resolve();

  /** @param callMs how long the driver may take to start and to make its contexts; by default as long as it ever takes. */
  constructor(ground: Ground, callMs = Number.POSITIVE_INFINITY) {
    this.#ground = ground;
    this.#callMs = callMs;
  }

  /** Takes over a process that {@link probeProcess} started, for the first verdicts; ends one that it has no use for. */
  adopt(child: KillableChild): void {
    if (this.#child) void child.kill();
    else this.#child = child;
  }

  /** Ends a process that was never asked. */
  async close(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    await child?.kill();
    await this.#ending;
  }

  /** What is known of a cell; null before it was asked for. */
  known(cell: Cell): Verdict | null {
    return this.#verdicts.get(this.#key(cell)) ?? null;
  }

  /**
   * Verdicts of cells, from the first to the last; those that are known are not asked for again. The process that found them
   * may still be ending then: see {@link ended}.
   * @param goOn asked after each verdict; false ends the list there.
   * @throws P2pError `cancelled`.
   */
  async verdicts(
    cells: readonly Cell[],
    signal?: AbortSignal,
    goOn: (verdict: Verdict) => boolean = () => true,
  ): Promise<Verdict[]> {
    const all: Verdict[] = [];
    const cancel = () => void this.#child?.kill();
    signal?.addEventListener("abort", cancel);
    try {
      for (const cell of cells) {
        throwIfCancelled(signal);
        const verdict = this.known(cell) ?? (await this.#climb(cell, signal));
        this.#verdicts.set(this.#key(cell), verdict);
        all.push(verdict);
        if (!goOn(verdict)) break;
      }
      return all;
    } finally {
      signal?.removeEventListener("abort", cancel);
      if (this.#child) this.#ending = this.#child.finish(END_MS);
      this.#child = null;
    }
  }

  /** Resolves when no process of the ladder is left: its contexts would lie in the way of what is measured next. */
  async ended(): Promise<void> {
    await this.#ending;
  }

  async #climb(cell: Cell, signal: AbortSignal | undefined): Promise<Verdict> {
    const denied = this.#ground.denied(cell.from, cell.to);
    if (denied !== null) {
      return verdictOf(cell, { outcome: "no-p2p", stage: "capability", reason: denied, poisoned: false });
    }
    const finding = await this.#ask("climb", cell);
    throwIfCancelled(signal);
    if (!finding) return verdictOf(cell, null);
    const lost = finding.outcome === "broken" || finding.outcome === "mirror" || finding.outcome === "hang";
    // Where the GPUs' contexts are not made, nothing gets through the host either.
    if (!lost || finding.stage === "mapping") return verdictOf(cell, finding);
    const staged = await this.#control(cell);
    throwIfCancelled(signal);
    const said = staged
      ? `; the same bytes do not arrive when the driver stages them through the host either (${staged.reason})`
      : "; the same bytes arrive when the driver stages them through the host: the direct path alone is at fault";
    return verdictOf(cell, { ...finding, reason: finding.reason + said });
  }

  /** Whether the bytes of a pair arrive through the host: asked once, whatever the memory. */
  async #control(cell: Cell): Promise<Finding | null> {
    const plain: Cell = { ...cell, allocator: "malloc" };
    const known = this.#staged.get(this.#key(plain));
    if (known !== undefined) return known;
    const finding = await this.#ask("control", plain);
    this.#staged.set(this.#key(plain), finding);
    return finding;
  }

  /** Asks the child, and replaces it when it may not go on. */
  async #ask(what: ClimbRequest["do"], cell: Cell): Promise<Finding | null> {
    this.#child ??= probeProcess();
    const climb: Climb = {
      from: this.#ground.uuid(cell.from),
      to: this.#ground.uuid(cell.to),
      allocator: cell.allocator,
    };
    const startMs = Math.min(START_MS, this.#callMs);
    let rung: Rung = { stage: "start", withinMs: startMs };
    let finding: Finding | null;
    try {
      finding = (await this.#child.request({ do: what, ...climb }, startMs, (note) => {
        const { stage, withinMs } = note as Rung;
        const calls = stage === "start" || stage === "mapping";
        rung = { stage, withinMs: calls ? Math.min(withinMs, this.#callMs) : withinMs };
        return rung.withinMs;
      })) as Finding | null;
    } catch (error) {
      finding = findingOfDeath(rung, error);
    }
    if (finding?.poisoned) {
      await this.#child.kill();
      this.#child = null;
    }
    return finding;
  }

  #key({ from, to, allocator }: Cell): string {
    return `${this.#ground.uuid(from)}>${this.#ground.uuid(to)} ${allocator}`;
  }
}

/** A process that climbs, and wakes the driver meanwhile: it holds no GPU before it is asked. */
export function probeProcess(): KillableChild {
  return new KillableChild(new URL("./child.js", import.meta.url));
}

/** What it means that the child did not answer. */
function findingOfDeath({ stage, withinMs }: Rung, error: unknown): Finding {
  if (error instanceof ChildGone && error.why === "deadline") {
    // A process that does not even start says nothing of the link.
    const outcome = stage === "start" ? "inconclusive" : "hang";
    const reason = `the probe's process did not answer within ${withinMs} ms and was ended`;
    return { outcome, stage, reason, poisoned: true };
  }
  const why = error instanceof Error ? error.message : String(error);
  return { outcome: "inconclusive", stage, reason: `the probe's process ended: ${why}`, poisoned: true };
}

function verdictOf({ from, to, allocator }: Cell, finding: Finding | null): Verdict {
  if (!finding) {
    return {
      from,
      to,
      allocator,
      outcome: "ok",
      stage: "ping-pong",
      reason:
        "every byte and every flag arrived, seen by the GPU that owns the memory and by the host through it",
      next: "",
    };
  }
  const { outcome, stage, reason } = finding;
  return { from, to, allocator, outcome, stage, reason, next: adviceFor(outcome, stage, surroundings()) };
}
