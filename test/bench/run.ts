/**
 * Benchmarks with bars:
 *
 *     npm run bench -- NAME [--json] [--rounds N] [--only TEXT]
 *
 * A table goes to stderr; JSON to stdout with `--json`, or when stdout is no terminal. Exit code 1 when a bar is missed or
 * nothing could be measured, 2 for wrong arguments. `--only` keeps rows whose name holds TEXT.
 */
import { parseArgs } from "node:util";
import { type BenchRow, exitCode, tableOf, tally } from "./row.js";

export interface BenchOptions {
  /** How often both sides of a ratio are measured, in turns; each bench has its own default. */
  readonly rounds: number | null;
  /** Whether a row is wanted, by its name; what belongs to unwanted rows only is not run. */
  wants(name: string): boolean;
  /** A line on what is being done. */
  say(line: string): void;
}

export interface BenchResult {
  /** What was measured on, such as `1 × NVIDIA H200`. */
  readonly machine: string;
  readonly rows: readonly BenchRow[];
  /** What a reader must know beside the figures. */
  readonly warnings: readonly string[];
  /** Versions and conditions that the rows depend on. */
  readonly facts: Readonly<Record<string, string | number | null>>;
}

interface Bench {
  readonly describes: string;
  run(options: BenchOptions): Promise<BenchResult>;
}

const BENCHES: Readonly<Record<string, Bench>> = {
  import: {
    describes: "importing large files of other tools",
    run: async (options) => (await import("./import.js")).importBench(options),
  },
  kernel: {
    describes:
      "the Jupyter kernel beside plain tslab, which preloads nothing: start-up, cells, memory, stopping",
    run: async (options) => (await import("./kernel.js")).kernelBench(options),
  },
  lab: {
    describes: "the measurement library over recordings and simulations, without GPUs",
    run: async (options) => (await import("./lab.js")).labBench(options),
  },
  native: {
    describes:
      "the measurement engine on real GPUs, beside nvbandwidth, p2pBandwidthLatencyTest and C++ loops",
    run: async (options) => (await import("./native.js")).nativeBench(options),
  },
  sim: {
    describes: "the simulated machine: scores of its predictions, agreement with theory, speed; no GPU",
    run: async (options) => (await import("./sim.js")).simBench(options),
  },
};

class UsageError extends Error {}

function usage(): string {
  const names = Object.entries(BENCHES).map(([name, bench]) => `    ${name}   ${bench.describes}`);
  return ["usage: npm run bench -- NAME [--json] [--rounds N] [--only TEXT]", ...names].join("\n");
}

function argumentsOf(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      rounds: { type: "string" },
      only: { type: "string", default: "" },
    },
  });
  const [name, ...more] = positionals;
  if (name === undefined) throw new UsageError("no benchmark is named");
  if (more.length > 0) throw new UsageError(`one benchmark at a time: ${positionals.join(" ")}`);
  const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
  if (!bench) throw new UsageError(`there is no benchmark "${name}"`);
  const rounds = values.rounds === undefined ? null : Number(values.rounds);
  if (rounds !== null && !(Number.isInteger(rounds) && rounds > 0 && rounds <= 1000)) {
    throw new UsageError(`--rounds is ${values.rounds}; give a whole number from 1 to 1000`);
  }
  return { name, bench, rounds, only: values.only, json: values.json || !process.stdout.isTTY };
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(args: string[]): Promise<number> {
  let wanted: ReturnType<typeof argumentsOf>;
  try {
    wanted = argumentsOf(args);
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n${usage()}`);
    return 2;
  }
  const { name, bench, rounds, only, json } = wanted;
  const began = performance.now();
  const { machine, rows, warnings, facts } = await bench.run({
    rounds,
    wants: (row) => row.includes(only),
    say,
  });
  const seconds = (performance.now() - began) / 1000;
  const { met, missed, notRun } = tally(rows);
  say(`\n${name} on ${machine}\n${tableOf(rows)}`);
  for (const warning of warnings) say(`warning: ${warning}`);
  say(`${met} bars met, ${missed} missed, ${notRun} rows not run, ${seconds.toFixed(0)} s`);
  if (json) {
    const schema = { name: "p2plab-bench", version: 1 };
    const date = new Date().toISOString();
    process.stdout.write(
      `${JSON.stringify({ schema, bench: name, machine, date, facts, warnings, rows }, null, 2)}\n`,
    );
  }
  return exitCode(rows);
}

process.exitCode = await main(process.argv.slice(2));
