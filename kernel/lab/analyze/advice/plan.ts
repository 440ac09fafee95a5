/** How a workload can be moved: the axes of a plan, which plans exist, and which of two is simpler. */
import { P2pError, shown } from "../../errors.js";
import type { MachineInfo } from "../../machine.js";
import { expectNames } from "../../measure/expect.js";
import type { CopyEngine, SyncMethod } from "../../operations.js";
import { type Bytes, formatBytes, parseBytes } from "../../units.js";
import { type End, messagesOf, nameOf, type Workload } from "./workload.js";

/** One choice on each axis. */
export interface Plan {
  /** As in `lab.transfer`; `direct` where one end is the host, or both are one GPU. */
  readonly path: "peer" | "staged" | "driver-staged" | "direct";
  readonly engine: CopyEngine;
  /** Pieces that messages are cut into, bytes; staged pieces leave the host while others arrive. */
  readonly chunk: number | "whole";
  /** Streams of each GPU that copies; messages go to them in turn, or are split when there are fewer. */
  readonly streams: number;
  /** `batch`: copies that follow each other in a stream by one cuMemcpyBatchAsync. */
  readonly submit: "stream" | "graph" | "batch";
  /** How the host waits. */
  readonly sync: SyncMethod;
  /** How the receiving GPU waits: for an event, or for a word that the stream writes into its memory. */
  readonly notify: "event" | "flag";
  /** Where an independent kernel runs: before the copies in their stream, or beside them. */
  readonly kernel: "same-stream" | "own-stream";
  /** Kernels that the one of the workload is cut into. */
  readonly parts: number;
  /** Messages that lie end to end: one by one, or by one copy. */
  readonly messages: "separate" | "fused";
}

export type Axis = keyof Plan;
export type Space = { readonly [A in Axis]: readonly Plan[A][] };

/** What a caller may say of a plan: sizes in any form. */
export type PlanChoice = { readonly [A in Exclude<Axis, "chunk">]?: Plan[A] } & {
  readonly chunk?: Bytes | "whole";
};
export type SpaceChoice = { readonly [A in Exclude<Axis, "chunk">]?: readonly Plan[A][] } & {
  readonly chunk?: readonly (Bytes | "whole")[];
};

/** A part of the space that is left out, and why. */
export interface Excluded {
  readonly what: string;
  readonly reason: string;
}

/** Usual values first: together they make the plan that one writes first. */
const USUAL: { readonly [A in Exclude<Axis, "chunk" | "parts">]: readonly Plan[A][] } = {
  path: ["peer", "staged", "driver-staged", "direct"],
  engine: ["copy-engine", "kernel-write", "kernel-read"],
  streams: [1, 2, 4],
  submit: ["stream", "graph", "batch"],
  sync: ["spin", "yield", "block", "poll-event", "poll-flag"],
  notify: ["event", "flag"],
  kernel: ["same-stream", "own-stream"],
  messages: ["separate", "fused"],
};

export const AXES: readonly Axis[] = [
  "path",
  "engine",
  "chunk",
  "streams",
  "submit",
  "messages",
  "kernel",
  "parts",
  "notify",
  "sync",
];

/** Pieces smaller than this cost more calls than they hide. */
const LEAST_CHUNK = 16 * 1024;
/** Pieces that a message is cut into at the most, and copies of an iteration. */
const MOST_PIECES = 64;
const MOST_COPIES = 512;
const MOST_STREAMS = 16;

/** The values that each axis can take for a workload on a machine, and what is left out. */
export function spaceOf(
  workload: Workload,
  info: MachineInfo,
  choice: SpaceChoice = {},
): { space: Space; excluded: Excluded[] } {
  requireChoice("space", choice);
  const { compute, waits, pattern } = workload;
  const { paths, excluded } = pathsOf(workload, info);
  const many = messagesOf(workload).length > workload.routes.length;
  const own: Space = {
    path: paths,
    engine: USUAL.engine.filter((engine) => workload.routes.every((route) => canMove(engine, route))),
    chunk: ["whole", ...chunksOf(workload)],
    streams: USUAL.streams,
    submit: USUAL.submit.filter((submit) => submit !== "batch" || pattern !== "one-by-one"),
    sync: waits === "peer" || workload.mode === "throughput" ? ["spin"] : USUAL.sync,
    notify: waits === "peer" ? USUAL.notify : ["event"],
    kernel: compute?.relation === "independent" ? USUAL.kernel : ["same-stream"],
    parts: compute && compute.relation !== "independent" ? powers(compute.parts) : [1],
    messages: workload.contiguous && many && pattern !== "one-by-one" ? USUAL.messages : ["separate"],
  };
  const chosen = Object.fromEntries(
    AXES.map((axis) => {
      const wanted = choice[axis] as readonly unknown[] | undefined;
      if (wanted === undefined) return [axis, own[axis]];
      const values = axis === "chunk" ? wanted.map((size) => chunkOf(size)) : wanted;
      const known: readonly unknown[] = own[axis];
      const fits = values.filter((value) => axis === "chunk" || axis === "streams" || known.includes(value));
      if (axis === "streams") for (const value of fits) requireStreams(value);
      if (fits.length > 0) return [axis, fits];
      throw new P2pError(
        "usage",
        `space.${axis} holds nothing that this workload can use`,
        `It can use ${known.join(", ")}.`,
      );
    }),
  );
  return { space: chosen as unknown as Space, excluded };
}

/** The plan that others are held against: the usual value of every axis, unless the caller says otherwise. */
export function naiveOf(space: Space, choice: PlanChoice = {}): Plan {
  requireChoice("naive", choice);
  const usual = Object.fromEntries(
    AXES.map((axis) => {
      // A copy between GPUs without access is what the driver makes of the same call.
      if (axis === "path") {
        const order: Plan["path"][] = ["peer", "driver-staged", "direct", "staged"];
        return [axis, order.find((path) => space.path.includes(path))];
      }
      const values: readonly unknown[] = space[axis];
      const first = axis === "chunk" || axis === "parts" ? undefined : USUAL[axis][0];
      const usualValue = axis === "chunk" ? "whole" : axis === "parts" ? 1 : first;
      return [axis, values.includes(usualValue) ? usualValue : values[0]];
    }),
  ) as unknown as Plan;
  const { chunk, ...rest } = choice;
  for (const [axis, value] of Object.entries(rest)) {
    const words: readonly unknown[] =
      axis === "streams" ? [value] : axis === "parts" ? space.parts : USUAL[axis as keyof typeof USUAL];
    if (axis === "streams") requireStreams(value);
    if (words.includes(value)) continue;
    throw new P2pError("usage", `naive.${axis} is ${shown(value)}`, `Choose one of: ${words.join(", ")}.`);
  }
  return { ...usual, ...rest, ...(chunk === undefined ? {} : { chunk: chunkOf(chunk) }) };
}

/** Every plan of a space that can exist, each once. */
export function plansOf(workload: Workload, space: Space): Plan[] {
  let plans: Partial<Plan>[] = [{}];
  for (const axis of AXES) {
    const values: readonly unknown[] = space[axis];
    plans = plans.flatMap((plan) => values.map((value) => ({ ...plan, [axis]: value })));
  }
  const possible = (plans as Plan[]).filter((plan) => isPossible(workload, plan));
  return [...new Map(possible.map((plan) => [keyOf(plan), plan])).values()];
}

/** Plans that differ from one on one axis alone. */
export function neighboursOf(workload: Workload, space: Space, plan: Plan): Plan[] {
  return AXES.flatMap((axis) => {
    const values: readonly unknown[] = space[axis];
    return values
      .filter((value) => value !== plan[axis])
      .map((value): Plan => ({ ...plan, [axis]: value }))
      .filter((other) => isPossible(workload, other));
  });
}

export function keyOf(plan: Plan): string {
  return AXES.map((axis) => plan[axis]).join(" ");
}

/** Axes on which two plans differ. */
export function differences(a: Plan, b: Plan): Axis[] {
  return AXES.filter((axis) => a[axis] !== b[axis]);
}

/** How much more a plan asks of its reader than the naive one: departures first, then how far they go. */
export function complexity(plan: Plan, naive: Plan): number {
  const { streams, parts } = plan;
  return differences(plan, naive).length + (streams + parts) / 1000;
}

/** The values of a plan on the axes that the space leaves open. */
export function planText(plan: Plan, space: Space): string {
  const told = AXES.filter((axis) => axis === "path" || space[axis].length > 1);
  return told.map((axis) => valueText(axis, plan[axis])).join(", ");
}

export function valueText(axis: Axis, value: Plan[Axis]): string {
  switch (axis) {
    case "chunk":
      return value === "whole" ? "not cut" : `pieces of ${formatBytes(value as number)}`;
    case "streams":
      return `${value} ${value === 1 ? "stream" : "streams"}`;
    case "submit":
      return `submitted by ${value}`;
    case "kernel":
      return `kernel in ${value === "own-stream" ? "a stream of its own" : "the same stream"}`;
    case "parts":
      return value === 1 ? "kernel not cut" : `kernel in ${value} parts`;
    case "notify":
      return `receiver told by ${value}`;
    case "sync":
      return `sync ${value}`;
    case "messages":
      return `messages ${value}`;
    default:
      return String(value);
  }
}

/** Whether copies of a plan are pieces that two streams hand on through the host. */
export function isPipelined(plan: Plan): boolean {
  return plan.path === "staged" && plan.chunk !== "whole";
}

export function copiesOf(workload: Workload, plan: Plan): number {
  const { chunk } = plan;
  const fused = plan.messages === "fused";
  const sizes = fused
    ? workload.routes.map(({ bytes }) => bytes)
    : messagesOf(workload).map(({ bytes }) => bytes);
  return sizes.reduce((sum, bytes) => sum + (chunk === "whole" ? 1 : Math.ceil(bytes / chunk)), 0);
}

function isPossible(workload: Workload, plan: Plan): boolean {
  const { path, engine, chunk, streams, submit, parts, notify } = plan;
  const copies = copiesOf(workload, plan);
  const perRoute = copies / workload.routes.length;
  const largest = largestOf(workload, plan.messages === "fused");
  const hostWaitsBetween = workload.steps.length > 1 && workload.waits === "host";
  if (engine !== "copy-engine" && path !== "peer" && path !== "direct") return false;
  if (copies * streams > MOST_COPIES) return false;
  // Cut pieces that are as large as a message are of use only where two streams hand several of them on.
  if (chunk !== "whole" && (path === "staged" ? perRoute < 2 || chunk > largest : chunk >= largest))
    return false;
  if (streams > 1 && smallestOf(workload) < streams && perRoute < streams) return false;
  // Without access no stream reaches a word in the receiver's memory.
  if (notify === "flag" && path === "driver-staged") return false;
  if (submit === "graph" && (hostWaitsBetween || notify === "flag")) return false;
  if (submit === "batch" && (engine !== "copy-engine" || path === "staged" || path === "driver-staged"))
    return false;
  if (submit === "batch" && perRoute < 2) return false;
  // A kernel that reads is on the destination, away from the stream of an independent kernel on the source.
  const apart =
    engine === "kernel-read" && workload.routes.every(({ from, to }) => from !== "host" && from !== to);
  if (plan.kernel === "same-stream" && workload.compute?.relation === "independent" && apart) return false;
  return parts <= perRoute * streams;
}

function pathsOf(workload: Workload, info: MachineInfo): { paths: Plan["path"][]; excluded: Excluded[] } {
  const between = workload.routes.filter(({ from, to }) => from !== "host" && to !== "host" && from !== to);
  if (between.length === 0) return { paths: ["direct"], excluded: [] };
  const refused = between.flatMap(({ from, to }) => {
    const pair = info.pairs.find((one) => one.from === from && one.to === to);
    return pair && !pair.peerAccess
      ? [`${nameOf(from)} → ${nameOf(to)}: ${pair.reason ?? "no peer access"}`]
      : [];
  });
  if (refused.length === 0) return { paths: ["peer", "staged", "driver-staged"], excluded: [] };
  return {
    paths: ["driver-staged", "staged"],
    excluded: [{ what: "path peer", reason: refused[0] as string }],
  };
}

/** A kernel runs where it writes from, or reads to; it cannot run on the host. */
function canMove(engine: CopyEngine, { from, to }: { from: End; to: End }): boolean {
  if (engine === "copy-engine") return true;
  return engine === "kernel-write" ? from !== "host" : to !== "host";
}

/** Powers of two, and for several messages the whole of one. */
function chunksOf(workload: Workload): number[] {
  const largest = largestOf(workload, false);
  const chunks: number[] = [];
  for (let chunk = LEAST_CHUNK; chunk < largest; chunk *= 2) {
    if (largest / chunk <= MOST_PIECES) chunks.push(chunk);
  }
  return messagesOf(workload).length > workload.routes.length ? [...chunks, largest] : chunks;
}

function largestOf(workload: Workload, fused: boolean): number {
  return Math.max(...(fused ? workload.routes : messagesOf(workload)).map(({ bytes }) => bytes));
}

function smallestOf(workload: Workload): number {
  return Math.min(...messagesOf(workload).map(({ bytes }) => bytes));
}

function powers(most: number): number[] {
  const list: number[] = [];
  for (let value = 1; value < most; value *= 2) list.push(value);
  return [...list, most];
}

function chunkOf(size: unknown): number | "whole" {
  return size === "whole" ? size : parseBytes(size as Bytes);
}

function requireStreams(value: unknown): void {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_STREAMS) return;
  throw new P2pError("usage", `streams is ${shown(value)}`, `Give whole numbers from 1 to ${MOST_STREAMS}.`);
}

function requireChoice(name: string, choice: unknown): void {
  if (typeof choice !== "object" || choice === null) {
    throw new P2pError("usage", `${name} is no object`, `Give ${name}: { sync: …, streams: … }.`);
  }
  expectNames(choice, AXES, `lab.advise, ${name}`);
  if (name !== "space") return;
  const bare = Object.entries(choice).find(([, values]) => !Array.isArray(values));
  if (bare)
    throw new P2pError(
      "usage",
      `space.${bare[0]} is no list`,
      `Give space: { ${bare[0]}: [${shown(bare[1])}] }.`,
    );
}
