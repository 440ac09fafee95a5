import { messageOf, P2pError } from "../errors.js";
import { capabilityOf, type Device, deviceTable, finite, machineOf, textOf } from "./devices.js";
import { Imported, type Importer, type ImportSource } from "./importer.js";
import { JsonPieces } from "./json-pieces.js";
import { KinetoEvents } from "./kineto-events.js";
import { isOwnTrace } from "./own-trace.js";
import { Skipped } from "./skipped.js";
import { TimelineBuilder } from "./timeline-builder.js";
import { timelineTables } from "./timeline-tables.js";

const FORMAT = "kineto";
const TITLE = "trace of torch.profiler (Kineto, Chrome trace JSON)";
const XLA_TITLE = "trace of XLA's profiler (TensorFlow, JAX; Chrome trace JSON)";
/** More spans fit no notebook's memory. */
const MOST_SPANS = 5_000_000;
/** A file that unpacks to more is taken for one made to fill the memory. */
const MOST_BYTES = 16 * 2 ** 30;
const MOST_DAMAGED = 1000;

/**
 * Kineto's traces, plain or gzip, of all ages, and those of XLA's profiler: read piece by piece, so that size does not matter. Names of users, hosts and jobs, which newer
 * traces hold, are not read.
 */
export const importer: Importer = {
  format: FORMAT,
  title: TITLE,
  detect(head) {
    const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("latin1");
    if (!/^(?:\xef\xbb\xbf)?\s*[[{]/.test(text) || isOwnTrace(text)) return 0;
    if (/"cat"\s*:\s*"(?:cuda_runtime|cpu_op|gpu_memcpy|ac2g|kernel)"/i.test(text)) return 1;
    if (/"deviceProperties"|"baseTimeNanoseconds"|"cupti_version"/.test(text)) return 0.9;
    if (/"traceEvents"/.test(text)) return 0.8;
    return /^\s*\[\s*\{[^{}]*"ph"\s*:/.test(text) ? 0.6 : 0;
  },
  async read(source) {
    const trace = await readTrace(source);
    const { builder, skipped, members, notes } = trace;
    const devices = devicesOf(members.get("deviceProperties"));
    const origin = {
      machine: machineOf(devices),
      date: dateOf(members.get("baseTimeNanoseconds"), trace.zeroUs),
    };
    const timeline = builder.build("kineto", origin);
    const gpu = timeline.details?.device.some((device) => device >= 0);
    return new Imported({
      format: FORMAT,
      title: trace.xla ? XLA_TITLE : TITLE,
      version: versionOf(members),
      tables: { ...timelineTables(timeline), devices: deviceTable(devices, origin) },
      timeline,
      notes: [
        ...(gpu ? [] : ["the trace holds no work on a GPU: it was taken without CUDA activities"]),
        ...(trace.xla
          ? ["XLA's profiler writes down streams and calls; lanes that it sums up from them were left out"]
          : []),
        ...notes,
        ...skipped.notes(),
      ],
      source,
    });
  },
};

interface Trace {
  readonly builder: TimelineBuilder;
  readonly skipped: Skipped;
  /** Members of the outermost object beside the events. */
  readonly members: ReadonlyMap<string, unknown>;
  readonly notes: readonly string[];
  readonly zeroUs: number | null;
  /** Whether events are those of XLA's profiler. */
  readonly xla: boolean;
}

/** Only these members are looked at. */
const MEMBERS: ReadonlySet<string> = new Set([
  "deviceProperties",
  "baseTimeNanoseconds",
  "schemaVersion",
  "cupti_version",
  "cuda_runtime_version",
  "cuda_driver_version",
]);

async function readTrace(source: ImportSource): Promise<Trace> {
  const builder = new TimelineBuilder();
  const skipped = new Skipped();
  const events = new KinetoEvents(builder, skipped);
  const pieces = new JsonPieces("traceEvents");
  const members = new Map<string, unknown>();
  const notes: string[] = [];
  let [bytes, count, damaged] = [0, 0, 0];
  let firstDamage = "";
  try {
    for await (const chunk of source.chunks()) {
      bytes += chunk.length;
      for (const { key, text } of pieces.push(chunk)) {
        try {
          const value = key === null || MEMBERS.has(key) ? JSON.parse(text) : null;
          if (key !== null) members.set(key, value);
          else if (typeof value === "object" && value !== null) events.add(value, text);
          if (key === null) count++;
        } catch (error) {
          damaged++;
          firstDamage ||= `${messageOf(error)} in ${text.slice(0, 80).replace(/\s+/g, " ")}`;
        }
      }
      const end = stopReason(builder.length, bytes, damaged + pieces.damaged);
      if (end === null) continue;
      notes.push(end);
      break;
    }
  } catch (error) {
    if (error instanceof P2pError && count === 0) throw error;
    notes.push(`the file could not be read to its end: ${messageOf(error)}`);
  }
  events.finish();
  damaged += pieces.damaged;
  if (count === 0 && !(pieces.complete && damaged === 0)) {
    throw new P2pError(
      "import",
      `${source.name} holds no readable trace event${firstDamage ? `: ${firstDamage}` : notes[0] ? `: ${notes[0]}` : ""}`,
      "Export the trace again with profiler.export_chrome_trace(…), and copy the whole file.",
    );
  }
  if (damaged > 0) {
    notes.push(
      `${damaged} damaged ${damaged === 1 ? "event" : "events"} left out${firstDamage ? `, the first: ${firstDamage}` : ""}`,
    );
  }
  if (!pieces.complete && notes.length === 0) {
    notes.push(`the file ends in the middle of the trace, behind ${count} events: the rest is missing`);
  }
  if (count === 0) notes.push("the trace holds no event");
  return { builder, skipped, members, notes, zeroUs: events.zeroUs, xla: events.xla.count > 0 };
}

function stopReason(spans: number, bytes: number, damaged: number): string | null {
  if (spans >= MOST_SPANS) return `only the first ${spans} spans were read: more fit no notebook's memory`;
  if (bytes >= MOST_BYTES) return `reading stopped after ${MOST_BYTES} bytes`;
  return damaged >= MOST_DAMAGED ? `reading stopped after ${damaged} damaged events` : null;
}

function devicesOf(list: unknown): Device[] {
  if (!Array.isArray(list)) return [];
  return list.slice(0, 1024).flatMap((item: unknown) => {
    if (typeof item !== "object" || item === null) return [];
    const { id, name, totalGlobalMem, numSms, computeMajor, computeMinor } = item as Record<string, unknown>;
    return [
      {
        gpu: finite(id),
        name: textOf(name),
        pci: null,
        copyEngines: null,
        memoryBytes: finite(totalGlobalMem),
        multiprocessors: finite(numSms),
        computeCapability: capabilityOf(computeMajor, computeMinor),
      },
    ];
  });
}

/** Times are counted from a base in newer traces, from 1970 in older ones. */
function dateOf(base: unknown, zeroUs: number | null): string | null {
  if (zeroUs === null) return null;
  const ms = (finite(base) ?? 0) / 1e6 + zeroUs / 1e3;
  // Before 2015 there was no such profiler: the clock began elsewhere.
  return ms > Date.UTC(2015, 0) && ms < Date.UTC(2100, 0) ? new Date(ms).toISOString() : null;
}

function versionOf(members: ReadonlyMap<string, unknown>): string | null {
  const schema = finite(members.get("schemaVersion"));
  return schema === null ? null : `schema ${schema}`;
}
