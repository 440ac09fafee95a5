/** What is to be moved: the messages of one iteration, what is computed beside them, and who waits. */
import { P2pError, shown } from "../../errors.js";
import { expectNames, expectOptions } from "../../measure/expect.js";
import { type Bytes, formatBytes, formatNs, parseBytes } from "../../units.js";

/** A GPU by its number, or page-locked memory of the host. */
export type End = number | "host";

/**
 * - `one-by-one`: each message is waited for before the next is sent.
 * - `burst`: all are sent, then waited for once.
 * - `stream`: bursts without end; what counts is the time of one of them, not when a single one is complete.
 * - `halo`: each pair exchanges both ways at once.
 * - `all-to-all`, `gather` (to the root), `scatter` (from the root): among `gpus`.
 */
export type Pattern = "one-by-one" | "burst" | "stream" | "halo" | "all-to-all" | "gather" | "scatter";

export const PATTERNS: readonly Pattern[] = [
  "burst",
  "one-by-one",
  "stream",
  "halo",
  "all-to-all",
  "gather",
  "scatter",
];

/** Where the kernel stands to the messages: beside them, before them on their source, after them on their destination. */
export type Relation = "independent" | "produces" | "consumes";

const RELATIONS: readonly Relation[] = ["independent", "produces", "consumes"];

export interface WorkloadOptions {
  /** Default `burst`. */
  pattern?: Pattern;
  /** Data flows from → to; defaults 0 and 1. A GPU may be both ends: a copy within its memory. */
  from?: End;
  to?: End;
  /** Several pairs, instead of `from` and `to`. */
  pairs?: readonly (readonly [from: End, to: End])[];
  /** Of the patterns among many; the root is the first unless `root` names another. */
  gpus?: readonly number[];
  root?: number;
  /** Of a message; of several, one size after the other. */
  bytes: Bytes | readonly Bytes[];
  /** Messages of each size and pair; default 1. */
  count?: number;
  /** The messages of a pair lie end to end at both ends, so that one copy may move them all; default false. */
  contiguous?: boolean;
  /**
   * A kernel of known duration on every source (`consumes`: every destination), once an iteration: default relation
   * `independent`. It may be cut into up to `parts` kernels (default 1), each for its share of the messages.
   */
  compute?: { us: number; relation?: Relation; parts?: number };
  /** `peer`: the receiving GPU goes on with a kernel, an empty one unless it `consumes`; default `host`. */
  waits?: "host" | "peer";
}

export const WORKLOAD_OPTIONS: readonly (keyof WorkloadOptions)[] = [
  "pattern",
  "from",
  "to",
  "pairs",
  "gpus",
  "root",
  "bytes",
  "count",
  "contiguous",
  "compute",
  "waits",
];

/** One way between two ends; all its messages lie in one buffer at either end. */
export interface Route {
  readonly from: End;
  readonly to: End;
  /** Of the buffers. */
  readonly bytes: number;
}

export interface Message {
  /** Index in {@link Workload.routes}. */
  readonly route: number;
  readonly offset: number;
  readonly bytes: number;
}

export interface Workload {
  readonly pattern: Pattern;
  readonly routes: readonly Route[];
  /** In the order in which they are sent. Messages of one step may be sent together. */
  readonly steps: readonly (readonly Message[])[];
  readonly contiguous: boolean;
  readonly compute: { readonly ns: number; readonly relation: Relation; readonly parts: number } | null;
  readonly waits: "host" | "peer";
  /** What is timed: an iteration by itself, or one of many back to back. */
  readonly mode: "latency" | "throughput";
}

/** More messages than this would time the queue of a stream. */
const MOST_MESSAGES = 256;
/** Messages that are not contiguous begin on this boundary, as memory of their own would. */
const ALIGNMENT_BYTES = 256;

/** @throws P2pError `usage` for options that do not exist, exclude each other or make no sense. */
export function workloadOf(options: WorkloadOptions, who: string): Workload {
  expectOptions(options, who);
  const pattern = word("pattern", options.pattern ?? "burst", PATTERNS);
  const waits = word("waits", options.waits ?? "host", ["host", "peer"] as const);
  const { contiguous = false } = options;
  if (typeof contiguous !== "boolean")
    throw usage(`contiguous is ${shown(contiguous)}`, "Give true or false.");
  const ends = endsOf(options, pattern, who);
  const sizes = sizesOf(options.bytes, whole("count", options.count ?? 1, 1, MOST_MESSAGES), who);
  if (sizes.length * ends.length > MOST_MESSAGES) {
    throw usage(
      `${sizes.length} messages on each of ${ends.length} ways are ${sizes.length * ends.length}`,
      `Keep to ${MOST_MESSAGES} an iteration: the time of more follows from theirs.`,
    );
  }
  const compute = computeOf(options.compute);
  requireGpuThatWaits(ends, waits, compute?.relation);
  const offsets = offsetsOf(sizes, contiguous);
  const last = sizes.length - 1;
  const bytes = (offsets[last] as number) + (sizes[last] as number);
  const rounds = sizes.map((size, index) =>
    ends.map((_, route): Message => ({ route, offset: offsets[index] as number, bytes: size })),
  );
  return {
    pattern,
    routes: ends.map(([from, to]) => ({ from, to, bytes })),
    steps: pattern === "one-by-one" ? rounds : [rounds.flat()],
    contiguous,
    compute,
    waits,
    mode: pattern === "stream" ? "throughput" : "latency",
  };
}

export function messagesOf({ steps }: Workload): readonly Message[] {
  return steps.flat();
}

/** Bytes that one iteration delivers. */
export function bytesOf(workload: Workload): number {
  return messagesOf(workload).reduce((sum, message) => sum + message.bytes, 0);
}

/** GPUs on which the kernel of a workload runs. */
export function computeGpus({ routes, compute }: Workload): number[] {
  if (!compute) return [];
  const gpus = routes.map(({ from, to }) => {
    if (compute.relation === "consumes") return to;
    return from === "host" && compute.relation === "independent" ? to : from;
  });
  return [...new Set(gpus)].filter((end) => end !== "host");
}

/** The workload in a line. */
export function describe(workload: Workload): string {
  const { pattern, routes, compute, waits } = workload;
  const counts = new Map<number, number>();
  for (const { bytes } of messagesOf(workload)) counts.set(bytes, (counts.get(bytes) ?? 0) + 1);
  const messages = [...counts].map(([bytes, n]) => `${n} × ${formatBytes(bytes)}`).join(", ");
  const ways =
    routes.length <= 2
      ? routes.map(({ from, to }) => `${nameOf(from)} → ${nameOf(to)}`).join(", ")
      : `${routes.length} ways`;
  const kernel = compute ? `, ${compute.relation} kernel of ${formatNs(compute.ns)}` : "";
  return `${pattern}: ${messages} over ${ways}${kernel}, ${waits === "peer" ? "the receiving GPU" : "the host"} waits`;
}

export function nameOf(end: End): string {
  return end === "host" ? "host" : `GPU ${end}`;
}

function endsOf(options: WorkloadOptions, pattern: Pattern, who: string): (readonly [End, End])[] {
  const among = pattern === "all-to-all" || pattern === "gather" || pattern === "scatter";
  const given = (["from", "to", "pairs", "gpus", "root"] as const).filter(
    (name) => options[name] !== undefined,
  );
  const wrong = given.find((name) => (name === "gpus" || name === "root") !== among);
  if (wrong) {
    throw usage(
      `pattern "${pattern}" takes no ${wrong}`,
      among ? "Give gpus: [0, 1, …], and root of gather and scatter." : "Give from and to, or pairs.",
    );
  }
  if (among) return amongOf(options, pattern, who);
  if (options.pairs !== undefined && (options.from !== undefined || options.to !== undefined)) {
    throw usage("pairs together with from or to", "Give one of them.");
  }
  const list: unknown = options.pairs ?? [[options.from ?? 0, options.to ?? 1]];
  if (
    !Array.isArray(list) ||
    list.length === 0 ||
    list.some((pair) => !Array.isArray(pair) || pair.length !== 2)
  ) {
    throw usage(
      "pairs is no list of pairs",
      "Give pairs: [[0, 1], [1, 0]]; data flows from the first to the second.",
    );
  }
  const pairs = list.map(([from, to]): readonly [End, End] => [endOf(from), endOf(to)]);
  for (const [from, to] of pairs) {
    if (from === "host" && to === "host") throw usage("a message from the host to itself", "Name a GPU.");
    if (from === to && pattern === "halo") {
      throw usage(`GPU ${from} exchanges with itself`, "Name two different ends.");
    }
  }
  const ways =
    pattern === "halo"
      ? pairs.flatMap(
          ([from, to]) =>
            [
              [from, to],
              [to, from],
            ] as const,
        )
      : pairs;
  if (new Set(ways.map(String)).size < ways.length) {
    throw usage("a pair is named twice", "Name each once, and say with count how many messages it carries.");
  }
  return ways;
}

function amongOf(options: WorkloadOptions, pattern: Pattern, who: string): (readonly [End, End])[] {
  const gpus: unknown = options.gpus;
  if (!Array.isArray(gpus) || gpus.length < 2) {
    throw usage(
      `${who} needs gpus for pattern "${pattern}"`,
      "Give at least two, such as gpus: [0, 1, 2, 3].",
    );
  }
  const all = gpus.map((gpu) => whole("gpus", gpu, 0, 4095));
  if (new Set(all).size < all.length) throw usage("a GPU is named twice in gpus", "Name each once.");
  const root = options.root ?? (all[0] as number);
  if (!all.includes(root))
    throw usage(`root ${shown(root)} is not among gpus`, `Choose one of ${all.join(", ")}.`);
  if (pattern === "all-to-all") {
    if (options.root !== undefined) throw usage("an all-to-all has no root", "Leave root out.");
    // Rotated, so that no destination is everybody's first.
    return all.flatMap((_, shift) =>
      shift === 0 ? [] : all.map((from, i) => [from, all[(i + shift) % all.length] as number] as const),
    );
  }
  const others = all.filter((gpu) => gpu !== root);
  return others.map((gpu) => (pattern === "gather" ? [gpu, root] : [root, gpu]) as [End, End]);
}

function sizesOf(bytes: unknown, count: number, who: string): number[] {
  const list = (Array.isArray(bytes) ? bytes : [bytes]) as Bytes[];
  if (list.length === 0 || bytes === undefined) {
    throw usage(`${who} was given no bytes`, 'Give the size of a message, such as bytes: "64 KiB".');
  }
  if (list.length > MOST_MESSAGES) throw usage(`${list.length} sizes`, `Give at most ${MOST_MESSAGES}.`);
  return list.flatMap((size) => new Array<number>(count).fill(parseBytes(size)));
}

function computeOf(compute: unknown): Workload["compute"] {
  if (compute === undefined) return null;
  if (typeof compute !== "object" || compute === null) {
    throw usage("compute is no object", 'Give compute: { us: 50, relation: "independent" }.');
  }
  expectNames(compute, ["us", "relation", "parts"], "compute");
  const { us, relation, parts } = compute as { us: number; relation?: Relation; parts?: number };
  if (!(typeof us === "number" && us >= 0.001 && us <= 1e6)) {
    throw usage(`a kernel of ${shown(us)} µs`, "Give a duration from 0.001 to 1000000 µs.");
  }
  return {
    ns: Math.round(us * 1e3),
    relation: word("relation", relation ?? "independent", RELATIONS),
    parts: whole("parts", parts ?? 1, 1, 64),
  };
}

function requireGpuThatWaits(
  ends: readonly (readonly [End, End])[],
  waits: "host" | "peer",
  relation: Relation | undefined,
): void {
  if (waits === "peer" && ends.some(([, to]) => to === "host")) {
    throw usage("a GPU waits for messages that go to the host", 'Say waits: "host".');
  }
  if (relation === "consumes" && ends.some(([, to]) => to === "host")) {
    throw usage("a kernel consumes messages that go to the host", "Let the messages go to a GPU.");
  }
  if (relation === "produces" && ends.some(([from]) => from === "host")) {
    throw usage("a kernel produces messages that come from the host", "Let the messages come from a GPU.");
  }
}

function offsetsOf(sizes: readonly number[], contiguous: boolean): number[] {
  let next = 0;
  return sizes.map((size) => {
    const offset = next;
    next += contiguous ? size : Math.ceil(size / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    return offset;
  });
}

function endOf(value: unknown): End {
  if (value === "host") return value;
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < 4096) return value as number;
  throw usage(`no end ${shown(value)}`, 'Name a GPU by its number from 0, or "host" for page-locked memory.');
}

function whole(name: string, value: unknown, least: number, most: number): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most)
    return value as number;
  throw usage(`${name} is ${shown(value)}`, `Give a whole number from ${least} to ${most}.`);
}

function word<W extends string>(option: string, value: W, words: readonly W[]): W {
  if (words.includes(value)) return value;
  throw usage(`no ${option} ${shown(value)}`, `Choose one of: ${words.join(", ")}.`);
}

function usage(message: string, hint: string): P2pError {
  return new P2pError("usage", message, hint);
}
