import { P2pError } from "../errors.js";
import { Imported, type Importer } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { type NvbandwidthMatrix, type NvbandwidthTestcase, readNvbandwidth } from "./nvbandwidth-output.js";
import { filled, recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

/** Output of NVIDIA/nvbandwidth: text and JSON. */
export const importer: Importer = {
  format: "nvbandwidth",
  title: "output of nvbandwidth",
  detect(head) {
    const text = headText(head);
    if (
      /^nvbandwidth Version: /m.test(text) ||
      /^\s*"nvbandwidth"\s*:/m.test(text) ||
      /\{\s*"nvbandwidth"\s*:/.test(text)
    )
      return 0.98;
    if (/^Running \w{1,80}_(?:ce|sm|copy)\.\s*$/m.test(text) || /^memcpy (?:CE|SM) [CG]PU\(row\)/m.test(text))
      return 0.9;
    return 0;
  },
  async read(source) {
    const { text, notes: odd } = await textOf(source);
    const output = readNvbandwidth(text);
    const origin = { machine: machineOf(output.gpus), date: null };
    const cells = output.testcases.flatMap((testcase) =>
      testcase.matrices.flatMap((matrix) => cellsOf(testcase, matrix)),
    );
    if (output.testcases.length === 0) {
      throw new P2pError(
        "import",
        `no testcase${output.error === null ? "" : `: nvbandwidth says ${output.error}`}`,
        "Give the output of a run that measured something.",
      );
    }
    const notes = [
      ...odd,
      "GB/s are 1e9 bytes/s, latencies were printed in ns.",
      "The output does not say when it was run.",
    ];
    if (origin.machine === null) notes.push("The output lists no GPUs.");
    if (output.error !== null) notes.push(`nvbandwidth says: ${output.error}`);
    const nameless = output.testcases.filter(({ name }) => name === null).length;
    if (nameless > 0)
      notes.push(`Testcases that were waived or failed, whose names the text does not print: ${nameless}.`);
    const unfinished = output.testcases.filter(({ status }) => status === "running");
    if (unfinished.length > 0) {
      notes.push(
        `Cut off: the output ends before the sum of ${unfinished.map(({ name }) => name).join(", ")}.`,
      );
    }
    if (cells.length === 0) notes.push("No testcase has a matrix: all were waived, or failed.");
    notes.push(
      "from and to are the way of the data, null where they go both ways; rows are the GPU that issues.",
    );
    if (cells.some(({ testcase }) => String(testcase).includes("bidirectional"))) {
      notes.push(
        '"Bidirectional" means three things: between host and GPU by copy engine, the rate of one direction while twice the bytes go the other way; by SM, half of what one kernel moves both ways; between GPUs "read1", "write1" one direction, "read2", "write2" the other, "total" their sum.',
      );
    }
    if (
      isBefore08(output.version) &&
      cells.some(({ testcase }) => testcase === "device_to_device_latency_sm")
    ) {
      notes.push(
        `device_to_device_latency_sm of nvbandwidth ${output.version ?? "of unknown version"}: before 0.8 it held the latency between host and GPU, not between GPUs.`,
      );
    }
    return new Imported({
      format: importer.format,
      title: importer.title,
      version: output.version,
      tables: filled({
        cells: recordsTable(cells, origin),
        testcases: recordsTable(
          output.testcases.map(({ name, status, matrices }) => ({
            testcase: name,
            status: status === "running" ? "cut off" : status,
            matrices: matrices.length,
            driver: output.driver,
            cuda_version: output.cudaVersion,
          })),
          origin,
        ),
      }),
      notes,
      source,
    });
  },
};

/** Whether a version is older than 0.8, or is not told. */
export function isBefore08(version: string | null): boolean {
  const [, major, minor] = /^v?(\d{1,4})\.(\d{1,4})/.exec(version ?? "") ?? [];
  return major === undefined || (Number(major) === 0 && Number(minor) < 8);
}

function cellsOf(testcase: NvbandwidthTestcase, matrix: NvbandwidthMatrix): Record<string, Value>[] {
  const [, row = null, arrow = null, column = null] =
    /\b([CG]PU)\(row\) *(<->|->|<-) *([CG]PU)\(column\)/.exec(matrix.description) ?? [];
  const engine =
    /\b(CE|SM)\b/.exec(matrix.description)?.[1] ?? /_(ce|sm)$/.exec(testcase.name ?? "")?.[1]?.toUpperCase();
  // Between GPUs the arrow of the heading points against the data: rows are the GPU that issues, so that the data of a write go
  // from row to column, those of a read the other way.
  const between = /^device_to_device_memcpy_(read|write)_/.exec(testcase.name ?? "")?.[1];
  const fromRow = between === undefined ? arrow === "->" : between === "write";
  const oneWay = between !== undefined || (row !== column && (arrow === "->" || arrow === "<-"));
  return matrix.cells.flatMap((cells, i) =>
    cells.map((value, j) => {
      const [from, to] = fromRow ? [place(row, i), place(column, j)] : [place(column, j), place(row, i)];
      return {
        testcase: testcase.name,
        part: matrix.part,
        engine: engine ?? null,
        row: i,
        column: j,
        row_kind: row,
        column_kind: column,
        from: oneWay ? from : null,
        to: oneWay ? to : null,
        gbps: matrix.unit === "GB/s" ? value : null,
        latency_us: matrix.unit === "ns" && value !== null ? value / 1000 : null,
      };
    }),
  );
}

/** Where the data of a row or column are; null where the heading does not say. */
function place(kind: string | null, index: number): string | null {
  return kind === "GPU" ? `gpu${index}` : kind === "CPU" ? "host" : null;
}
