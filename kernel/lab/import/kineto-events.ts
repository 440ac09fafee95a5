/** Events of a Kineto trace (torch.profiler) as spans of a timeline. */
import type { CopyKind } from "../timeline.js";
import { apiName, endsOf, isHostSync } from "./cuda-names.js";
import { Lanes } from "./lanes.js";
import type { Skipped } from "./skipped.js";
import { Draft, type TimelineBuilder } from "./timeline-builder.js";
import { type TraceEvent, XlaLanes } from "./xla-events.js";

/** Categories as they are written today, and in traces of before 2022. */
const CATEGORIES: Readonly<
  Record<string, "range" | "api" | "kernel" | "copy" | "memset" | "sync" | "overhead">
> = {
  cpu_op: "range",
  operator: "range",
  user_annotation: "range",
  cuda_runtime: "api",
  cuda_driver: "api",
  runtime: "api",
  driver: "api",
  kernel: "kernel",
  gpu_memcpy: "copy",
  memcpy: "copy",
  gpu_memset: "memset",
  memset: "memset",
  cuda_sync: "sync",
  overhead: "overhead",
};

/** Overheads that only the profiler causes, in Kineto's words. */
const PROFILERS = /buffer|instrument|resource/i;

/** Begun and not ended, of traces that write a begin and an end apart. */
const MOST_OPEN = 10_000;

export class KinetoEvents {
  /** Of the first event, microseconds since the trace's base; times are counted from it, so that nanoseconds stay exact. */
  zeroUs: number | null = null;
  waits = 0;
  /** Lanes of XLA's profiler, whose traces have no categories. */
  readonly xla = new XlaLanes();
  readonly #builder: TimelineBuilder;
  readonly #skipped: Skipped;
  readonly #lanes = new Lanes(false);
  readonly #names = new Map<string, string>();
  readonly #open = new Map<string, { event: TraceEvent; ns: number }[]>();
  readonly #syncs: { name: string; startNs: number; endNs: number; correlation: number }[] = [];
  readonly #draft = new Draft("range");
  #opened = 0;

  constructor(builder: TimelineBuilder, skipped: Skipped) {
    this.#builder = builder;
    this.#skipped = skipped;
  }

  /** @param text of the event: times since 1970 in microseconds lose their nanoseconds as numbers. */
  add(event: TraceEvent, text: string): void {
    const { ph } = event;
    if (ph === "X") {
      const startNs = this.#timeOf(event, text);
      const durationNs = numberOf(event.dur) * 1e3;
      if (startNs === null || !(durationNs >= 0)) this.#skipped.add("events without a time");
      else this.#span(event, startNs, startNs + durationNs);
    } else if (ph === "M") {
      this.xla.name(event);
    } else if (ph === "B" || ph === "E") {
      this.#half(event, this.#timeOf(event, text));
    }
  }

  /** What CUPTI records of waiting; only where the calls themselves were not, as it would count twice. */
  finish(): void {
    if (this.waits === 0) {
      const draft = this.#draft;
      this.#blank("sync");
      for (const sync of this.#syncs) {
        draft.lane = this.#lanes.host(-1, -1);
        Object.assign(draft, sync);
        this.#builder.add(draft);
      }
    }
    if (this.#opened > 0) this.#skipped.add("events that began and did not end", this.#opened);
  }

  #timeOf(event: TraceEvent, text: string): number | null {
    const exact = typeof event.ts === "number" ? partsOf(event.ts, text) : partsOf(numberOf(event.ts), text);
    if (!exact) return null;
    this.zeroUs ??= exact.us;
    return (exact.us - this.zeroUs) * 1e3 + exact.ns;
  }

  #half(event: TraceEvent, ns: number | null): void {
    if (ns === null) {
      this.#skipped.add("events without a time");
      return;
    }
    const key = `${event.pid}\n${event.tid}`;
    const open = this.#open.get(key) ?? [];
    this.#open.set(key, open);
    if (event.ph === "B") {
      if (this.#opened >= MOST_OPEN) return;
      this.#opened++;
      open.push({ event, ns });
      return;
    }
    const begun = open.pop();
    if (!begun) return;
    this.#opened--;
    this.#span({ ...begun.event, args: { ...argsOf(begun.event), ...argsOf(event) } }, begun.ns, ns);
  }

  #span(printed: TraceEvent, startNs: number, endNs: number): void {
    const event = this.xla.translated(printed) ?? printed;
    const category = typeof event.cat === "string" ? event.cat.toLowerCase() : "";
    const kind = Object.hasOwn(CATEGORIES, category) ? CATEGORIES[category] : undefined;
    if (kind === undefined) {
      this.#skipped.add(
        `events of category ${event.cat === undefined ? "none" : JSON.stringify(event.cat).slice(0, 40)}`,
      );
      return;
    }
    const args = argsOf(event);
    const draft = this.#draft;
    this.#blank(kind);
    draft.name = this.#nameOf(event);
    draft.startNs = startNs;
    draft.endNs = endNs;
    draft.correlation = numberOf(args.correlation, 0);
    if (kind === "sync") {
      this.#sync(draft);
      return;
    }
    if (kind === "kernel" || kind === "copy" || kind === "memset") this.#work(event, args);
    else draft.lane = this.#lanes.host(-1, numberOf(event.tid, -1));
    if (kind === "api") {
      draft.name = apiName(draft.name);
      if (isHostSync(draft.name)) {
        draft.kind = "sync";
        this.waits++;
      }
    } else if (kind === "overhead" && PROFILERS.test(draft.name)) {
      draft.name = `profiler: ${draft.name}`;
    }
    if (!this.#builder.add(draft)) this.#skipped.add("events that end before they begin");
  }

  #sync({ name, startNs, endNs, correlation }: Draft): void {
    // A stream that waits does not hold the host.
    if (!/wait/i.test(name)) this.#syncs.push({ name, startNs, endNs, correlation });
  }

  #work(event: TraceEvent, args: Readonly<Record<string, unknown>>): void {
    const draft = this.#draft;
    draft.device = numberOf(args.device, numberOf(args.inDevice, numberOf(event.pid, -1)));
    draft.lane = this.#lanes.stream(-1, draft.device, numberOf(args.stream, numberOf(event.tid, -1)));
    draft.graphNode = numberOf(args["graph node id"], 0) > 0;
    draft.bytes = numberOf(args.bytes, 0);
    if (draft.kind !== "copy") return;
    const [, kind, from, to] = /Memcpy (\w+)(?: \((.+?) -> (.+?)\))?/.exec(draft.name) ?? [];
    draft.copyKind = COPIES.has(kind ?? "") ? (kind as CopyKind) : null;
    draft.memory = from === undefined ? null : this.#interned(`${from} → ${to}`);
    const ends = endsOf(
      draft.copyKind,
      draft.device,
      numberOf(args.fromDevice, -1),
      numberOf(args.toDevice, -1),
    );
    draft.from = ends.from;
    draft.to = ends.to;
    if (draft.copyKind !== null) draft.name = this.#interned(`Memcpy ${draft.copyKind}`);
  }

  /** The draft as a new one would be. */
  #blank(kind: Draft["kind"]): void {
    Object.assign(this.#draft, BLANK, { kind });
  }

  #nameOf({ name }: TraceEvent): string {
    return this.#interned(typeof name === "string" ? name.slice(0, 300) : "unnamed");
  }

  /** One string for all events of a name. */
  #interned(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#names.set(name, name);
    return name;
  }
}

const BLANK = new Draft("range");

const COPIES: ReadonlySet<string> = new Set([
  "HtoD",
  "DtoH",
  "DtoD",
  "PtoP",
  "HtoH",
  "HtoA",
  "AtoH",
  "AtoA",
  "AtoD",
  "DtoA",
]);

/** Microseconds, whole, and the nanoseconds behind them, as the text has them. */
function partsOf(ts: number, text: string): { us: number; ns: number } | null {
  if (!Number.isFinite(ts)) return null;
  for (const [, whole, fraction] of text.matchAll(/"ts"\s*:\s*"?(-?\d+)(?:\.(\d+))?(?=["\s,}])/g)) {
    // An argument may have the same name.
    if (Number(`${whole}.${fraction ?? 0}`) !== ts) continue;
    const ns = Number(`${(fraction ?? "").padEnd(3, "0").slice(0, 3)}.${(fraction ?? "").slice(3) || 0}`);
    return { us: Number(whole), ns: whole?.startsWith("-") ? -ns : ns };
  }
  const us = Math.floor(ts);
  return { us, ns: (ts - us) * 1e3 };
}

function numberOf(value: unknown, otherwise = Number.NaN): number {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : otherwise;
}

function argsOf({ args }: TraceEvent): Readonly<Record<string, unknown>> {
  return typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
}
