import { P2pError } from "../errors.js";
import type { SpanKind } from "../timeline.js";
import { Imported, type Importer } from "./importer.js";
import { JsonPieces } from "./json-pieces.js";
import { Skipped } from "./skipped.js";
import { Draft, TimelineBuilder } from "./timeline-builder.js";
import { timelineTables } from "./timeline-tables.js";

const FORMAT = "p2plab-trace";
const TITLE = "timeline written by this library (lab.writeTrace)";
const SCHEMA = "p2plab-chrome-trace/1";
const MOST_SPANS = 5_000_000;

/** Categories of such a trace are the kinds of spans. */
const KINDS: ReadonlySet<string> = new Set<SpanKind>([
  "api",
  "copy",
  "kernel",
  "memset",
  "graph",
  "sync",
  "iteration",
  "range",
  "overhead",
]);

/** Whether a trace begins as this library's do: its first events name the host and the GPUs, and say what they are of. */
export function isOwnTrace(text: string): boolean {
  return /"ph":"M","pid":\d+,"tid":0,"name":"process_name","args":\{"name":"(?:host|GPU \d+) \(/.test(text);
}

/**
 * A run's timeline that was saved as a Chrome trace. What the run was (measured, recorded, simulated) stays with it: in the name of the
 * machine, and as a note.
 */
export const importer: Importer = {
  format: FORMAT,
  title: TITLE,
  detect: (head) => (isOwnTrace(Buffer.from(head).toString("latin1")) ? 1 : 0),
  async read(source) {
    const pieces = new JsonPieces("traceEvents");
    const builder = new TimelineBuilder();
    const skipped = new Skipped();
    const lanes = new Map<unknown, string>();
    const draft = new Draft("api");
    let other: Readonly<Record<string, unknown>> = {};
    for await (const chunk of source.chunks()) {
      for (const { key, text } of pieces.push(chunk)) {
        const value = parsed(text);
        if (key === "otherData" && value) other = value;
        if (key !== null) continue;
        if (value?.ph === "M" && value.name === "thread_name") {
          // Where spans of a lane overlap, further threads of it are numbered.
          lanes.set(value.tid, String(objectOf(value.args).name).replace(/ \(\d+\)$/, ""));
        } else if (value?.ph === "X" && typeof value.cat === "string" && KINDS.has(value.cat)) {
          fill(draft, value, lanes);
          if (builder.length >= MOST_SPANS) skipped.add("more spans than fit memory");
          else if (!builder.add(draft)) skipped.add("events without a begin or end");
        }
      }
    }
    if (other.schema !== SCHEMA && builder.length === 0) {
      throw new P2pError(
        "import",
        `${source.name} holds no timeline of this library`,
        "Write one with lab.writeTrace(run, file), and copy the whole file.",
      );
    }
    const kind = typeof other.provenance === "string" ? other.provenance : "provenance not stated";
    const machine = typeof other.machine === "string" ? other.machine : "machine not stated";
    const date = typeof other.date === "string" ? other.date : null;
    const timeline = builder.build(typeof other.tracer === "string" ? other.tracer : "unknown", {
      machine: `${machine} (${kind})`,
      date,
    });
    return new Imported({
      format: FORMAT,
      title: TITLE,
      version: typeof other.schema === "string" ? other.schema : null,
      tables: timelineTables(timeline),
      timeline,
      notes: [
        `a run of this library, ${kind === "simulated" ? "SIMULATED, not a measurement" : kind}: ${machine}`,
        ...(pieces.complete ? [] : ["the file ends early: the rest of the timeline is missing"]),
        ...(Array.isArray(other.warnings) ? other.warnings.map(String) : []),
        ...skipped.notes(),
      ],
      source,
    });
  },
};

function fill(
  draft: Draft,
  event: Readonly<Record<string, unknown>>,
  lanes: ReadonlyMap<unknown, string>,
): void {
  const args = objectOf(event.args);
  const lane = lanes.get(event.tid) ?? "unnamed lane";
  draft.kind = event.cat as SpanKind;
  draft.lane = lane;
  draft.name = String(event.name);
  draft.startNs = Math.round(Number(event.ts) * 1e3);
  draft.endNs = draft.startNs + Math.round(Number(event.dur) * 1e3);
  draft.bytes = Number(args.bytes ?? 0);
  draft.correlation = Number(args.correlation ?? 0);
  draft.device = Number(/^GPU (\d+)\b/.exec(lane)?.[1] ?? -1);
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return null;
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
