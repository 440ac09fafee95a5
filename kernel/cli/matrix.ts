import { parseArgs } from "node:util";
import { lab, onProgress, P2pError } from "../lab/index.js";
import { type Command, INTERRUPTED } from "./command.js";
import { matrixText } from "./matrix-text.js";

const OPTIONS = {
  metric: { type: "string", default: "latency" },
  machine: { type: "string" },
  bytes: { type: "string" },
  gpus: { type: "string" },
  path: { type: "string" },
  engine: { type: "string" },
  initiator: { type: "string" },
  direction: { type: "string" },
  allocator: { type: "string" },
  json: { type: "boolean", default: false },
  csv: { type: "boolean", default: false },
} as const;

export const matrix: Command = {
  name: "matrix",
  usage:
    "matrix [--metric latency|bandwidth|load-latency] [--machine M] [--bytes B] [--gpus 0,1,…] [--engine E] [--direction D] [--json|--csv]",
  describes: "measures every ordered pair of GPUs, and each GPU's own memory; Ctrl-C keeps what is done",
  async run(args) {
    const { values } = parseArgs({ args, options: OPTIONS });
    if (values.json && values.csv) throw new P2pError("usage", "both --json and --csv", "Give one of them.");
    const { metric, bytes, path, engine, initiator, direction, allocator } = values;
    const machine = await lab.open(values.machine);
    const stop = new AbortController();
    const interrupt = () => stop.abort();
    process.once("SIGINT", interrupt);
    const endProgress = showProgress();
    try {
      // The library refuses words that it does not know.
      const options = {
        metric,
        signal: stop.signal,
        ...(bytes && { bytes }),
        ...(values.gpus !== undefined && { gpus: values.gpus.split(",").map(Number) }),
        ...Object.fromEntries(
          Object.entries({ path, engine, initiator, direction, allocator }).filter(([, word]) => word),
        ),
      } as lab.MatrixOptions;
      const table = await lab.matrix(machine, options);
      endProgress();
      print(table, values);
      return 0;
    } catch (error) {
      endProgress();
      if (!(error instanceof lab.CancelledError)) throw error;
      if (error.partial.numRows() > 0) print(error.partial, values);
      process.stderr.write(`p2plab matrix: ${error.message}\n`);
      return INTERRUPTED;
    } finally {
      process.off("SIGINT", interrupt);
      await machine.close();
    }
  },
};

function print(table: lab.Table, { json, csv }: { json: boolean; csv: boolean }): void {
  if (csv) process.stdout.write(`${table.toCSV()}\n`);
  else if (json) process.stdout.write(`${JSON.stringify(jsonOf(table), null, 1)}\n`);
  else process.stdout.write(`${matrixText(table)}\n`);
}

function jsonOf(table: lab.Table): Record<string, unknown> {
  const rows = table.objects() as Record<string, unknown>[];
  const { metric, definition } = rows[0] as Record<string, unknown>;
  // Cells of a recording with a model behind it are of two kinds: each then says its own.
  const [machine, provenance, date] = ["machine", "provenance", "date"].map((name) =>
    [...new Set(rows.map((row) => row[name]))].join("; "),
  );
  const one = new Set(rows.map((row) => row.provenance)).size === 1;
  const cells = one ? rows.map(({ machine: _, provenance: __, date: ___, ...cell }) => cell) : rows;
  return { schema: "p2plab-matrix/1", machine, provenance, date, metric, definition, cells };
}

/** How often progress is told: in place where somebody looks at it, by lines in a log. */
const EVERY_MS = { terminal: 200, log: 2000 } as const;

/** @returns ends it. */
function showProgress(): () => void {
  const terminal = process.stderr.isTTY;
  let last = performance.now();
  const before = onProgress(({ label, done, total, remainingS }) => {
    const now = performance.now();
    if (now - last < (terminal ? EVERY_MS.terminal : EVERY_MS.log)) return;
    last = now;
    const left = remainingS !== null && remainingS >= 1 ? `, ${Math.round(remainingS)} s left` : "";
    const text = `${done}/${total} cells, ${label}${left}`;
    process.stderr.write(terminal ? `\r\x1b[2K${text}` : `${text}\n`);
  });
  return () => {
    onProgress(before);
    if (terminal) process.stderr.write("\r\x1b[2K");
  };
}
