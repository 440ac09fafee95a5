/**
 * Runs the uvu suites and closes uvu's traps: each file in a process of its own with a time limit; a file fails that ran no
 * test, lost one, holds `.only`, or has a suite that is never run. Skipped tests must give their reason in the title after
 * "skipped:"; under P2PLAB_REQUIRE=1 a skipped test is a failure. The last line is `N passed, N failed`.
 *
 *     node dist/test/run.js [FILTER…]      only files whose path holds one of the filters
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = join(HERE, "../..");
const DEFAULT_LIMIT_S = 120;
const PARALLEL = 2;

interface FileResult {
  file: string;
  passed: number;
  failed: number;
  skipped: number;
  problem: string | null;
  output: string;
  seconds: number;
}

/** What is wrong with a suite before it is run. */
function staticProblem(source: string): string | null {
  const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  const suites = [...code.matchAll(/(?:const|let)\s+(\w+)\s*=\s*suite(?:<[^>]*>)?\(/g)].map(
    (match) => match[1] as string,
  );
  if (suites.length === 0) return "it declares no suite";
  for (const name of suites) {
    if (new RegExp(`\\b${name}\\.only\\(`).test(code)) return `suite ${name} has a left-over .only`;
    if (!new RegExp(`\\b${name}\\.run\\(\\)`).test(code)) return `suite ${name} is never run`;
  }
  return null;
}

function limitOf(source: string): number {
  const match = /^export const TIME_LIMIT_S = (\d+);/m.exec(source);
  return match ? Number(match[1]) : DEFAULT_LIMIT_S;
}

function runFile(file: string): Promise<FileResult> {
  const source = readFileSync(join(ROOT, relative(join(ROOT, "dist"), file)).replace(/\.js$/, ".ts"), "utf8");
  const name = relative(HERE, file);
  const began = performance.now();
  const problem = staticProblem(source);
  if (problem)
    return Promise.resolve({ file: name, passed: 0, failed: 1, skipped: 0, problem, output: "", seconds: 0 });
  return new Promise((resolve) => {
    const limit = limitOf(source);
    const child = spawn(process.execPath, [file], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
      detached: process.platform !== "win32",
    });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    child.stderr.on("data", (chunk) => {
      output += chunk;
    });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      kill(child.pid);
    }, limit * 1000);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      resolve({
        file: name,
        ...verdict(output, code, signal, late ? limit : null),
        output,
        seconds: (performance.now() - began) / 1000,
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

function verdict(output: string, code: number | null, signal: string | null, limitS: number | null) {
  const count = (label: string) => {
    const match = new RegExp(`^\\s*${label}:\\s+(\\d+)`, "m").exec(output);
    return match ? Number(match[1]) : null;
  };
  const total = count("Total") ?? 0;
  const passed = count("Passed") ?? 0;
  const skipped = count("Skipped") ?? 0;
  const failed = total - passed;
  if (limitS !== null)
    return { passed, failed: failed || 1, skipped, problem: `it did not end within ${limitS} s` };
  if (total === 0) return { passed, failed: 1, skipped, problem: skipped > 0 ? null : "it ran no test" };
  if (failed === 0 && code !== 0)
    return { passed, failed: 1, skipped, problem: `it ended with ${signal ?? `code ${code}`}` };
  return { passed, failed, skipped, problem: null };
}

function skipReasons(file: string): string[] {
  const source = readFileSync(join(ROOT, "test", file).replace(/\.js$/, ".ts"), "utf8");
  return [...source.matchAll(/skipped: [^"`]+/g)].map((match) => match[0]);
}

async function main(filters: readonly string[]): Promise<number> {
  const files = readdirSync(HERE, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.js"))
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .sort();
  const queue = [...files];
  const results: FileResult[] = [];
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const result = await runFile(join(HERE, file));
      const required = process.env.P2PLAB_REQUIRE === "1";
      if (result.skipped > 0 && required) {
        result.failed += result.skipped;
        result.problem ??= `${result.skipped} skipped where everything must run: ${skipReasons(result.file).join("; ")}`;
      }
      results.push(result);
      const mark = result.failed > 0 ? "✘" : result.skipped > 0 ? "–" : "✓";
      console.log(
        `${mark} ${result.file} ${result.passed} passed${result.skipped ? `, ${result.skipped} skipped` : ""} (${result.seconds.toFixed(1)} s)`,
      );
      if (result.failed > 0) {
        if (result.problem) console.log(`    ${result.problem}`);
        console.log(result.output.trimEnd().replace(/^/gm, "    "));
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  const sum = (key: "passed" | "failed" | "skipped") =>
    results.reduce((total, result) => total + result[key], 0);
  for (const result of results.filter((r) => r.skipped > 0)) {
    for (const reason of skipReasons(result.file)) console.log(`skipped in ${result.file}: ${reason}`);
  }
  if (files.length === 0) console.log(`no test file matches ${filters.join(", ") || "anything"}`);
  const failed = sum("failed") + (files.length === 0 ? 1 : 0);
  console.log(`${sum("passed")} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
