/** The cells of a matrix: which program each pair runs, what it is called, and why some run none. */
import { P2pError, shown } from "../errors.js";
import type { Machine, PairInfo } from "../machine.js";
import type { Allocator, CopyEngine, Program, SyncMethod } from "../program.js";
import { program } from "../program.js";
import type { Verdict } from "../verdict.js";
import { type Direction, type Initiator, type Path, transfer } from "./transfer.js";

export type MatrixMetric = "latency" | "bandwidth" | "load-latency";

export const MATRIX_METRICS: readonly MatrixMetric[] = ["latency", "bandwidth", "load-latency"];

/** What all cells of a matrix share. */
export interface MatrixPlan {
  readonly metric: MatrixMetric;
  readonly bytes: number;
  readonly path: Path;
  readonly engine: CopyEngine;
  readonly initiator: Initiator | undefined;
  readonly direction: Direction;
  readonly sync: SyncMethod;
  readonly allocator: Allocator;
}

export interface MatrixCell {
  readonly from: number;
  readonly to: number;
  /** `local` on the diagonal, `host-staged` where the direct path was asked for and does not work. */
  readonly path: Path | "local" | "host-staged" | null;
  readonly verdict: Verdict["outcome"] | null;
  readonly initiatorGpu: number;
  /** Null where there is nothing to run; `reason` says why. */
  readonly program: Program | null;
  /** Why the cell is host-staged, or holds nothing. */
  readonly reason: string | null;
}

/** Verdicts by pair, where the machine climbs the ladder. */
export type Verdicts = ReadonlyMap<string, Verdict>;

export function pairKey(from: number, to: number): string {
  return `${from}>${to}`;
}

/** @throws P2pError `usage` for options that exclude each other. */
export function matrixCell(
  machine: Machine,
  plan: MatrixPlan,
  from: number,
  to: number,
  verdicts: Verdicts,
): MatrixCell {
  const cell = { from, to, verdict: null, initiatorGpu: initiatorOf(plan, from, to), reason: null };
  if (from === to) return { ...cell, path: "local", program: localProgram(plan, from) };
  const direct = plan.path === "peer" || plan.metric === "load-latency";
  const blocked = direct ? whyNotDirect(machine, plan, from, to, verdicts) : null;
  const verdict = verdicts.get(pairKey(from, to))?.outcome ?? null;
  if (plan.metric === "load-latency") {
    const program = blocked ? null : loadProgram(plan, from, to);
    return { ...cell, verdict, path: blocked ? null : "peer", program, reason: blocked };
  }
  if (!blocked) return { ...cell, verdict, path: plan.path, program: copyProgram(plan, from, to, plan.path) };
  if (plan.engine !== "copy-engine") {
    return { ...cell, verdict, path: null, program: null, reason: blocked };
  }
  return {
    ...cell,
    verdict,
    path: "host-staged",
    program: copyProgram(plan, from, to, "driver-staged"),
    reason: blocked,
  };
}

function initiatorOf(plan: MatrixPlan, from: number, to: number): number {
  if (plan.metric === "load-latency" || plan.engine === "kernel-read") return to;
  return plan.initiator === "destination" ? to : from;
}

/** Why a pair must not be measured as P2P; null when it may. With traffic both ways, the way back counts too. */
function whyNotDirect(
  machine: Machine,
  plan: MatrixPlan,
  from: number,
  to: number,
  verdicts: Verdicts,
): string | null {
  const ways =
    plan.direction === "both-ways" || plan.metric === "load-latency"
      ? [
          [from, to],
          [to, from],
        ]
      : [[from, to]];
  for (const [a, b] of ways as [number, number][]) {
    const verdict = verdicts.get(pairKey(a, b));
    if (verdict && verdict.outcome !== "ok") {
      return `GPU ${a} → GPU ${b} is ${verdict.outcome} at ${verdict.stage}: ${verdict.reason}`;
    }
    const info = pairsOf(machine).get(pairKey(a, b));
    if (info && !info.peerAccess)
      return `no peer access from GPU ${a} to GPU ${b}: ${info.reason ?? "refused"}`;
  }
  return null;
}

const pairs = new WeakMap<Machine, Map<string, PairInfo>>();

/** The pairs of a machine, by {@link pairKey}: there are thousands on large ones. */
function pairsOf(machine: Machine): Map<string, PairInfo> {
  const known = pairs.get(machine);
  if (known) return known;
  const found = new Map(machine.info.pairs.map((pair) => [pairKey(pair.from, pair.to), pair]));
  pairs.set(machine, found);
  return found;
}

function copyProgram(plan: MatrixPlan, from: number, to: number, path: Path): Program {
  const { bytes, engine, initiator, direction, sync, allocator } = plan;
  return transfer({
    from,
    to,
    bytes,
    path,
    engine,
    direction,
    sync,
    allocator,
    ...(initiator && { initiator }),
  });
}

/** Dependent loads by GPU `to` from the memory of GPU `from`. */
function loadProgram({ bytes, allocator }: MatrixPlan, from: number, to: number): Program {
  return program()
    .buffer("chain", { gpu: from, bytes, allocator })
    .stream("s", { gpu: to })
    .probeLoad("s", "chain");
}

/** The same within one GPU: a copy in its own memory (read and written), or loads from it. */
function localProgram(plan: MatrixPlan, gpu: number): Program {
  if (plan.metric === "load-latency") return loadProgram(plan, gpu, gpu);
  const { bytes, engine, sync, allocator } = plan;
  return program()
    .buffer("src", { gpu, bytes, allocator })
    .buffer("dst", { gpu, bytes, allocator })
    .stream("s", { gpu })
    .copy("s", "src", "dst", { engine })
    .sync("s", sync);
}

/** @throws P2pError `usage` unless they are different GPUs of the machine. */
export function expectGpus(machine: Machine, asked: readonly number[] | undefined): readonly number[] {
  const all = machine.info.gpus.map((gpu) => gpu.index);
  if (asked === undefined) return all;
  const list: unknown = asked;
  const fits =
    Array.isArray(list) &&
    list.length > 0 &&
    new Set(list).size === list.length &&
    list.every((gpu) => all.includes(gpu as number));
  if (fits) return asked;
  throw new P2pError(
    "usage",
    `lab.matrix: no GPUs ${Array.isArray(list) ? `[${list.map(shown).join(",")}]` : shown(list)} on ${machine.info.name}`,
    `Give different ones of ${all.join(", ")}.`,
  );
}
