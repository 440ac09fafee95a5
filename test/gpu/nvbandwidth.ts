/**
 * What nvbandwidth prints, with `-j` or as text, read into numbers. Bandwidth is in GB/s (1e9 bytes a second), latency in
 * nanoseconds; which of the two a matrix holds stands in its description.
 */

export interface NvbandwidthMatrix {
  /** `read1`, `write2`, `total` where a testcase prints several matrices; null where it prints one. */
  readonly part: string | null;
  readonly unit: "GB/s" | "ns";
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
  readonly testcases: readonly NvbandwidthTestcase[];
  readonly error: string | null;
}

/** @throws Error when the text is neither of the two outputs. */
export function readNvbandwidth(text: string): Nvbandwidth {
  // Warnings and complaints of a check kernel are printed before the JSON, which begins on a line of its own.
  const start = /^\{/m.exec(text);
  if (start) return readJson(JSON.parse(text.slice(start.index)));
  if (/^nvbandwidth Version:/m.test(text)) return readText(text);
  throw new Error(`no output of nvbandwidth: ${JSON.stringify(text.slice(0, 200))}`);
}

/**
 * One cell of a testcase.
 * @param part `total` and so on, for testcases with several matrices.
 * @returns null when the testcase did not run, or the cell was not measured.
 */
export function cellOf(
  output: Nvbandwidth,
  testcase: string,
  row: number,
  column: number,
  part: string | null = null,
): number | null {
  const found = output.testcases.find((item) => item.name === testcase);
  const matrix = found?.matrices.find((item) => item.part === part);
  return matrix?.cells[row]?.[column] ?? null;
}

interface Json {
  readonly nvbandwidth?: {
    readonly version?: string;
    readonly "Driver Version"?: string;
    readonly "CUDA Runtime Version"?: number;
    readonly error?: string;
    readonly testcases?: readonly {
      readonly name: string;
      readonly status: string;
      readonly bandwidth_description?: string;
      readonly bandwidth_matrix?: readonly (readonly string[])[];
    }[];
  };
}

function readJson(json: Json): Nvbandwidth {
  const root = json.nvbandwidth;
  if (!root) throw new Error("no output of nvbandwidth: the JSON has no member nvbandwidth");
  return {
    version: root.version ?? null,
    driver: root["Driver Version"] ?? null,
    cudaVersion: root["CUDA Runtime Version"] ?? null,
    error: root.error ?? null,
    testcases: (root.testcases ?? []).map(({ name, status, bandwidth_description, bandwidth_matrix }) => ({
      name,
      status: statusOf(status),
      matrices: matricesOf(name, bandwidth_description ?? "", bandwidth_matrix ?? []),
    })),
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
  if (!direction || cells.length !== 3 * columns) return [{ part: null, unit, cells }];
  return [`${direction}1`, `${direction}2`, "total"].map((part, index) => ({
    part,
    unit,
    cells: cells.slice(index * columns, (index + 1) * columns),
  }));
}

function readText(text: string): Nvbandwidth {
  const testcases: {
    name: string | null;
    status: NvbandwidthTestcase["status"];
    matrices: NvbandwidthMatrix[];
  }[] = [];
  let open: { unit: "GB/s" | "ns"; cells: (number | null)[][] } | null = null;
  for (const line of text.split(/\r?\n/)) {
    const running = /^Running (\S+?)\.$/.exec(line);
    const ended = /^(Waived|Error|Not Found|ERROR): /.exec(`${line} `);
    const sum = /^(?:SUM|&&&& PERF) (\S+) /.exec(line);
    const current = testcases.at(-1);
    if (running) {
      testcases.push({ name: running[1] as string, status: "running", matrices: [] });
    } else if (ended) {
      // A waived testcase never says that it runs, so this line is all there is of it.
      const status = statusOf(ended[1] as string);
      if (status !== "waived" && current?.status === "running") current.status = status;
      else testcases.push({ name: null, status, matrices: [] });
    } else if (/\((GB\/s|ns)\)\s*$/.test(line)) {
      open = { unit: unitOf(line), cells: [] };
    } else if (sum && open && current) {
      const part = (sum[1] as string).slice((current.name ?? "").length).replace(/^_/, "");
      current.matrices.push({ part: part || null, ...open });
      current.status = "passed";
      open = null;
    } else if (open && /^\s*\d+(\s+(N\/A|[-\d.e+]+))+\s*$/.test(line) && /\.|N\/A/.test(line)) {
      // The first number is the row's own; the header line above holds column numbers only, no decimal point.
      open.cells.push(line.trim().split(/\s+/).slice(1).map(numberOf));
    }
  }
  const find = (pattern: RegExp) => pattern.exec(text)?.[1] ?? null;
  const cuda = find(/^CUDA Driver Version: (\d+)/m);
  return {
    version: find(/^nvbandwidth Version: (\S+)/m),
    driver: find(/^Driver Version: (\S+)/m),
    cudaVersion: cuda === null ? null : Number(cuda),
    testcases,
    error: find(/^ERROR: (.+)/m),
  };
}

function unitOf(description: string): "GB/s" | "ns" {
  return /\(ns\)\s*$/.test(description) ? "ns" : "GB/s";
}

function numberOf(text: string): number | null {
  const value = Number(text);
  return text !== "" && Number.isFinite(value) ? value : null;
}

function statusOf(text: string): NvbandwidthTestcase["status"] {
  const status = text.toLowerCase();
  if (status === "passed" || status === "waived" || status === "running" || status === "not found")
    return status;
  return "error";
}
