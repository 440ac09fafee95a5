import { P2pError, shown } from "../errors.js";
import { Imported, type Importer } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { filled, recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

const HINT = "Give the whole output of p2pBandwidthLatencyTest, from its first line.";

/** A matrix of p2pBandwidthLatencyTest. */
export interface P2pTestMatrix {
  /** Title as printed, without its unit. */
  readonly title: string;
  readonly unit: "GB/s" | "us";
  readonly peerAccess: boolean;
  /**
   * `GPU`: time between two events around copies that wait behind a delay kernel, by copy; `CPU`: what submitting one costs
   * the host. Null for bandwidth, and where old versions print one latency only.
   */
  readonly clock: "GPU" | "CPU" | null;
  /** Row i, column j: GPU i issues. The diagonal is a copy within one GPU. */
  readonly cells: readonly (readonly (number | null)[])[];
}

/** What p2pBandwidthLatencyTest of the CUDA samples prints, read into numbers. */
export interface P2pTest {
  /** Names of the GPUs, in the order of the rows. */
  readonly devices: readonly string[];
  /** Whether GPU i may access GPU j; null where the output does not say. */
  readonly connectivity: readonly (readonly (number | null)[])[];
  readonly matrices: readonly P2pTestMatrix[];
}

/** @throws P2pError `import` when the text is not that output, or says that a CUDA call failed. */
export function readP2pTest(text: string): P2pTest {
  const failure = /^Cuda failure .{0,300}$/m.exec(text);
  if (failure) {
    throw new P2pError(
      "import",
      `p2pBandwidthLatencyTest: ${failure[0]}`,
      "Run the test again where it works.",
    );
  }
  if (!looksLikeP2pTest(text)) {
    throw new P2pError("import", `no output of p2pBandwidthLatencyTest: ${shown(text)}`, HINT);
  }
  const matrices: P2pTestMatrix[] = [];
  const connectivity: (number | null)[][] = [];
  let title: Pick<P2pTestMatrix, "title" | "unit" | "peerAccess"> | "connectivity" | null = null;
  let cells: (number | null)[][] | null = null;
  for (const line of text.split(/\r?\n/)) {
    const titled = /^(.{0,80}P2P=(Enabled|Disabled).{0,80}?)\s*\((GB\/s|us)\)\s*$/.exec(line.trim());
    const header = /^\s*(D\\D|GPU|CPU)\s+\d+(?:\s+\d+)*\s*$/.exec(line);
    if (titled) {
      const unit = titled[3] as "GB/s" | "us";
      title = { title: titled[1] as string, unit, peerAccess: titled[2] === "Enabled" };
      cells = null;
    } else if (/^\s*P2P Connectivity Matrix/.test(line)) {
      title = "connectivity";
      cells = null;
    } else if (header && title) {
      if (title === "connectivity") {
        cells = connectivity;
      } else {
        const clock = header[1] === "D\\D" ? null : (header[1] as "GPU" | "CPU");
        cells = [];
        matrices.push({ ...title, clock, cells });
      }
    } else if (cells && /^\s*\d+\s+\S/.test(line)) {
      // The row's own number comes first; cells are split by blanks, also where one is too wide for its column.
      cells.push(line.trim().split(/\s+/).slice(1).map(numberOf));
    } else {
      cells = null;
    }
  }
  const devices = [...text.matchAll(/^Device: \d+, (.{1,200}?), pciBusID:/gm)].map(
    (match) => match[1] as string,
  );
  return { devices, connectivity, matrices };
}

function looksLikeP2pTest(text: string): boolean {
  return (
    /P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test/.test(text) ||
    /\bP2P=(?:Enabled|Disabled) .{0,60}Matrix/.test(text)
  );
}

/** Output of p2pBandwidthLatencyTest of the CUDA samples. */
export const importer: Importer = {
  format: "p2pBandwidthLatencyTest",
  title: "output of p2pBandwidthLatencyTest",
  detect(head) {
    const text = headText(head);
    if (/P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test/.test(text)) return 0.98;
    return looksLikeP2pTest(text) ? 0.95 : 0;
  },
  async read(source) {
    const { text, notes: odd } = await textOf(source);
    const { devices, connectivity, matrices } = readP2pTest(text);
    if (matrices.length === 0 && connectivity.length === 0) {
      throw new P2pError("import", "the output ends before its first matrix", HINT);
    }
    const origin = { machine: machineOf(devices), date: null };
    const notes = [
      ...odd,
      'latency_us with clock "GPU" is the time per 16-byte copy in a filled queue, with "CPU" what submitting one costs the host: neither is the time of one copy from an idle stream until somebody knows of its end.',
      "Bidirectional matrices hold the sum of both directions. GB/s are 1e9 bytes/s. The diagonal is a copy within one GPU; without peer access copies go through the host.",
      "The output does not say when it was run.",
    ];
    if (devices.length === 0) notes.push("The output lists no devices: its beginning is missing.");
    const short = matrices.filter(
      ({ cells }) => cells.length < Math.max(0, ...cells.map((row) => row.length)),
    );
    for (const { title, clock, cells } of short) {
      notes.push(
        `Cut off: "${title}"${clock === null ? "" : ` (${clock})`} has ${cells.length} rows of ${cells[0]?.length ?? 0}.`,
      );
    }
    if (matrices.some(({ unit, clock }) => unit === "us" && clock === null)) {
      notes.push(
        "The latency matrix names no clock: an old version, whose matrix is by the events of the GPU.",
      );
    }
    return new Imported({
      format: importer.format,
      title: importer.title,
      version: null,
      tables: filled({
        cells: recordsTable(matrices.flatMap(cellsOf), origin),
        connectivity: recordsTable(
          connectivity.flatMap((row, i) => row.map((access, j) => ({ row: i, column: j, access }))),
          origin,
        ),
        devices: recordsTable(
          devices.map((name, device) => ({ device, name })),
          origin,
        ),
      }),
      notes,
      source,
    });
  },
};

function cellsOf(matrix: P2pTestMatrix): Record<string, Value>[] {
  const { title, unit, peerAccess, clock } = matrix;
  const direction = /^bidirectional/i.test(title) ? "both" : /^unidirectional/i.test(title) ? "one" : null;
  // Only newer versions say whether the issuing GPU writes or reads.
  const operation = /\(P2P (Write|Read)s?\)/i.exec(title)?.[1]?.toLowerCase() ?? null;
  return matrix.cells.flatMap((row, i) =>
    row.map((value, j) => ({
      title,
      metric: unit === "us" ? "latency" : "bandwidth",
      peer_access: peerAccess,
      direction: unit === "us" ? "one" : direction,
      operation,
      clock: clock ?? (unit === "us" ? "GPU" : null),
      row: i,
      column: j,
      gbps: unit === "GB/s" ? value : null,
      latency_us: unit === "us" ? value : null,
    })),
  );
}

function numberOf(text: string): number | null {
  const value = Number(text);
  return text.length < 40 && Number.isFinite(value) ? value : null;
}
