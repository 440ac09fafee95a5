import { P2pError, shown } from "../errors.js";
import { embeddedJson, member, numberMember, textMember } from "./json.js";

/**
 * What nvbandwidth prints, with `-j` or as text, read into numbers. Bandwidth is in GB/s (1e9 bytes a second), latency in
 * nanoseconds; which of the two a matrix holds stands in its description.
 */

export interface NvbandwidthMatrix {
  /** `read1`, `write2`, `total` where a testcase prints several matrices; null where it prints one. */
  readonly part: string | null;
  readonly unit: "GB/s" | "ns";
  /** As printed, such as `memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)`. */
  readonly description: string;
  /** Rows as printed. Cells that were not measured (`N/A`) are null. */
  readonly cells: readonly (readonly (number | null)[])[];
}

export interface NvbandwidthTestcase {
  /** Null for a testcase that the text output waives: it prints no name then. */
  readonly name: string | null;
  readonly status: "passed" | "waived" | "error" | "not found" | "running";
  readonly matrices: readonly NvbandwidthMatrix[];
}

export interface Nvbandwidth {
  /** Such as `v0.8`. */
  readonly version: string | null;
  readonly driver: string | null;
  /** As printed: what it calls the runtime's version is the driver's. */
  readonly cudaVersion: number | null;
  /** Names of the GPUs; empty where the output lists none. */
  readonly gpus: readonly string[];
  readonly testcases: readonly NvbandwidthTestcase[];
  readonly error: string | null;
}

const HINT = "Give the whole output of nvbandwidth, or of nvbandwidth -j.";

/** @throws P2pError `import` when the text is neither of the two outputs. */
export function readNvbandwidth(text: string): Nvbandwidth {
  // Warnings and complaints of a check kernel are printed before the JSON, which begins on a line of its own.
  if (/^\{/m.test(text)) return readJson(embeddedJson(text, HINT));
  if (/^nvbandwidth Version:/m.test(text) || /^Running \w{1,80}\.\s*$/m.test(text)) return readText(text);
  throw new P2pError("import", `no output of nvbandwidth: ${shown(text)}`, HINT);
}

function readJson(json: unknown): Nvbandwidth {
  const root = member(json, "nvbandwidth");
  if (typeof root !== "object" || root === null) {
    throw new P2pError("import", "no output of nvbandwidth: the JSON has no member nvbandwidth", HINT);
  }
  const testcases = member(root, "testcases");
  const gpus = member(root, "GPU Device list");
  return {
    version: textMember(root, "version"),
    driver: textMember(root, "Driver Version"),
    cudaVersion: numberMember(root, "CUDA Runtime Version"),
    gpus: (Array.isArray(gpus) ? gpus : []).flatMap((gpu) => nameOf(String(gpu)) ?? []),
    error: textMember(root, "error"),
    testcases: (Array.isArray(testcases) ? testcases : []).map((testcase) => {
      const name = textMember(testcase, "name");
      const matrix = member(testcase, "bandwidth_matrix");
      const rows = (Array.isArray(matrix) ? matrix : []).map((row) =>
        Array.isArray(row) ? row.map(String) : [],
      );
      return {
        name,
        status: statusOf(textMember(testcase, "status") ?? ""),
        matrices: matricesOf(name ?? "", textMember(testcase, "bandwidth_description") ?? "", rows),
      };
    }),
  };
}

/**
 * A bidirectional testcase between GPUs prints three matrices (one direction, the other, their sum) one after the other, but
 * in JSON it appends the rows of all three to a single one and keeps only the last description. Each is as high as wide.
 */
function matricesOf(
  name: string,
  description: string,
  rows: readonly (readonly string[])[],
): NvbandwidthMatrix[] {
  if (rows.length === 0) return [];
  const unit = unitOf(description);
  const cells = rows.map((row) => row.map(numberOf));
  const columns = cells[0]?.length ?? 0;
  const direction = /^device_to_device_bidirectional_memcpy_(read|write)_/.exec(name)?.[1];
  if (!direction || cells.length !== 3 * columns) return [{ part: null, unit, description, cells }];
  return [`${direction}1`, `${direction}2`, "total"].map((part, index) => ({
    part,
    unit,
    description,
    cells: cells.slice(index * columns, (index + 1) * columns),
  }));
}

interface OpenTestcase {
  name: string | null;
  status: NvbandwidthTestcase["status"];
  matrices: NvbandwidthMatrix[];
}

function readText(text: string): Nvbandwidth {
  const testcases: OpenTestcase[] = [];
  const gpus: string[] = [];
  let open: { unit: "GB/s" | "ns"; description: string; cells: (number | null)[][] } | null = null;
  let partText: string | null = null;
  // A matrix that no sum ends, in a text that is cut off: what is there of it counts.
  const close = (part: string | null, current: OpenTestcase | undefined) => {
    if (open && current && open.cells.length > 0) current.matrices.push({ part, ...open });
    open = null;
  };
  for (const line of text.split(/\r?\n/)) {
    const running = /^Running (\S{1,120}?)\.\s*$/.exec(line);
    const ended = /^(Waived|Error|Not Found|ERROR): /.exec(`${line} `);
    const sum = /^(?:SUM|&&&& PERF) (\S{1,120}) /.exec(line);
    const gpu = /^Device \d{1,4}: /.test(line) ? nameOf(line) : null;
    const current = testcases.at(-1);
    if (gpu !== null) {
      gpus.push(gpu);
    } else if (running) {
      close(partText, current);
      testcases.push({ name: running[1] as string, status: "running", matrices: [] });
    } else if (ended) {
      close(partText, current);
      // A waived testcase never says that it runs, so this line is all there is of it.
      const status = statusOf(ended[1] as string);
      if (status !== "waived" && current?.status === "running") current.status = status;
      else testcases.push({ name: null, status, matrices: [] });
    } else if (
      /\((?:GB\/s|ns)\)\s*$/.test(line.slice(-40)) &&
      !/^\s*(?:SUM|MIN|MAX|AVG|Sample|\d)/.test(line)
    ) {
      close(partText, current);
      open = { unit: unitOf(line), description: line.trim(), cells: [] };
      partText = /\b((?:Read|Write)[12]|Total) bandwidth/.exec(line)?.[1]?.toLowerCase() ?? null;
    } else if (sum && open && current) {
      const part = (sum[1] as string).slice((current.name ?? "").length).replace(/^_/, "");
      close(part || null, current);
      current.status = "passed";
    } else if (open && /^\s*\d{1,5}(?:\s+(?:N\/A|[-\d.e+]+))+\s*$/.test(line) && /\.|N\/A/.test(line)) {
      // The first number is the row's own; the header line above holds column numbers only, no decimal point.
      open.cells.push(line.trim().split(/\s+/).slice(1).map(numberOf));
    }
  }
  close(partText, testcases.at(-1));
  const find = (pattern: RegExp) => pattern.exec(text)?.[1] ?? null;
  const cuda = find(/^CUDA Driver Version: (\d{1,9})/m);
  return {
    version: find(/^nvbandwidth Version: (\S{1,60})/m),
    driver: find(/^Driver Version: (\S{1,60})/m),
    cudaVersion: cuda === null ? null : Number(cuda),
    gpus,
    testcases,
    error: find(/^ERROR: (.{1,500})/m),
  };
}

/** Of `Device 0: NVIDIA H200 (00000000:0f:00)`. */
function nameOf(text: string): string | null {
  return /^(?:Device )?\d{1,4}: (.{1,200}?) \([\da-fA-F:.]{4,20}\)/.exec(text)?.[1] ?? null;
}

function unitOf(description: string): "GB/s" | "ns" {
  return /\(ns\)\s*$/.test(description.slice(-40)) ? "ns" : "GB/s";
}

function numberOf(text: string): number | null {
  const value = Number(text);
  return text !== "" && text.length < 40 && Number.isFinite(value) ? value : null;
}

function statusOf(text: string): NvbandwidthTestcase["status"] {
  const status = text.toLowerCase();
  if (status === "passed" || status === "waived" || status === "running" || status === "not found")
    return status;
  return "error";
}
