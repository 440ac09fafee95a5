import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { NCU_RAW } from "../lab/import/fixtures.js";
import { nsysFixture } from "../lab/import/nsys-fixture.js";
import { nvprofFixture } from "../lab/import/nvprof-fixture.js";
import { inFolder, notebookOf, write } from "../notebook/temporary.js";

export const TIME_LIMIT_S = 300;

const test = suite("notebooks under a profiler");

/**
 * Stand-ins that write down their arguments and run the program as the profilers do; what they write is synthetic. `broken` writes
 * nothing.
 */
const STAND_INS: Readonly<Record<string, string>> = {
  nsys: `
const [verb, ...rest] = args;
if (verb === "profile") {
  const output = option("--output=");
  const command = rest.slice(rest.findIndex((word) => !word.startsWith("--")));
  const { status } = spawnSync(command[0], command.slice(1), { stdio: "inherit" });
  if (!process.env.BROKEN) writeFileSync(output + ".nsys-rep", "report");
  process.exit(status);
}
copyFileSync(join(here, "synthetic.sqlite"), option("--output="));`,
  ncu: `
const file = args[args.indexOf("--log-file") + 1];
if (!process.env.BROKEN) copyFileSync(join(here, process.env.CLOSED ? "closed.csv" : "synthetic.csv"), file);
process.exit(process.env.BROKEN || process.env.CLOSED ? 1 : 0);`,
  nvprof: `
const command = args.slice(args.lastIndexOf(args.find((word) => word.includes("%p"))) + 1);
const { status } = spawnSync(command[0], command.slice(1), { stdio: "inherit" });
const file = args.find((word) => word.includes("%p"));
writeFileSync(file.replace("%p", "11"), "");
copyFileSync(join(here, "synthetic.nvprof"), file.replace("%p", "12"));
process.exit(status);`,
};

async function standIns(folder: string): Promise<string> {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "synthetic.sqlite"), await nsysFixture("3.25.0"));
  writeFileSync(join(bin, "synthetic.csv"), NCU_RAW);
  writeFileSync(join(bin, "closed.csv"), "==ERROR== ERR_NVGPUCTRPERM - counters are closed\n");
  writeFileSync(join(bin, "synthetic.nvprof"), await nvprofFixture());
  for (const [name, body] of Object.entries(STAND_INS)) {
    const file = join(bin, name);
    writeFileSync(
      file,
      `#!${process.execPath}
const { appendFileSync, copyFileSync, writeFileSync } = require("node:fs");
const { spawnSync } = require("node:child_process");
const { join } = require("node:path");
const here = __dirname;
const args = process.argv.slice(2);
const option = (name) => args.find((word) => word.startsWith(name)).slice(name.length);
appendFileSync(join(here, "calls.txt"), JSON.stringify(["${name}", ...args]) + "\\n");
${body}
`,
    );
    chmodSync(file, 0o755);
  }
  return bin;
}

function p2plab(args: readonly string[], path: string, more: Readonly<Record<string, string>> = {}) {
  const { P2PLAB_MACHINE: _, ...env } = process.env;
  return spawnSync(process.execPath, [packagePath("dist/kernel/cli/main.js"), ...args], {
    encoding: "utf8",
    env: { ...env, PATH: path, ...more },
  });
}

const callsOf = (bin: string) =>
  readFileSync(join(bin, "calls.txt"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as string[]);

test("nsys runs the notebook, the report is exported and summarised", async () => {
  await inFolder(async (folder) => {
    const bin = await standIns(folder);
    const notebook = write(folder, "one.ipynb", notebookOf("1 + 1"));
    const out = join(folder, "out");
    const run = p2plab(["run", notebook, "--out", out, "--machine", "sim:pcie-4", "--profile", "nsys"], bin);
    assert.is(run.status, 0, run.stderr);
    const [profile, exported] = callsOf(bin) as [string[], string[]];
    assert.equal(profile.slice(0, 5), [
      "nsys",
      "profile",
      "--trace=cuda,nvtx",
      "--sample=none",
      "--cpuctxsw=none",
    ]);
    assert.equal(profile.slice(-6), ["run", notebook, "--out", out, "--machine", "sim:pcie-4"]);
    assert.not(profile.includes("--profile"));
    assert.equal([exported[1], exported.at(-1)], ["export", join(out, "one.nsys-rep")]);
    const lines = run.stdout.split("\n");
    assert.equal(lines.slice(0, 2), [join(out, "one.ipynb"), join(out, "one.sqlite")]);
    assert.match(run.stdout, /launches\ncall .*\n.*cudaMemcpyPeerAsync/s);
    assert.match(run.stdout, /imported, not measured/);
  });
});

test("a failing cell fails the command, and the profile is there all the same", async () => {
  await inFolder(async (folder) => {
    const bin = await standIns(folder);
    const notebook = write(folder, "bad.ipynb", notebookOf('throw new Error("no")'));
    const run = p2plab(["run", notebook, "--out", join(folder, "out"), "--profile", "nvprof"], bin);
    assert.is(run.status, 1);
    assert.match(run.stderr, /FAILED cell-1/);
    assert.match(run.stdout, /bad-12\.nvprof\n[\s\S]*cudaMemcpyPeerAsync/);
    assert.ok(callsOf(bin)[0]?.includes("--profile-child-processes"));
  });
});

test("a profiler that is unknown, or writes nothing, ends with what to do", async () => {
  await inFolder(async (folder) => {
    const bin = await standIns(folder);
    const notebook = write(folder, "one.ipynb", notebookOf("1"));
    const out = ["--out", join(folder, "out")];
    const unknown = p2plab(["run", notebook, ...out, "--profile", "vtune"], bin);
    assert.equal([unknown.status, /Give --profile nsys or nvprof/.test(unknown.stderr)], [2, true]);
    // A report of an earlier run does not pass for this one's.
    mkdirSync(join(folder, "out"));
    writeFileSync(join(folder, "out", "one.nsys-rep"), "report");
    const silent = p2plab(["run", notebook, ...out, "--profile", "nsys"], bin, { BROKEN: "1" });
    assert.equal([silent.status, /ended with 0 and did not write/.test(silent.stderr)], [1, true]);
  });
});

const SYSTEM = [dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter);
const bash = spawnSync("bash", ["--version"]).status === 0;
const script = (
  name: string,
  args: readonly string[],
  path: string,
  more: Readonly<Record<string, string>> = {},
) =>
  spawnSync("bash", [packagePath(`notebooks/nsight/${name}`), ...args], {
    encoding: "utf8",
    env: { ...process.env, PATH: path, ...more },
  });

if (!bash) {
  test.skip("skipped (optional): there is no bash", () => {});
} else {
  test("the script for programs exports, summarises, and ends as the program did", async () => {
    await inFolder(async (folder) => {
      const bin = await standIns(folder);
      const program = [process.execPath, "--eval", "process.exit(3)"];
      const args = [join(folder, "program"), ...program];
      const done = script("nsys-program.sh", args, `${bin}${delimiter}${SYSTEM}`);
      assert.is(done.status, 3, done.stderr);
      assert.match(done.stdout, /cudaMemcpyPeerAsync/);
      for (const name of ["nsys-program.sh", "nsys-notebook.sh", "nvprof-notebook.sh"]) {
        assert.match(script(name, [], SYSTEM).stderr, /^usage: /, name);
      }
    });
  });

  test("the script for the copying kernel gives ncu's metrics, or why there are none", async () => {
    await inFolder(async (folder) => {
      const path = `${await standIns(folder)}${delimiter}${SYSTEM}`;
      const out = join(folder, "copy.csv");
      const done = script("ncu-sm-copy.sh", [out, "4096"], path);
      assert.is(done.status, 0, done.stderr);
      assert.match(done.stdout, /CSV of Nsight Compute/);
      // Closed counters are told from ncu's file; without one, what an earlier run left does not pass for this one's.
      const closed = script("ncu-sm-copy.sh", [out], path, { CLOSED: "1" });
      assert.equal([closed.status, /ERR_NVGPUCTRPERM/.test(closed.stderr)], [1, true], closed.stderr);
      const broken = script("ncu-sm-copy.sh", [out], path, { BROKEN: "1" });
      assert.match(broken.stderr, /^ncu wrote no file \(exit code 1\)/m);
    });
  });
}

/** Where the tools are looked for beside PATH, or a folder that may hold them. */
const installed = ["/opt/nvidia", ...["nsys", "nvprof", "ncu"].map((tool) => `/usr/local/cuda/bin/${tool}`)];
const found = spawnSync("bash", ["-c", "command -v nsys nvprof ncu"], { encoding: "utf8" }).stdout ?? "";
if (!bash || found !== "" || installed.some((path) => existsSync(path))) {
  test.skip("skipped (optional): profilers may be installed here, so that none is missing", () => {});
} else {
  test("where a profiler is missing, the command and the scripts say what to do", async () => {
    await inFolder(async (folder) => {
      const notebook = write(folder, "one.ipynb", notebookOf("1"));
      const missing = p2plab(["run", notebook, "--out", folder, "--profile", "nsys"], folder);
      assert.is(missing.status, 1);
      assert.match(missing.stderr, /nsys is not installed\n {2}→ Install Nsight Systems/);
      for (const name of ["nsys-program.sh", "nsys-notebook.sh", "nvprof-notebook.sh", "ncu-sm-copy.sh"]) {
        const absent = script(name, ["a.ipynb", "b"], SYSTEM);
        assert.is(absent.status, 1, name);
        assert.match(absent.stderr, /^(nsys|nvprof|ncu) is not installed\.\n {2}→ /, name);
      }
    });
  });
}

test.run();
