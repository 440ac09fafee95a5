/** How long a matrix takes from the start of its process to its end, beside nvbandwidth on the same cells. */
import { packagePath } from "../../../kernel/lab/index.js";
import { type BenchRow, type Round, ratio } from "../../bench/row.js";
import type { MatrixCell } from "../matrix-run.js";
import { execute, runNvbandwidth } from "../peers.js";
import { failed, type Group, pathOf, type RowSpec } from "./group.js";

const ROUNDS = 3;
const A_THIRD = { max: 0.3333 };

interface Spec extends RowSpec {
  readonly what: "host" | "pair";
  readonly testcases: readonly string[];
}

const COMMON = { unit: "ratio", bar: A_THIRD, needs: ["nvbandwidth"] } as const;

export const wallTime: Group<Spec> = {
  specs: [
    {
      ...COMMON,
      name: "wall time of the matrix of host and GPU, over nvbandwidth",
      gpus: 1,
      what: "host",
      testcases: ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "host_device_latency_sm"],
    },
    {
      ...COMMON,
      name: "wall time of the matrix of two GPUs, over nvbandwidth",
      gpus: 2,
      what: "pair",
      testcases: [
        "device_to_device_memcpy_write_ce",
        "device_to_device_memcpy_read_ce",
        "device_to_device_latency_sm",
      ],
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
    ...Object.fromEntries(cells.map(({ name, value, unit }) => [name, `${value.toPrecision(5)} ${unit}`])),
  });
}
