/** The rungs that need the GPUs. Runs in the child process only: a bad link may hang or break whoever climbs. */
import { loadAddon, type NativeAddon, type NativeCheck, type NativeExecutor } from "../../native.js";
import type { Allocator, CopyEngine, ProbeOperation } from "../../operations.js";
import { type Program, program } from "../../program.js";
import type { Stage } from "../../verdict.js";
import { makeContexts } from "../cuda-contexts.js";
import { failureOf } from "../cuda-probe.js";
import { probeRowsOf } from "../cuda-probe-rows.js";
import { nativeProgramOf } from "../cuda-program.js";
import { type AddonError, type Finding, findingOfBytes, findingOfError } from "./findings.js";

/** Large enough to be cut into many packets, small enough that comparing it on the host takes a millisecond. */
const BYTES = 2 ** 20;
/** What one iteration may take: hundreds of times what the slowest link needs for it. */
const RUN_MS = 2000;
/** What all flags of a game may take: each is an access of its own, which takes milliseconds where the GPUs or their host are busy. */
const GAME_MS = 5000;
/** Flags that go to and fro. */
const ROUNDS = 100;
/** What a rung may take besides: its memory, the comparison, a driver that is slow to answer. */
const RUNG_MS = 10_000;
/** Making the contexts of two GPUs; minutes without persistence mode have been seen where many GPUs wake up. */
const CONTEXTS_MS = 60_000;

/** One ordered pair in one allocator's memory; GPUs by UUID, for two processes may number them differently. */
export interface Climb {
  readonly from: string;
  readonly to: string;
  readonly allocator: Allocator;
}

/** Said before each rung; `withinMs` is how long it may take. */
export interface Rung {
  readonly stage: Stage;
  readonly withinMs: number;
}

type Say = (rung: Rung) => void;

/** Climbs until a rung does not hold. Null: all hold. Never throws. */
export async function climb(request: Climb, say: Say): Promise<Finding | null> {
  const found = await enter(request, say);
  if ("outcome" in found) return found;
  const { addon, from, to } = found;
  const rungs: [Stage, (stage: Stage) => Promise<Finding | null>][] = [
    ["copy-engine write", (stage) => write(addon, from, to, request.allocator, "copy-engine", stage)],
    ["copy-engine read", (stage) => read(addon, from, to, request.allocator, "copy-engine", stage)],
    ["kernel write", (stage) => write(addon, from, to, request.allocator, "kernel-write", stage)],
    ["kernel read", (stage) => read(addon, from, to, request.allocator, "kernel-read", stage)],
    ["put", (stage) => put(addon, from, to, request.allocator, stage)],
    ["ping-pong", (stage) => pingPong(addon, from, to, request.allocator, stage)],
  ];
  for (const [stage, run] of rungs) {
    say({ stage, withinMs: (stage === "ping-pong" ? GAME_MS : RUN_MS) + RUNG_MS });
    const finding = await caught(stage, () => run(stage));
    if (finding) return finding;
  }
  return await caught("mapping", async () => {
    // Peers that no pair uses any more would use up a GPU's mappings where there are many.
    addon.disablePeer(from, to);
    addon.disablePeer(to, from);
    return null;
  });
}

/**
 * The control of a rung that failed: the same bytes with peer access off, so that the driver stages them through the host.
 * Null: they arrive.
 */
export async function control(request: Climb, say: Say): Promise<Finding | null> {
  const found = await enter(request, say);
  if ("outcome" in found) return found;
  const { addon, from, to } = found;
  const stage = "copy-engine write";
  say({ stage, withinMs: RUN_MS + RUNG_MS });
  return await caught(stage, async () => {
    const staged = pair(from, to, "malloc")
      .stream("s", { gpu: from })
      .copy("s", "src", "dst", { api: "peer" })
      .sync("s", "spin")
      .peerAccess(false);
    return findingOfBytes(stage, checkOf(await verified(addon, staged), 1), null);
  });
}

/** Finds the GPUs and makes their contexts. */
async function enter(
  request: Climb,
  say: Say,
): Promise<Finding | { addon: NativeAddon; from: number; to: number }> {
  let stage: Stage = "start";
  say({ stage, withinMs: CONTEXTS_MS });
  try {
    const addon = loadAddon();
    const uuids = addon.devices().map((device) => device.uuid);
    const [from, to] = [uuids.indexOf(request.from), uuids.indexOf(request.to)];
    const unseen = [request.from, request.to].find((_, i) => [from, to][i] === -1);
    if (unseen !== undefined) {
      const reason = `the probe's process does not see the GPU ${unseen}`;
      return { outcome: "inconclusive", stage: "start", reason, poisoned: false };
    }
    stage = "mapping";
    say({ stage, withinMs: CONTEXTS_MS });
    await makeContexts(addon, [from, to]);
    return { addon, from, to };
  } catch (error) {
    return findingOfError(stage, error as AddonError);
  }
}

/** The source GPU writes into the memory of the other. */
async function write(
  addon: NativeAddon,
  from: number,
  to: number,
  allocator: Allocator,
  engine: CopyEngine,
  stage: Stage,
): Promise<Finding | null> {
  const written = pair(from, to, allocator).stream("s", { gpu: from }).copy("s", "src", "dst", { engine });
  const found = checkOf(await verified(addon, written.sync("s", "spin")), 1);
  const lost = found.sentinelBytes === found.bytes;
  // Only now, for reading back goes the other way, which may have a fault of its own.
  return findingOfBytes(
    stage,
    found,
    lost ? await writersView(addon, written, from, allocator, engine) : null,
  );
}

/**
 * What the writer sees through its own window: it never counts for arrival, but tells a window that mirrors from one that
 * loses. Null when it cannot be had.
 */
async function writersView(
  addon: NativeAddon,
  written: Program,
  from: number,
  allocator: Allocator,
  engine: CopyEngine,
): Promise<NativeCheck | null> {
  const back = written
    .buffer("back", { gpu: from, bytes: BYTES, allocator })
    .copy("s", "dst", "back", { engine: engine === "copy-engine" ? engine : "kernel-read" })
    .sync("s", "spin");
  return await verified(addon, back).then(
    (checks) => checkOf(checks, 2),
    () => null,
  );
}

/** The destination GPU reads out of the memory of the other. */
async function read(
  addon: NativeAddon,
  from: number,
  to: number,
  allocator: Allocator,
  engine: CopyEngine,
  stage: Stage,
): Promise<Finding | null> {
  const fetched = pair(from, to, allocator)
    .stream("s", { gpu: to })
    .copy("s", "src", "dst", { engine })
    .sync("s", "spin");
  return findingOfBytes(stage, checkOf(await verified(addon, fetched), 1), null);
}

/** A kernel of the source GPU puts bytes and then a flag; a resident kernel of the other waits for the flag. */
async function put(
  addon: NativeAddon,
  from: number,
  to: number,
  allocator: Allocator,
  stage: Stage,
): Promise<Finding | null> {
  const sent = pair(from, to, allocator)
    .buffer("flag", { gpu: to, bytes: 8, allocator })
    .stream("sender", { gpu: from })
    .stream("receiver", { gpu: to })
    .receive("receiver", "dst", { protocol: "flag", flag: "flag", bytes: BYTES })
    .put("sender", "src", "dst", { protocol: "flag", flag: "flag", bytes: BYTES })
    .sync("sender", "spin")
    .sync("receiver", "spin");
  return findingOfBytes(stage, checkOf(await verified(addon, sent), 1), null);
}

/** Two resident kernels answer each other's flags, each in the memory of the GPU that polls it. */
async function pingPong(
  addon: NativeAddon,
  from: number,
  to: number,
  allocator: Allocator,
  stage: Stage,
): Promise<Finding | null> {
  const game = program()
    .buffer("flag", { gpu: from, bytes: 8, allocator })
    .buffer("otherFlag", { gpu: to, bytes: 8, allocator })
    .stream("s", { gpu: from })
    .stream("t", { gpu: to })
    .probePingPong("s", "t", { flag: "flag", otherFlag: "otherFlag" }, { rounds: ROUNDS });
  const operation = game.data.operations[0] as ProbeOperation;
  const probe = await prepared(() =>
    addon.prepareProbe(probeRowsOf(game, operation, (a, b) => addon.peer(a, b).access)),
  );
  try {
    const { sides } = await probe.measure(1, GAME_MS);
    const lost = failureOf(sides);
    if (lost === null) return null;
    const alone = sides.some((side) => side.state === "alone" || side.state === "never-ran");
    const reason = `${lost} (kernel 0 runs on the source GPU, kernel 1 on the destination GPU)`;
    return { outcome: alone ? "inconclusive" : "hang", stage, reason, poisoned: true };
  } finally {
    probe.close();
  }
}

function pair(from: number, to: number, allocator: Allocator): Program {
  return program()
    .buffer("src", { gpu: from, bytes: BYTES, allocator })
    .buffer("dst", { gpu: to, bytes: BYTES, allocator });
}

async function verified(addon: NativeAddon, wanted: Program): Promise<NativeCheck[]> {
  const executor = await ready(addon, wanted);
  try {
    return await executor.verify(RUN_MS);
  } finally {
    executor.close();
  }
}

function ready(addon: NativeAddon, wanted: Program): Promise<NativeExecutor> {
  return prepared(() => addon.prepare(nativeProgramOf(wanted.validate(), (a, b) => addon.peer(a, b).access)));
}

/** Memory and access are of the rung before, whichever rung needs them. */
async function prepared<T>(prepare: () => Promise<T>): Promise<T> {
  try {
    return await prepare();
  } catch (error) {
    throw new NotReady(findingOfError("mapping", error as AddonError));
  }
}

/** Carries what {@link prepared} found out of the rung that asked for it. */
class NotReady extends Error {
  constructor(readonly finding: Finding) {
    super(finding.reason);
  }
}

function checkOf(checks: readonly NativeCheck[], buffer: number): NativeCheck {
  const found = checks.find((check) => check.buffer === buffer);
  if (!found) throw new Error(`the addon checked no buffer ${buffer}`);
  return found;
}

async function caught(stage: Stage, run: () => Promise<Finding | null>): Promise<Finding | null> {
  try {
    return await run();
  } catch (error) {
    return error instanceof NotReady ? error.finding : findingOfError(stage, error as AddonError);
  }
}
