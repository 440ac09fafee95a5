import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { lab, packagePath } from "../../kernel/lab/index.js";
import { inFolder, notebookOf, write } from "../notebook/temporary.js";

export const TIME_LIMIT_S = 240;

const command = suite("the command p2plab");

function p2plab(args: string[], cwd?: string) {
  const { P2PLAB_MACHINE: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [packagePath("dist/kernel/cli/main.js"), ...args],
    { encoding: "utf8", env, ...(cwd ? { cwd } : {}) },
  );
  return { status, stdout, stderr };
}

command("help lists each subcommand; every one listed answers --help", () => {
  const { status, stdout } = p2plab(["help"]);
  assert.is(status, 0);
  const names = [...stdout.matchAll(/^ {2}p2plab (\w+)/gm)].map((match) => match[1] as string);
  assert.equal(names, [
    "doctor",
    "matrix",
    "run",
    "report",
    "site",
    "record",
    "check",
    "import",
    "machines",
    "kernel",
    "lab",
    "help",
  ]);
  for (const name of names.slice(0, -1)) {
    const about = p2plab([name, "--help"]);
    assert.is(about.status, 0);
    assert.ok(about.stdout.startsWith(`p2plab ${name}`), about.stdout);
  }
});

command("version is that of package.json", () => {
  const { version } = JSON.parse(readFileSync(packagePath("package.json"), "utf8")) as { version: string };
  assert.is(p2plab(["version"]).stdout, `${version}\n`);
});

command("what is not understood ends with 2 and says what would be", () => {
  for (const [args, wanted] of [
    [[], /p2plab run NOTEBOOK/],
    [["mtrix"], /no command "mtrix"/],
    [["run"], /no notebook is named/],
    [["run", "x.ipynb", "--machin", "cuda"], /--machin.*[\s\S]*usage: p2plab run/],
    [["run", "a/x.ipynb", "b/x.html"], /a\/x\.ipynb and b\/x\.html would both be written as x\n/],
    [["run", "x.ipynb", "--timeout", "1e9"], /--timeout 1e9 is not a number of seconds above 0 and up to/],
    [["run", "x.ipynb", "--timeout", "soon"], /--timeout soon is not a number of seconds/],
    [["report", "x.ipynb", "--format", "odt"], /no report format "odt"/],
    [["report", "x.ipynb", "--via", "pandoc"], /no way to html by --via pandoc/],
    [["site", "99"], /there is no chapter 99[\s\S]*there are: 01/],
    [["matrix", "--metric", "speed", "--machine", "sim:pcie-4"], /no metric "speed"/],
    [["matrix", "--json", "--csv"], /both --json and --csv/],
    [["record", "x.ipynb"], /takes notebooks, or none, and --out FILE/],
    [["record", "x.ipynb", "--out", "r", "--rounds", "9"], /--rounds has no meaning when a notebook/],
    [["record", "--out", "r", "--timeout", "9"], /--timeout has no meaning when a baseline/],
    [
      ["record", "--out", "r", "--machine", "sim:pcie-gen4-2", "--programs", "speed"],
      /no set of programs "speed"/,
    ],
    [
      ["record", "--out", "r", "--machine", "sim:pcie-gen4-2", "--rounds", "many"],
      /a baseline of NaN rounds/,
    ],
    [["check"], /one baseline/],
    [["kernel"], /kernel \(nothing\) is not known/],
    [["kernel", "install", "--user", "--sys-prefix"], /more than one location/],
  ] as const) {
    const { status, stderr, stdout } = p2plab([...args]);
    assert.is(status, 2, args.join(" "));
    assert.match(stderr, wanted);
    assert.is(stdout, "");
  }
});

command(
  "run writes the notebook, prints its path alone on stdout, and tells each cell on stderr",
  async () => {
    await inFolder((folder) => {
      write(folder, "n.ipynb", notebookOf("1", "2"));
      const { status, stdout, stderr } = p2plab(["run", "n.ipynb", "--machine", "sim:hgx-h100-8"], folder);
      assert.is(status, 0, stderr);
      assert.is(stdout, `${join(folder, "reports/n.ipynb")}\n`);
      assert.match(stderr, /\[1\/2\] cell-1\n.*\[2\/2\] cell-2\n/);
    });
  },
);

command("a failing cell ends with 1; cell, line and error are named; the notebook is there", async () => {
  await inFolder((folder) => {
    write(folder, "n.ipynb", notebookOf('const a = 1;\nthrow new TypeError("no " + a);'));
    const { status, stderr } = p2plab(["run", "n.ipynb", "--out", "o"], folder);
    assert.is(status, 1);
    assert.match(stderr, /FAILED cell-1, line 2: TypeError: no 1/);
    assert.match(readFileSync(join(folder, "o/n.ipynb"), "utf8"), /"output_type": "error"/);
  });
});

command("bad input is a message and what to do, code 1, and nothing half-written", async () => {
  await inFolder((folder) => {
    write(folder, "good.ipynb", notebookOf("1"));
    writeFileSync(join(folder, "bad.ipynb"), '{"cells": [,]}');
    writeFileSync(join(folder, "a-file"), "");
    const before = readdirSync(folder).sort();
    for (const [args, wanted] of [
      [["run", "missing.ipynb"], /cannot read missing\.ipynb/],
      // Told before the first one runs.
      [["run", "good.ipynb", "bad.ipynb", "--out", "o"], /bad\.ipynb is not a notebook: line 1, column 12/],
      [["run", "bad.ipynb"], /bad\.ipynb is not a notebook: line 1, column 12/],
      [["report", "bad.ipynb", "--no-execute"], /bad\.ipynb is not a notebook: line 1, column 12/],
      [["run", "good.ipynb", "--out", "a-file/x"], /cannot write into .*a-file\/x/],
      [["run", "good.ipynb", "--out", "/proc/p2plab"], /cannot write into \/proc\/p2plab/],
      [["report", "good.ipynb", "--no-execute", "--out", "a-file/x"], /cannot write into a-file\/x/],
      [["kernel", "install", "--prefix", "a-file/x"], /cannot write into .*a-file\/x\/share/],
    ] as const) {
      const { status, stderr, stdout } = p2plab([...args], folder);
      assert.is(status, 1, `${args.join(" ")}: ${stderr}`);
      assert.match(stderr, wanted);
      assert.match(stderr, /\n {2}→ \S/);
      assert.is(stdout, "");
    }
    assert.equal(readdirSync(folder).sort(), before);
  });
});

command("an unknown machine is named with those that are known", async () => {
  await inFolder((folder) => {
    write(folder, "n.ipynb", notebookOf("1"));
    const { status, stderr } = p2plab(["run", "n.ipynb", "--machine", "gpu9"], folder);
    assert.is(status, 1);
    assert.match(stderr, /no machine "gpu9"[\s\S]*sim:hgx-h100-8/);
    assert.not(existsSync(join(folder, "reports/n.ipynb")));
  });
});

command("machines lists what can be opened, as text and as JSON with a schema", () => {
  const { status, stdout } = p2plab(["machines"]);
  assert.is(status, 0);
  assert.match(stdout, /^cuda +\S/m);
  assert.match(stdout, /^sim:hgx-h100-8 +.*\(simulated\)$/m);
  assert.match(stdout, /^default: (measured|recorded): /m);
  const json = JSON.parse(p2plab(["machines", "--json"]).stdout) as Record<string, unknown>;
  assert.is(json.schema, "p2plab-machines/1");
  assert.is((json.default as { kind: string }).kind.length > 0, true);
  assert.ok((json.machines as { spec: string }[]).some(({ spec }) => spec === "recorded:h200x2"));
});

command("record without GPUs says so before any cell runs", async () => {
  await inFolder((folder) => {
    write(folder, "n.ipynb", notebookOf("1"));
    const env = { ...process.env, P2PLAB_LIBCUDA: join(folder, "no-such-library") };
    const { status, stderr } = spawnSync(
      process.execPath,
      [packagePath("dist/kernel/cli/main.js"), "record", "n.ipynb", "--out", "r.arrow"],
      { encoding: "utf8", cwd: folder, env },
    );
    assert.is(status, 1);
    assert.match(stderr, /^p2plab record: \S/m);
    assert.not(existsSync(join(folder, "r.arrow")));
  });
});

command(
  "check of an unchanged machine ends with 0, of a slower one with 1 and the cells, in text and JSON",
  async () => {
    await inFolder((folder) => {
      const file = join(folder, "b.arrow");
      const of = (name: string) => ["--machine", `sim:${name}`];
      const made = p2plab([
        "record",
        "--out",
        file,
        "--programs",
        "latency",
        "--rounds",
        "8",
        ...of("pcie-gen4-2"),
      ]);
      assert.is(made.status, 0, made.stderr);
      assert.is(made.stdout, `${file}\n`);
      const same = p2plab(["check", file, ...of("pcie-gen4-2"), "--json"]);
      assert.is(same.status, 0, same.stderr);
      const json = JSON.parse(same.stdout) as Record<string, unknown>;
      assert.is(json.schema, "p2plab-check/1");
      assert.is(json.provenance, "simulated");
      assert.equal([json.programs, json.worse, json.not_measured], [30, 0, 0]);
      // The same model, its baseline made a twentieth faster.
      const before = lab.readBaseline(file);
      const faster = before.runs.map((run) => ({ ...run, totalNs: run.totalNs.map((ns) => ns / 1.05) }));
      lab.saveBaseline(file, { recording: { ...before, runs: faster }, missing: [] });
      const worse = p2plab(["check", file, ...of("pcie-gen4-2")]);
      assert.is(worse.status, 1, worse.stderr);
      assert.match(worse.stdout, /^30 of 30 programs worse:\n {2}latency \S+ 0 → 1 /);
    });
  },
);

/** Runs the command until a line of its stderr matches, then presses Ctrl-C (or sends another signal) once. */
async function interrupted(
  args: string[],
  when: RegExp,
  signal: NodeJS.Signals = "SIGINT",
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [packagePath("dist/kernel/cli/main.js"), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr, sent] = ["", "", false];
  child.stdout.on("data", (data) => {
    stdout += data;
  });
  child.stderr.on("data", (data) => {
    stderr += data;
    if (when.test(stderr) && !sent) sent = child.kill(signal);
  });
  const [status] = (await once(child, "close")) as [number | null];
  return { status, stdout, stderr };
}

command("a run that is stopped keeps what ran, and a report of it says so", async () => {
  await inFolder(async (folder) => {
    const file = write(folder, "n.ipynb", notebookOf('"first"', "while (true) {}", "3"));
    const out = join(folder, "o");
    const stopped = await interrupted(["run", file, "--out", out], /\[2\/3\]/, "SIGTERM");
    assert.is(stopped.status, 143, stopped.stderr);
    assert.match(
      stopped.stderr,
      /FAILED cell-2: StoppedError: stopped by SIGTERM\n.*what ran until then is kept in/,
    );
    assert.is(stopped.stdout, `${join(out, "n.ipynb")}\n`);
    assert.match(readFileSync(join(out, "n.ipynb"), "utf8"), /first/);
    assert.equal(readdirSync(out), ["n.ipynb"]);
    assert.is(p2plab(["report", join(out, "n.ipynb"), "--no-execute", "--out", out]).status, 0);
    assert.match(readFileSync(join(out, "n.html"), "utf8"), /NOT RUN TO THE END<\/strong><span>1 \/ 3 /);
  });
});

command("a run that is killed leaves no cell running", async () => {
  await inFolder(async (folder) => {
    const tellPid = 'import * as fs from "fs";\nfs.writeFileSync("pid", String(process.pid));';
    const file = write(folder, "n.ipynb", notebookOf(tellPid, "while (true) {}"));
    const killed = await interrupted(["run", file, "--out", join(folder, "o")], /\[2\/2\]/, "SIGKILL");
    assert.is(killed.status, null);
    const status = `/proc/${readFileSync(join(folder, "pid"), "utf8")}/status`;
    const runs = () => existsSync(status) && !/^State:\s+Z/m.test(readFileSync(status, "utf8"));
    for (let i = 0; i < 200 && runs(); i++) await new Promise((done) => setTimeout(done, 100));
    assert.not(runs());
  });
});

command("Ctrl-C keeps the whole rounds of a record, and what a check has found", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "base.arrow");
    const sim = ["--machine", "sim:pcie-4"];
    const latency = ["--programs", "latency,bandwidth,setup"];
    const long = ["record", "--out", file, ...latency, "--rounds", "1000", ...sim];
    const early = await interrupted(long, /round [1-4] of/);
    assert.is(early.status, 130, early.stderr);
    assert.match(early.stderr, /needs 8 rounds, and \d were complete: there is none/);
    assert.not(existsSync(file));
    const late = await interrupted(long, /round (9|\d\d+) of/);
    assert.is(late.status, 130, late.stderr);
    assert.match(
      late.stderr,
      /stopped on request in round \d+ of 1000; the rounds that were complete are kept/,
    );
    assert.ok((lab.readBaseline(file).runs[0]?.rounds?.length ?? 0) >= 8);
    const check = await interrupted(["check", file, ...sim], /round [1-4] of 8/);
    assert.is(check.status, 130, check.stderr);
    assert.match(check.stderr, /in its first look[\s\S]*nothing can be said/);
  });
});

command("check that could not measure ends with 3, never with 1", async () => {
  await inFolder((folder) => {
    const file = join(folder, "b.arrow");
    const sim = ["--machine", "sim:pcie-gen4-2"];
    assert.is(p2plab(["record", "--out", file, "--programs", "latency", "--rounds", "8", ...sim]).status, 0);
    for (const [args, wanted] of [
      [["check", "missing.arrow", ...sim], /cannot read missing\.arrow/],
      [["check", file, "--machine", "recorded:h200x2"], /cannot be run again/],
      [["check", file, "--machine", "sim:nothing"], /no simulated machine "nothing"/],
    ] as const) {
      const { status, stderr, stdout } = p2plab([...args], folder);
      assert.is(status, 3, `${args.join(" ")}: ${stderr}`);
      assert.match(stderr, wanted);
      assert.is(stdout, "");
    }
    const other = p2plab(["check", file, "--machine", "sim:rtx4090-2", "--tolerance", "90"]);
    assert.is(other.status, 3, other.stderr);
    assert.match(other.stdout, /10 of 30 programs not measured/);
  });
});

command(
  "kernel install writes a kernelspec with absolute paths, and a template; uninstall removes both",
  async () => {
    await inFolder((folder) => {
      const installed = p2plab(["kernel", "install", "--prefix", folder]);
      const spec = join(folder, "share/jupyter/kernels/p2plab");
      const template = join(folder, "share/jupyter/nbconvert/templates/p2plab");
      assert.is(installed.stdout, `installed ${spec}\ninstalled ${template}\n`);
      assert.ok(existsSync(join(template, "conf.json")) && existsSync(join(template, "index.html.j2")));
      assert.equal(readdirSync(spec).sort(), [
        "kernel.json",
        "logo-32x32.png",
        "logo-64x64.png",
        "logo-svg.svg",
        "plotly.min.js",
      ]);
      const kernel = JSON.parse(readFileSync(join(spec, "kernel.json"), "utf8")) as Record<string, unknown>;
      const argv = kernel.argv as string[];
      assert.equal(argv.slice(0, 4), [
        "/bin/sh",
        packagePath("kernel/jupyter/start.sh"),
        "{connection_file}",
        process.execPath,
      ]);
      assert.is(kernel.display_name, "P2P Lab (TypeScript)");
      assert.is(kernel.language, "typescript");
      assert.is(kernel.interrupt_mode, "message");
      const uninstall = () => p2plab(["kernel", "uninstall", "--prefix", folder]);
      assert.is(uninstall().stdout, `removed ${spec}\nremoved ${template}\n`);
      assert.equal([...readdirSync(dirname(spec)), ...readdirSync(dirname(template))], []);
      assert.is(uninstall().status, 1);
    });
  },
);

command.run();
