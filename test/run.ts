/**
 * Runs the uvu suites and closes uvu's traps. Each file runs in a process of its own with a time limit, and fails when it ran
 * no test, lost one, holds `.only`, has a suite that is never run, or does not end. A test that cannot run here is declared as
 * `test.skip("skipped: REASON", …)`; under P2PLAB_REQUIRE=1 it is a failure, unless its title begins "skipped (optional): ",
 * for what no CI machine can be made to have. The last line is `N passed, N failed`.
 *
 *     node dist/test/run.js [--folder FOLDER] [FILTER…]      only files whose path holds one of the filters
 *
 * A file that needs more than the default 120 s says so: `export const TIME_LIMIT_S = 240;`
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Rules, readRules } from "./run/rules.js";

const COMPILED = fileURLToPath(new URL(".", import.meta.url));
const ROOT = join(COMPILED, "../..");
const PARALLEL = 2;

interface Suite {
  /** Name of the file from the tests' folder, such as `lab/units.test`. */
  readonly name: string;
  readonly rules: Rules;
  /** What Node.js runs. */
  readonly program: string;
}

interface Result {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  /** Reasons of skipped tests. */
  readonly skipped: readonly string[];
  /** What is wrong beside failing tests; null when nothing is. */
  readonly problem: string | null;
  readonly output: string;
  readonly seconds: number;
}

/**
 * The suites of a folder, by their sources: one that was not compiled is then a failure instead of being overlooked.
 * @param folder holds sources `*.test.ts` whose programs are under dist/test, or programs `*.test.js` themselves.
 */
function suitesOf(folder: string, filters: readonly string[]): Suite[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.test\.(ts|js)$/.test(file) && !file.includes("node_modules"))
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .sort()
    .map((file) => ({
      name: file.replace(/\.(ts|js)$/, ""),
      rules: readRules(readFileSync(join(folder, file), "utf8")),
      program: file.endsWith(".ts")
        ? join(COMPILED, file.replace(/\.ts$/, ".js"))
        : join(resolve(folder), file),
    }));
}

async function run(suite: Suite, skipsFail: boolean): Promise<Result> {
  const { name, rules } = suite;
  const problem = existsSync(suite.program)
    ? rules.problem
    : `it is not compiled: ${suite.program} is missing`;
  if (problem) return { name, passed: 0, failed: 1, skipped: [], problem, output: "", seconds: 0 };
  const began = performance.now();
  const end = await runProgram(suite.program, rules.limitS);
  const seconds = (performance.now() - began) / 1000;
  const passed = countOf(end.output, "Passed");
  const skips = countOf(end.output, "Skipped");
  const skipped = skips > 0 ? reasonsOf(rules.skipReasons, end.output) : [];
  const lost = countOf(end.output, "Total") - passed;
  const ownProblem = end.problem ?? (passed + lost + skips === 0 ? "it ran no test" : null);
  const wrongSkips = skipsFail ? Math.max(0, skips - rules.optionalSkips) : 0;
  const failed = lost + (ownProblem && lost === 0 ? 1 : 0) + wrongSkips;
  return {
    name,
    passed,
    failed,
    skipped,
    problem:
      ownProblem ?? (wrongSkips > 0 ? `skipped where everything must run: ${skipped.join("; ")}` : null),
    output: end.output,
    seconds,
  };
}

/** The number that uvu's summary ends with; tests may have printed the like before it. */
function countOf(output: string, label: string): number {
  const last = [...output.matchAll(new RegExp(`^\\s*${label}:\\s+(\\d+)`, "gm"))].at(-1);
  return last ? Number(last[1]) : 0;
}

/** uvu does not print what it skips: reasons are lines that the test printed, otherwise the titles in its source. */
function reasonsOf(titles: readonly string[], output: string): readonly string[] {
  const printed = [...output.matchAll(/^skipped: (.+)$/gm)].map((match) => match[1] as string);
  return printed.length > 0 ? printed : titles;
}

/** Runs a program to its end; `problem` is null when it ended by itself with code 0, or only because a test failed. */
function runProgram(program: string, limitS: number): Promise<{ output: string; problem: string | null }> {
  return new Promise((done) => {
    const child = spawn(process.execPath, [program], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
      detached: process.platform !== "win32",
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      kill(child.pid);
    }, limitS * 1000);
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      // Whatever the test has left running would hold its output open.
      kill(child.pid);
      child.once("close", () => {
        const problem = late
          ? `it did not end within ${limitS} s`
          : code === 0
            ? null
            : `it ended with ${signal ?? `code ${code}`}`;
        done({ output, problem });
      });
    });
  });
}

/** Ends a test and whatever it started. */
function kill(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
  } catch {
    // It has ended by itself in the meantime.
  }
}

function report(result: Result): void {
  const { name, passed, failed, skipped, problem, output, seconds } = result;
  const mark = failed > 0 ? "✘" : skipped.length > 0 ? "–" : "✓";
  const skips = skipped.length > 0 ? `, ${skipped.length} skipped` : "";
  console.log(`${mark} ${name}: ${passed} passed${skips} (${seconds.toFixed(1)} s)`);
  if (failed === 0) return;
  if (problem) console.log(`    ${problem}`);
  console.log(output.trimEnd().replace(/^/gm, "    "));
}

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { folder: { type: "string", default: join(ROOT, "test") } },
  });
  const skipsFail = process.env.P2PLAB_REQUIRE === "1";
  const suites = suitesOf(values.folder, positionals);
  // The longest first, by what they allow themselves: one of them begun last would run alone.
  const queue = [...suites].sort((a, b) => b.rules.limitS - a.rules.limitS);
  const results: Result[] = [];
  const worker = async () => {
    for (let suite = queue.shift(); suite; suite = queue.shift()) {
      const result = await run(suite, skipsFail);
      results.push(result);
      report(result);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  for (const { name, skipped } of results)
    for (const reason of skipped) console.log(`skipped in ${name}: ${reason}`);
  for (const { name, failed } of results) if (failed > 0) console.log(`failed: ${name}`);
  if (suites.length === 0) console.log(`no test file matches ${positionals.join(", ") || "anything"}`);
  const sum = (key: "passed" | "failed") => results.reduce((total, result) => total + result[key], 0);
  const failed = sum("failed") + (suites.length === 0 ? 1 : 0);
  console.log(`${sum("passed")} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
