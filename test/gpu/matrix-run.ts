/**
 * A whole matrix of bandwidth and latency in a process of its own, so that its wall time can be held against nvbandwidth's:
 * opens the machine, verifies and measures every cell to its confidence target, prints them as JSON.
 *
 *     node dist/test/gpu/matrix-run.js host | pair
 */
import { lab } from "../../kernel/lab/index.js";
import { BYTES, hostCopy, peerCopy } from "./cells.js";
import { CHAIN, chainProgram } from "./compare/load-latency.js";

type Program = ReturnType<typeof lab.program>;

export interface MatrixCell {
  readonly name: string;
  readonly value: number;
  readonly unit: "GB/s" | "ns";
  /** Whether the confidence interval met its target. */
  readonly converged: boolean;
}

interface Wanted {
  readonly name: string;
  readonly program: Program;
  readonly bandwidth: boolean;
}

const PAIRS = [
  [0, 1],
  [1, 0],
] as const;

/** The cells of the testcases that wall-time.ts names. */
function cellsOf(what: string): Wanted[] {
  if (what === "host") {
    return [
      { name: "host to GPU 0", program: hostCopy("h2d", "copy-engine"), bandwidth: true },
      { name: "GPU 0 to host", program: hostCopy("d2h", "copy-engine"), bandwidth: true },
      { name: "GPU 0 loads from host", program: chainProgram(0, "host", CHAIN), bandwidth: false },
    ];
  }
  if (what !== "pair") throw new Error("usage: matrix-run host | pair");
  return PAIRS.flatMap(([from, to]) => [
    { name: `GPU ${from} to GPU ${to}, write`, program: peerCopy("write", "ce", from, to), bandwidth: true },
    { name: `GPU ${from} to GPU ${to}, read`, program: peerCopy("read", "ce", from, to), bandwidth: true },
    { name: `GPU ${from} loads from GPU ${to}`, program: chainProgram(from, to, CHAIN), bandwidth: false },
  ]);
}

async function main(what: string): Promise<void> {
  const cells = cellsOf(what);
  const machine = await lab.open("cuda");
  const measured: MatrixCell[] = [];
  for (const { name, program, bandwidth } of cells) {
    const run = await machine.run(program, {
      ...(bandwidth ? { mode: "throughput" as const, batch: 4 } : {}),
      sampling: { warmup: 1, target: 0.02, minSamples: 5, maxSamples: 200, budgetMs: 500 },
    });
    const { medianNs, converged } = run.samples.convergence;
    const value = bandwidth ? BYTES / medianNs : medianNs;
    measured.push({ name, value, unit: bandwidth ? "GB/s" : "ns", converged });
  }
  await machine.close();
  console.log(JSON.stringify(measured));
}

await main(process.argv[2] ?? "");
