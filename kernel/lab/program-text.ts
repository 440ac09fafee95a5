import type { Operation, ProgramData } from "./operations.js";
import { formatBytes, formatNs } from "./units.js";

/** One line a statement, in the order of one iteration. */
export function textOf(data: ProgramData): string {
  const lines = data.buffers.map(({ name, bytes, place }) => {
    const where =
      "gpu" in place
        ? `GPU ${place.gpu}${place.allocator ? ` (${place.allocator})` : ""}`
        : `host (${place.host})`;
    return `buffer ${name}: ${formatBytes(bytes)} on ${where}`;
  });
  lines.push(...data.streams.map((stream) => `stream ${stream.name}: GPU ${stream.gpu}`));
  if (!data.peerAccess) lines.push("peer access: off");
  if (data.submit) lines.push(`submitted as a ${data.submit}`);
  lines.push(...data.operations.map(line));
  return lines.join("\n");
}

function line(o: Operation): string {
  switch (o.op) {
    case "copy":
      return `${o.stream}: copy ${o.src} → ${o.dst}, ${formatBytes(o.bytes)} (${o.engine ?? o.api})`;
    case "sync":
      return `host: sync ${o.stream} by ${o.method}`;
    case "record":
    case "wait":
      return `${o.stream}: ${o.op} ${o.event}`;
    case "signal":
    case "await":
      return `${o.stream}: ${o.op} ${o.buffer}+${o.offset}`;
    case "compute":
      return `${o.stream}: compute ${formatNs(o.ns)}`;
    case "launch":
      return `${o.stream}: launch ${o.kernel}`;
    case "put":
      return `${o.stream}: put ${o.src} → ${o.dst}, ${formatBytes(o.bytes)} (${o.protocol})`;
    case "receive":
      return `${o.stream}: receive ${o.window}${o.dst ? ` → ${o.dst}` : ""}, ${formatBytes(o.bytes)} (${o.protocol})`;
    case "probe":
      return `${o.stream}: probe ${o.kind} ${details(o, ["op", "kind", "stream"])}`;
    case "setup":
      return `host: set up ${o.kind} ${details(o, ["op", "kind"])}`;
  }
}

function details(operation: object, without: readonly string[]): string {
  return Object.entries(operation)
    .filter(([field]) => !without.includes(field))
    .map(([field, value]) => `${field}=${value}`)
    .join(" ");
}
