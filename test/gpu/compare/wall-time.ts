/** How long a matrix takes from the start of its process to its end, beside nvbandwidth on the same cells. */
import { packagePath } from "../../../kernel/lab/index.js";
import { type BenchRow, type Round, ratio } from "../../bench/row.js";
import type { MatrixCell, MatrixPart } from "../matrix-run.js";
import { execute, runNvbandwidth } from "../peers.js";
import { failed, type Group, pathOf, type RowSpec } from "./group.js";

const ROUNDS = 3;
const A_THIRD = { max: 0.3333 };

const HOST = ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "host_device_latency_sm"];
const PAIR = [
  "device_to_device_memcpy_write_ce",
  "device_to_device_memcpy_read_ce",
  "device_to_device_latency_sm",
];
const BOTH_WAYS = [
  "device_to_device_bidirectional_memcpy_write_ce",
  "device_to_device_bidirectional_memcpy_read_ce",
];

interface Spec extends RowSpec {
  readonly what: MatrixPart;
  readonly testcases: readonly string[];
}

const COMMON = { unit: "ratio", needs: ["nvbandwidth"] } as const;

/** Starting a process and its driver costs both sides the same, so that the parts alone say less than the whole. */
export const wallTime: Group<Spec> = {
  specs: [
    {
      ...COMMON,
      name: "wall time of the full matrix of two GPUs, over nvbandwidth",
      bar: A_THIRD,
      gpus: 2,
      what: "full",
      testcases: [...HOST, ...PAIR, ...BOTH_WAYS],
    },
    {
      ...COMMON,
      name: "wall time of the matrix of host and GPU alone, over nvbandwidth",
      bar: null,
      gpus: 1,
      what: "host",
      testcases: HOST,
    },
    {
      ...COMMON,
      name: "wall time of the one-way matrix of two GPUs alone, over nvbandwidth",
      bar: null,
      gpus: 2,
      what: "pair",
      testcases: PAIR,
    },
  ],
  async run(bench, wanted) {
    const rows: BenchRow[] = [];
    for (const spec of wanted) {
      try {
        rows.push(await wallRow(pathOf(bench.nvbandwidth), spec, bench.rounds ?? ROUNDS, bench.say));
      } catch (error) {
        rows.push(failed(spec, error));
      }
    }
    return rows;
  },
};

async function wallRow(
  path: string,
  spec: Spec,
  count: number,
  say: (line: string) => void,
): Promise<BenchRow> {
  const rounds: Round[] = [];
  let cells: MatrixCell[] = [];
  for (let round = 1; round <= count; round++) {
    say(`round ${round} of ${count}: ${spec.name}`);
    const theirs = await runNvbandwidth(path, spec.testcases);
    const program = packagePath("dist/test/gpu/matrix-run.js");
    const run = await execute(process.execPath, [program, spec.what], 120_000);
    cells = JSON.parse(run.stdout) as MatrixCell[];
    rounds.push({ ours: run.wallMs / 1e3, theirs: theirs.wallMs / 1e3 });
  }
  return ratio(spec.name, rounds, spec.bar, "s", {
    testcases: spec.testcases.join(" "),
    definition:
      "both sides: start of the process to its end, set-up and verification within; the library to intervals of 2 %",
    cells: cells.length,
    cells_converged: cells.filter((cell) => cell.converged).length,
    ...Object.fromEntries(
      cells.map(({ name, value, unit, doneAfterMs }) => [
        name,
        `${value.toPrecision(5)} ${unit} (done after ${doneAfterMs} ms)`,
      ]),
    ),
  });
}
