/** Set-up in a copy of its own: only what it needs of the repository, in a folder whose name is awkward. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";

const setup = suite("set-up");

async function inCopy<T>(use: (root: string) => T | Promise<T>): Promise<T> {
  const root = join(mkdtempSync(join(tmpdir(), "p2plab-setup-")), "with space 汉字");
  try {
    mkdirSync(join(root, "kernel"), { recursive: true });
    for (const place of ["kernel/setup.mjs", "kernel/setup", "environment.yml", "package.json"])
      cpSync(packagePath(place), join(root, place), { recursive: true });
    return await use(root);
  } finally {
    rmSync(join(root, ".."), { recursive: true, force: true });
  }
}

const IMPORT = (root: string, file: string) =>
  JSON.stringify(new URL(`file://${root}/kernel/setup/${file}`).href);

/** Arguments by which Node.js runs a script with the copy's machinery in scope. */
function script(root: string, body: string): string[] {
  return [
    "--input-type=module",
    "-e",
    `import * as steps from ${IMPORT(root, "steps.mjs")};\nimport * as python from ${IMPORT(root, "python.mjs")};\n${body}`,
  ];
}

function run(root: string, body: string, env: NodeJS.ProcessEnv = process.env) {
  return spawnSync(process.execPath, script(root, body), { encoding: "utf8", env });
}

/** A step that appends to a file each time it is done. */
const COUNTED = (root: string, hash: string, work = "") => `
import { appendFileSync, existsSync } from "node:fs";
const unlock = await steps.lock();
await steps.step("s", { hash: ${JSON.stringify(hash)}, present: () => existsSync(${JSON.stringify(join(root, "made"))}), does: "it",
  action: async () => { ${work} appendFileSync(${JSON.stringify(join(root, "made"))}, "x"); } });
unlock();`;

setup("an old Node.js is told which is needed and how to get it", () => {
  const old =
    "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.18.3'}})";
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", old, packagePath("kernel/setup.mjs"), "start"],
    {
      encoding: "utf8",
    },
  );
  assert.is(status, 1);
  assert.match(
    stderr,
    /^p2plab needs Node\.js 20\.19 or later; this is 20\.18\.3 .*\n {2}→ Install a newer one/,
  );
});

setup("an unknown action ends with 2 and the usage", () => {
  const { status, stderr } = spawnSync(process.execPath, [packagePath("kernel/setup.mjs"), "instal"], {
    encoding: "utf8",
  });
  assert.is(status, 2);
  assert.match(stderr, /^usage: node kernel\/setup\.mjs setup \| build \| start/);
});

setup("a step is done once; again when its inputs change or its result is gone", async () => {
  await inCopy((root) => {
    const made = () => readFileSync(join(root, "made"), "utf8");
    const first = run(root, COUNTED(root, "1"));
    assert.is(first.status, 0, first.stderr);
    assert.match(first.stderr, /^ {2}… s: it\n {2}✓ s \(\d+\.\d s\)\n$/);
    assert.is(run(root, COUNTED(root, "1")).stderr, "");
    assert.is(made(), "x");
    run(root, COUNTED(root, "2"));
    assert.is(made(), "xx");
    rmSync(join(root, "made"));
    run(root, COUNTED(root, "2"));
    assert.is(made(), "x");
  });
});

setup("a step that was killed half-way is done again, though an earlier stamp fits", async () => {
  await inCopy((root) => {
    run(root, COUNTED(root, "1"));
    assert.is(run(root, COUNTED(root, "2", "process.kill(process.pid, 'SIGKILL');")).signal, "SIGKILL");
    run(root, COUNTED(root, "1"));
    assert.is(readFileSync(join(root, "made"), "utf8"), "xx");
  });
});

setup("a failing program is told with the end of its log, the log's name and what to do", async () => {
  await inCopy((root) => {
    const body = `
const unlock = await steps.lock();
await steps.logged("tool", process.execPath, ["-e", "console.log('last words'); process.exit(3)"], { hint: "Do this." })
  .catch((error) => { console.log(error instanceof steps.SetupError, error.message); });
unlock();`;
    const { stdout } = run(root, body);
    assert.match(
      stdout,
      /^true tool failed \(exit code 3\)\. The whole log is .*tool\.log; its end:\n {4}last words\n {2}→ Do this\.\n$/,
    );
  });
});

/** Starts a set-up that takes the lock, says so, and waits; resolves when it has the lock. */
async function holder(root: string, body = ""): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    script(root, `await steps.lock();\n${body}\nconsole.log("held");\nsetInterval(() => {}, 1000);`),
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

setup(
  "one set-up at a time: the second says whom it waits for, and goes on when the first has ended",
  async () => {
    await inCopy(async (root) => {
      const first = await holder(root);
      const second = spawn(process.execPath, script(root, "(await steps.lock())(); console.log('mine');"), {
        stdio: ["ignore", "pipe", "pipe"],
      });
      const said = String((await once(second.stderr, "data"))[0]);
      assert.match(said, new RegExp(`another set-up is at work here \\(\\S+ ${first.pid}\\)`));
      first.kill("SIGKILL");
      const [output] = await once(second.stdout, "data");
      assert.is(String(output), "mine\n");
      await once(second, "exit");
      assert.not(existsSync(join(root, ".p2plab/lock")));
    });
  },
);

setup("a lock of a process that is gone, or whose time is old, is taken over", async () => {
  await inCopy(async (root) => {
    const lock = join(root, ".p2plab/lock");
    mkdirSync(join(root, ".p2plab"));
    const gone = spawnSync(process.execPath, ["-e", ""]).pid;
    writeFileSync(lock, `${hostname()} ${gone}`);
    assert.is(run(root, "(await steps.lock())(); console.log('mine');").stdout, "mine\n");
    // Killed, and kept for a parent that does not ask about it, as in a container without an init.
    const parent = spawn("/bin/sh", ["-c", "sleep 60 & echo $!; exec sleep 60"]);
    try {
      const zombie = Number((await once(parent.stdout, "data"))[0]);
      process.kill(zombie, "SIGKILL");
      writeFileSync(lock, `${hostname()} ${zombie}`);
      const taken = run(root, "(await steps.lock())(); console.log('mine');");
      assert.equal([taken.stdout, taken.stderr], ["mine\n", ""]);
    } finally {
      parent.kill();
    }
    writeFileSync(lock, `${hostname()} ${process.pid}`);
    const old = `import { utimesSync } from "node:fs"; utimesSync(${JSON.stringify(lock)}, 1, 1); (await steps.lock())(); console.log('mine');`;
    assert.is(run(root, old).stdout, "mine\n");
  });
});

setup("an ended set-up ends what it started and gives the lock back", async () => {
  await inCopy(async (root) => {
    const mark = join(root, "alive");
    const work = `steps.logged("child", process.execPath, ["-e", ${JSON.stringify(
      `const fs = require("fs"); setInterval(() => fs.writeFileSync(${JSON.stringify(mark)}, String(process.pid)), 20)`,
    )}]);
const fs = await import("node:fs");
while (!fs.existsSync(${JSON.stringify(mark)})) await new Promise((done) => setTimeout(done, 20));`;
    const child = await holder(root, work);
    const pid = Number(readFileSync(mark, "utf8"));
    child.kill("SIGTERM");
    const [status] = await once(child, "exit");
    assert.is(status, 143);
    assert.not(existsSync(join(root, ".p2plab/lock")));
    for (let tries = 0; tries < 100 && isAlive(pid); tries++)
      await new Promise((done) => setTimeout(done, 50));
    assert.not(isAlive(pid), `process ${pid} is still there`);
  });
});

const ended = process.platform === "linux" ? setup : setup.skip;
if (process.platform !== "linux") console.log("skipped: only Linux says when a process began");
ended(
  "what a killed set-up left running is ended before the next begins, and no other process of that number",
  async () => {
    await inCopy(async (root) => {
      const mark = join(root, "alive");
      const work = `steps.logged("child", "/bin/sh", ["-c", ${JSON.stringify(`trap '' HUP; echo $$ > "${mark}"; sleep 60 & wait`)}]);
const fs = await import("node:fs");
while (!fs.existsSync(${JSON.stringify(mark)})) await new Promise((done) => setTimeout(done, 20));`;
      const killed = await holder(root, work);
      killed.kill("SIGKILL");
      await once(killed, "exit");
      const pid = Number(readFileSync(mark, "utf8"));
      const record = join(root, ".p2plab/running.json");
      const kept = JSON.parse(readFileSync(record, "utf8"));
      assert.is(kept[0].pid, pid);
      assert.ok(isAlive(pid), "the program ended with its set-up");

      const body = "(await steps.lock())(); console.log('mine');";
      writeFileSync(record, JSON.stringify([{ ...kept[0], start: `${kept[0].start}0` }, 7, null]));
      const stranger = run(root, body);
      assert.is(stranger.stdout, "mine\n", stranger.stderr);
      assert.ok(isAlive(pid), "a process with another start was ended");

      writeFileSync(record, JSON.stringify(kept));
      const next = run(root, body);
      assert.is(next.stdout, "mine\n");
      assert.match(next.stderr, new RegExp(`was killed had left something running \\(${pid}\\); ended\n$`));
      assert.not(isRunning(pid), `process ${pid} is still there`);
      assert.not(existsSync(record));
    });
  },
);

/** Not ended, nor ended and waiting for a parent to ask about it. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

setup("the advice follows from what the package manager printed", async () => {
  await inCopy((root) => {
    const cases: [printed: string, advice: RegExp][] = [
      ["npm error code ENOTEMPTY\nnpm error syscall rename", /^Another program works in F: end it, remove F/],
      ["npm ERR! code EBUSY", /^Another program works in F/],
      ["npm error code ENOSPC", /^The disk or the quota is full/],
      [
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
        /^The disk/,
      ],
      ["npm error code EACCES\nnpm error path /root/.npm", /npm_config_cache=FOLDER/],
      ["npm error code EUSAGE", /^package\.json and package-lock\.json/],
      ["npm error code EINTEGRITY", /^A package arrived damaged/],
      ["npm error code EAI_AGAIN\nnpm error syscall getaddrinfo", /^MIRROR$/],
      ["npm error code E503", /^MIRROR$/],
      ["ERROR: No matching distribution found for jupyterlab<5,>=4.2", /^MIRROR$/],
      ["npm error code ELIFECYCLE", /^OTHERWISE$/],
    ];
    const { stdout, stderr } = run(
      root,
      `const { adviceFor } = await import(${IMPORT(root, "advice.mjs")});
for (const printed of ${JSON.stringify(cases.map(([printed]) => printed))})
  console.log(adviceFor(printed, { folder: "F", network: "MIRROR", otherwise: "OTHERWISE" }));`,
    );
    const advice = stdout.trimEnd().split("\n");
    assert.is(advice.length, cases.length, stderr);
    for (const [i, [printed, expected]] of cases.entries()) assert.match(advice[i] ?? "", expected, printed);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

setup("versions are compared by number against every part of a constraint", async () => {
  await inCopy((root) => {
    const cases = [
      ["4.10.0", ">=4.2,<5"],
      ["4.1.9", ">=4.2,<5"],
      ["5.0.0", ">=4.2,<5"],
      ["7.16", ">=7.16"],
      ["6.0.1", ""],
      ["0.10.4", ">=0.10"],
      ["0.9.9", ">=0.10"],
    ];
    const { stdout } = run(
      root,
      `console.log(${JSON.stringify(cases)}.map(([v, c]) => python.meets(v, c)).join());`,
    );
    assert.is(stdout, "true,false,false,true,true,true,false\n");
  });
});

setup("where a conda environment is active, its own program installs what is missing there", async () => {
  await inCopy((root) => {
    const prefix = join(root, "env");
    const bin = join(root, "bin");
    mkdirSync(join(prefix, "bin"), { recursive: true });
    mkdirSync(bin);
    // A stand-in for mamba that keeps its arguments and makes what would be installed.
    const mamba = `#!/bin/sh\nprintf '%s\\n' "$@" > "${root}/asked"\n: > "${prefix}/bin/jupyter-lab"\n`;
    writeFileSync(join(bin, "mamba"), mamba);
    chmodSync(join(bin, "mamba"), 0o755);
    const { CONDA_EXE: _c, MAMBA_EXE: _m, ...rest } = process.env;
    const env = { ...rest, CONDA_PREFIX: prefix, PATH: `${bin}:/usr/bin:/bin` };
    const { stderr, status } = run(
      root,
      "const unlock = await steps.lock(); await python.pythonEnvironment(); unlock();",
      env,
    );
    assert.is(status, 0, stderr);
    const asked = readFileSync(join(root, "asked"), "utf8").split("\n");
    assert.equal(asked.slice(0, 4), ["install", "--yes", "--prefix", prefix]);
    assert.ok(asked.includes("jupyterlab>=4.2,<5"), asked.join(" "));
    assert.ok(
      asked.some((name) => name.startsWith("python>=")),
      asked.join(" "),
    );
    assert.not(existsSync(join(root, ".venv")));
  });
});

setup("commands of an environment that was moved start the Python beside them", async () => {
  await inCopy((root) => {
    const bin = join(root, ".venv/bin");
    mkdirSync(bin, { recursive: true });
    // In place of Python: says which script it was given.
    writeFileSync(join(bin, "python"), '#!/bin/sh\necho "python of this place: $1"\n', { mode: 0o755 });
    // Both forms that pip writes, one that is right, and what pip did not write.
    const files = {
      short: "#!/old/place/.venv/bin/python3.11\nprint(1) # ü\n",
      long: `#!/bin/sh\n'''exec' "/old place/汉字/.venv/bin/python" "$0" "$@"\n' '''\nprint(1)\n`,
      own: `#!/bin/sh\n'''exec' "${bin}/python" "$0" "$@"\n' '''\nprint(1)\n`,
      other: "#!/usr/bin/env bash\necho /old/place/.venv/bin/python\n",
      binary: Buffer.from([0x7f, 0x45, 0xff, 0x0a]),
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(bin, name), text, { mode: 0o755 });
    const body = `const { ownScripts } = await import(${IMPORT(root, "venv-scripts.mjs")});
const { prefix } = python.environment();
console.log(ownScripts(prefix), ownScripts(prefix));`;
    const { CONDA_PREFIX: _, ...env } = process.env;
    const { stdout, stderr } = run(root, body, env);
    assert.is(stdout, "2 0\n", stderr);
    for (const name of ["own", "other"] as const)
      assert.is(readFileSync(join(bin, name), "utf8"), files[name]);
    assert.equal(readFileSync(join(bin, "binary")), files.binary);
    assert.match(readFileSync(join(bin, "short"), "utf8"), / # ü\n$/);
    for (const name of ["short", "long"]) {
      const said = spawnSync(join(bin, name), { encoding: "utf8" }).stdout;
      assert.is(said, `python of this place: ${join(bin, name)}\n`);
    }
  });
});

setup("what is installed and compiled is not done again for another version of Node.js", async () => {
  await inCopy((root) => {
    const { stdout, stderr } = run(
      root,
      `const before = steps.hashOf(["package.json"]);
Object.defineProperty(process, "version", { value: "v99.0.0" });
console.log(steps.hashOf(["package.json"]) === before, steps.hashOf(["package.json"], { more: process.version }) === before);`,
    );
    assert.is(stdout, "true false\n", stderr);
  });
});

setup("JupyterLab's language pack is asked for once, and done without where no index has it", async () => {
  await inCopy((root) => {
    const bin = join(root, ".venv/bin");
    mkdirSync(bin, { recursive: true });
    const { CONDA_PREFIX: _, ...env } = process.env;
    const pack = (exit: number) => {
      writeFileSync(join(bin, "python"), `#!/bin/sh\nprintf '%s\\n' "$@" >> "${root}/asked"\nexit ${exit}\n`);
      chmodSync(join(bin, "python"), 0o755);
      return run(root, "const unlock = await steps.lock(); await python.languagePack(); unlock();", env);
    };
    const overrides = join(root, ".venv/share/jupyter/lab/settings/overrides.json");
    const refused = pack(1);
    assert.is(refused.status, 0, refused.stderr);
    assert.match(refused.stderr, /\n {2}– language pack: .* cannot be had here .*menus stay English\n$/);
    assert.not(existsSync(overrides));
    assert.is(pack(0).stderr, "");
    assert.is(readFileSync(join(root, "asked"), "utf8").match(/language-pack-zh-CN/g)?.length, 1);
    rmSync(join(root, ".p2plab/stamps.json"));
    assert.match(pack(0).stderr, /✓ language pack/);
    assert.match(readFileSync(overrides, "utf8"), /"locale": "zh_CN"/);
  });
});

setup(
  "a clone of somebody else's that can only be read is used when it is set up, and said not to be otherwise",
  async () => {
    await inCopy((root) => {
      assert.is(run(root, COUNTED(root, "one")).status, 0);
      // Root may write whatever the mode says: its word on access is replaced, as it is where it is not root.
      const only = (hash: string) =>
        run(
          root,
          `const fs = (await import("node:module")).createRequire("/")("node:fs");
fs.accessSync = () => { throw new Error("EACCES"); };
(await import("node:module")).syncBuiltinESMExports();
const unlock = await steps.lock();
await steps.step("s", { hash: ${JSON.stringify(hash)}, present: () => true, does: "it", action: async () => console.log("done") });
unlock();
console.log("on", steps.onlyRead);`,
        );
      assert.is(only("one").stdout, "on true\n");
      const stale = only("two");
      assert.is(stale.status, 1);
      assert.is(stale.stdout, "");
      assert.match(stale.stderr, /s: not up to date here, and .* cannot be written\.\n {2}→ .*npm run setup/);
      assert.not(existsSync(join(root, ".p2plab/lock")));
    });
  },
);

setup("without npm or a compiler the message says what is not there and how to get it", async () => {
  await inCopy((root) => {
    const bin = join(root, "bin");
    mkdirSync(bin);
    const { npm_execpath: _e, CXX: _c, MAKE: _m, ...rest } = process.env;
    const env = { ...rest, PATH: bin };
    const ci = `const unlock = await steps.lock();
await steps.npm("npm", ["ci"]).catch((e) => console.log(e.message)); unlock();`;
    const without = run(root, ci, env);
    assert.is(without.stderr, "");
    assert.match(without.stdout, /^npm failed: npm is not on the PATH\.\n {2}→ .*apt install npm\.\n$/);
    for (const name of ["npm", "python3"])
      writeFileSync(join(bin, name), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    writeFileSync(join(root, "binding.gyp"), "{}");
    const body = `const commands = await import(${IMPORT(root, "commands.mjs")});
const unlock = await steps.lock(); await commands.addon(); await commands.addon(); unlock();`;
    const { stderr, status } = run(root, body, { ...env, P2PLAB_REQUIRE: "" });
    assert.is(status, 0, stderr);
    const advice =
      /build:addon\n {4}→ Not on the PATH: c\+\+, make\. Debian and Ubuntu: apt install g\+\+ make\./g;
    assert.is(stderr.match(advice)?.length, 2, stderr);
  });
});

setup("without Python the message names the package to install and the way without it", async () => {
  await inCopy((root) => {
    const { CONDA_PREFIX: _, ...rest } = process.env;
    const body =
      "const unlock = await steps.lock(); await python.pythonEnvironment().catch((e) => console.log(e.message)); unlock();";
    const { stdout } = run(root, body, { ...rest, PATH: join(root, "nothing") });
    assert.match(
      stdout,
      /^no python3 >=3\.10 on the PATH\.\n {2}→ .*apt install python3 python3-venv.*npm start -- --headless/,
    );
  });
});

setup.run();
