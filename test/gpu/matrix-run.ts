/**
 * A whole matrix of bandwidth and latency in a process of its own, so that its wall time can be held against nvbandwidth's:
 * opens the machine, verifies and measures every cell to its confidence target, prints them as JSON.
 *
 *     node dist/test/gpu/matrix-run.js host | pair | full
 */
import { lab } from "../../kernel/lab/index.js";
import { BYTES, hostCopy, pairBothWays, peerCopy } from "./cells.js";
import { CHAIN, chainProgram } from "./compare/load-latency.js";

type Program = ReturnType<typeof lab.program>;

export interface MatrixCell {
  readonly name: string;
  readonly value: number;
  readonly unit: "GB/s" | "ns";
  /** Whether the confidence interval met its target. */
  readonly converged: boolean;
  /** Since the start of the process. */
  readonly doneAfterMs: number;
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

/** What can be asked for; the full matrix has the one-way cells of both and adds those with traffic both ways. */
export type MatrixPart = "host" | "pair" | "full";

/** The cells of the testcases that wall-time.ts names: of the host, nvbandwidth prints one for every GPU that it sees. */
function cellsOf(what: string, gpus: number): Wanted[] {
  if (what === "host") return Array.from({ length: gpus }, (_, gpu) => hostCells(gpu)).flat();
  if (what === "pair") return pairCells();
  if (what === "full") return [...cellsOf("host", gpus), ...pairCells(), ...bothWaysCells()];
  throw new Error("usage: matrix-run host | pair | full");
}

function hostCells(gpu: number): Wanted[] {
  return [
    { name: `host to GPU ${gpu}`, program: hostCopy("h2d", "copy-engine", gpu), bandwidth: true },
    { name: `GPU ${gpu} to host`, program: hostCopy("d2h", "copy-engine", gpu), bandwidth: true },
    { name: `GPU ${gpu} loads from host`, program: chainProgram(gpu, "host", CHAIN), bandwidth: false },
  ];
}

function pairCells(): Wanted[] {
  return PAIRS.flatMap(([from, to]) => [
    { name: `GPU ${from} to GPU ${to}, write`, program: peerCopy("write", "ce", from, to), bandwidth: true },
    { name: `GPU ${from} to GPU ${to}, read`, program: peerCopy("read", "ce", from, to), bandwidth: true },
    { name: `GPU ${from} loads from GPU ${to}`, program: chainProgram(from, to, CHAIN), bandwidth: false },
  ]);
}

/** Two cells each, as nvbandwidth has them: which of the two GPUs comes first is the only difference. */
function bothWaysCells(): Wanted[] {
  return PAIRS.flatMap(([from, to]) =>
    (["write", "read"] as const).map((way) => ({
      name: `GPU ${from} and GPU ${to} both ways, ${way}`,
      program: pairBothWays(way, "ce", from, to),
      bandwidth: true,
    })),
  );
}

async function main(what: string): Promise<void> {
  const machine = await lab.open("cuda");
  const cells = cellsOf(what, machine.info.gpus.length);
  const measured: MatrixCell[] = [];
  for (const { name, program, bandwidth } of cells) {
    const run = await machine.run(program, {
      ...(bandwidth ? { mode: "throughput" as const } : {}),
      sampling: { warmup: 1, target: 0.02, minSamples: 5, maxSamples: 200, budgetMs: 500 },
    });
    const { medianNs, converged } = run.samples.convergence;
    const value = bandwidth ? BYTES / medianNs : medianNs;
    measured.push({
      name,
      value,
      unit: bandwidth ? "GB/s" : "ns",
      converged,
      doneAfterMs: Math.round(process.uptime() * 1e3),
    });
  }
  await machine.close();
  console.log(JSON.stringify(measured));
}

await main(process.argv[2] ?? "");
