import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type ErrorCode, P2pError } from "../../kernel/lab/index.js";
import {
  type Notebook,
  type NotebookOutput,
  type RunMetadata,
  type RunNotebookOptions,
  readNotebook,
  runNotebook,
} from "../../kernel/notebook/index.js";
import { inFolder, notebookOf, write } from "./temporary.js";

export const TIME_LIMIT_S = 240;

const runner = suite("headless runner");

/** Runs code cells; gives what was written, read back. */
async function run(sources: string[], options: Partial<RunNotebookOptions> = {}) {
  return await inFolder(async (folder) => {
    const file = write(folder, "n.ipynb", notebookOf(...sources));
    const out = join(folder, "out");
    const executed = await runNotebook(file, { out, ...options });
    assert.is(executed.file, join(out, "n.ipynb"));
    return { ...executed, written: readNotebook(executed.file) };
  });
}

function outputsOf(notebook: Notebook, index: number): NotebookOutput[] {
  return notebook.cells[index]?.outputs ?? (assert.unreachable(`cell ${index} has no outputs`) as never);
}

async function refused(code: ErrorCode, action: () => Promise<unknown>): Promise<P2pError> {
  try {
    await action();
  } catch (error) {
    assert.instance(error, P2pError, String(error));
    assert.is((error as P2pError).code, code);
    return error as P2pError;
  }
  return assert.unreachable("it was accepted") as never;
}

runner("cells run in order in one session; outputs and counts are stored", async () => {
  const { written, failures } = await run(["const x = 20;", 'console.log("a"); console.log("b");', "x + 1"]);
  assert.equal(failures, []);
  assert.equal(
    written.cells.map((cell) => cell.execution_count),
    [1, 2, 3],
  );
  assert.equal(outputsOf(written, 0), []);
  assert.equal(outputsOf(written, 1), [{ name: "stdout", output_type: "stream", text: "a\nb\n" }]);
  const [result] = outputsOf(written, 2);
  assert.is(result?.output_type, "execute_result");
  assert.is((result as { data: Record<string, unknown> }).data["text/plain"], "21");
  assert.is((result as { execution_count: number }).execution_count, 3);
});

runner(
  "stops at a failing cell; the notebook is written with the error; cell and line are named",
  async () => {
    const { written, failures } = await run(["1", 'const a = 1;\nthrow new RangeError("too far");', "3"]);
    assert.equal(failures.length, 1);
    const { cell, line, ename, evalue } = failures[0] as (typeof failures)[number];
    assert.equal(
      { cell, line, ename, evalue },
      { cell: "cell-2", line: 2, ename: "RangeError", evalue: "too far" },
    );
    assert.is(outputsOf(written, 1)[0]?.output_type, "error");
    assert.is(written.cells[2]?.execution_count, null);
    assert.equal(outputsOf(written, 2), []);
  },
);

runner("goes on after a failing cell when errors are allowed", async () => {
  const { written, failures } = await run(['throw new Error("x");', "2"], { allowErrors: true });
  assert.is(failures.length, 1);
  assert.is(written.cells[1]?.execution_count, 2);
});

runner("a type error fails its cell with its line, before it runs", async () => {
  const { failures } = await run(['const n: number = 1;\nconst s: string = n;\nconsole.log("ran");']);
  assert.is(failures[0]?.line, 2);
  assert.match(failures[0]?.evalue ?? "", /TS2322/);
});

runner(
  "a cell that takes its process down fails; no later cell runs, even when errors are allowed",
  async () => {
    const { written, failures } = await run(
      [
        // What it leaves running holds its streams open, and keeps nobody waiting.
        'import { spawn } from "child_process";\nimport * as fs from "fs";\nfs.writeSync(2, "last words\\n");\n' +
          'spawn("sleep", ["20"], { detached: true, stdio: "inherit" }).unref();\nprocess.kill(process.pid, "SIGKILL");\nawait new Promise(() => {});',
        "2",
      ],
      { allowErrors: true },
    );
    assert.equal(
      failures.map(({ cell, ename }) => [cell, ename]),
      [["cell-1", "DeadKernelError"]],
    );
    const outputs = outputsOf(written, 0);
    assert.equal(outputs[0], { name: "stderr", output_type: "stream", text: "last words\n" });
    assert.is(outputs[1]?.output_type, "error");
    assert.is(written.cells[1]?.execution_count, null);
  },
);

runner("a cell that does not end is stopped at the limit, even in a loop that never yields", async () => {
  const { failures } = await run(["while (true) {}", "2"], { timeoutS: 2 });
  assert.equal(
    failures.map(({ cell, ename, evalue }) => [cell, ename, evalue]),
    [["cell-1", "CellTimeoutError", "the cell did not end within 2 s and was stopped"]],
  );
});

runner("what a stopped cell has started is stopped with it", async () => {
  const { written } = await run(
    [
      'import { spawn } from "child_process";\nconst child = spawn("sleep", ["300"]);\nconsole.log(child.pid);',
      "while (true) {}",
    ],
    // The first cell has Node.js's types read, on a machine that may be busy.
    { timeoutS: 6 },
  );
  const printed = outputsOf(written, 0)[0] as { text: string };
  const pid = Number(printed.text);
  assert.ok(pid > 1);
  // Killed with its group; init reaps it a moment later.
  for (let i = 0; i < 100 && running(pid); i++) await new Promise((done) => setTimeout(done, 20));
  assert.not(running(pid));
});

runner(
  "what has run is on the disk while the next cell runs, marked as a run that has not ended",
  async () => {
    const look = [
      'import * as fs from "fs";',
      'const { cells, metadata } = JSON.parse(fs.readFileSync("out/n.ipynb", "utf8"));',
      "console.log(cells[0].outputs[0].data['text/plain'].join(''), metadata.p2plab.cellsRan, metadata.p2plab.cells);",
    ].join("\n");
    const { written } = await run(['"first"', look, "3"], { keepEveryS: 0 });
    assert.equal(outputsOf(written, 1), [{ name: "stdout", output_type: "stream", text: "'first' 1 3\n" }]);
    const { cells, cellsRan } = written.metadata.p2plab as RunMetadata;
    assert.equal([cells, cellsRan], [3, 3]);
  },
);

runner("a hint of a failing cell's error comes with the failure", async () => {
  const { failures } = await run(['await lab.open("gpu9")']);
  assert.match(failures[0]?.hint ?? "", /Use one of: auto/);
});

runner(
  "what is no regular file is refused, and a link to the notebook's own folder is seen through",
  async () => {
    await refused("notebook", () => runNotebook("/dev/zero", { out: "x" }));
    await inFolder(async (folder) => {
      const file = write(folder, "n.ipynb", notebookOf("1"));
      symlinkSync(folder, join(folder, "link"));
      const before = readFileSync(file, "utf8");
      await refused("output", () => runNotebook(file, { out: join(folder, "link") }));
      assert.is(readFileSync(file, "utf8"), before);
    });
  },
);

/** Whether a process runs; a dead one that nobody has waited for does not. */
function running(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

runner("what goes to the process's own streams is stored too", async () => {
  const { written } = await run([
    'import * as fs from "fs";\nfs.writeSync(1, "native\\n");\nawait new Promise((done) => setTimeout(done, 200));',
  ]);
  assert.equal(outputsOf(written, 0), [{ name: "stdout", output_type: "stream", text: "native\n" }]);
});

runner("cells run in the notebook's folder, and the ledger goes to the out folder", async () => {
  const { written, file } = await run(["process.cwd()", "process.env.P2PLAB_LEDGER"]);
  const shown = [0, 1].map((index) => JSON.stringify(outputsOf(written, index)));
  const folder = join(file, "../..");
  assert.ok(shown[0]?.includes(folder) && !shown[0].includes(join(folder, "out")), shown[0]);
  assert.ok(shown[1]?.includes(join(folder, "out", "p2plab-ledger.json")), shown[1]);
});

runner("the machine is the one that was asked for; what cells opened is left in the metadata", async () => {
  const { written } = await run(["const machine = await lab.open();"], { machine: "sim:hgx-h100-8" });
  const { machines, provenance, executed, version, digest } = written.metadata.p2plab as RunMetadata;
  assert.equal(
    machines.map(({ kind, source }) => [kind, source]),
    [["simulated", "sim:hgx-h100-8"]],
  );
  assert.is(provenance, "simulated");
  assert.match(executed, /^\d{4}-\d\d-\d\dT/);
  assert.match(version, /^\d+\.\d+\.\d+/);
  assert.match(digest, /^[0-9a-f]{64}$/);
});

runner("a notebook that opens no machine claims none", async () => {
  const { written } = await run(["1"], { machine: "sim:hgx-h100-8" });
  const metadata = written.metadata.p2plab as RunMetadata;
  assert.equal(metadata.machines, []);
  assert.is(metadata.provenance, undefined);
});

runner("an unknown machine is refused before any cell runs, and nothing is written", async () => {
  await inFolder(async (folder) => {
    const file = write(folder, "n.ipynb", notebookOf("1"));
    const out = join(folder, "out");
    const error = await refused("machine-spec", () => runNotebook(file, { out, machine: "sim:no-such" }));
    assert.match(error.message, /no-such/);
    assert.ok(error.hint.length > 0);
    assert.equal(readdirSync(out), []);
  });
});

runner("a run that is stopped before its first cell writes nothing", async () => {
  await inFolder(async (folder) => {
    const out = join(folder, "out");
    const file = write(folder, "n.ipynb", notebookOf("1"));
    const running = refused("cancelled", () => runNotebook(file, { out }));
    process.emit("SIGINT", "SIGINT");
    assert.match((await running).message, /^stopped by SIGINT before the first cell ran$/);
    assert.equal(readdirSync(out), []);
  });
});

runner("an out folder that cannot be made is refused before any cell runs", async () => {
  await inFolder(async (folder) => {
    const touched = join(folder, "touched");
    const file = write(
      folder,
      "n.ipynb",
      notebookOf(`import * as fs from "fs";\nfs.writeFileSync(${JSON.stringify(touched)}, "");`),
    );
    writeFileSync(join(folder, "a-file"), "");
    const error = await refused("output", () => runNotebook(file, { out: join(folder, "a-file/out") }));
    assert.ok(error.message.includes(join(folder, "a-file/out")), error.message);
    assert.not(existsSync(touched));
  });
});

runner("a result that would replace its own input is refused", async () => {
  await inFolder(async (folder) => {
    const file = write(folder, "n.ipynb", notebookOf("1"));
    const before = readFileSync(file, "utf8");
    await refused("output", () => runNotebook(file, { out: folder }));
    assert.is(readFileSync(file, "utf8"), before);
  });
});

runner("the input file is not changed", async () => {
  await inFolder(async (folder) => {
    const file = write(folder, "n.ipynb", notebookOf("1 + 1"));
    const before = readFileSync(file, "utf8");
    await runNotebook(file, { out: join(folder, "out") });
    assert.is(readFileSync(file, "utf8"), before);
  });
});

runner("a missing file, and a notebook of another language, are refused by name", async () => {
  await inFolder(async (folder) => {
    const out = join(folder, "out");
    const missing = await refused("notebook", () => runNotebook(join(folder, "none.ipynb"), { out }));
    assert.match(missing.message, /cannot read .*none\.ipynb/);
    const python = notebookOf("print(1)");
    python.metadata = { kernelspec: { name: "python3", language: "python", display_name: "Python 3" } };
    const file = write(folder, "p.ipynb", python);
    const foreign = await refused("notebook", () => runNotebook(file, { out }));
    assert.match(foreign.message, /is a notebook in python \(kernel python3\)/);
  });
});

runner.run();
