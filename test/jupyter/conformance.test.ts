/** jupyter_kernel_test, Jupyter's own check of a kernel, on the installed kernelspec. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";

export const TIME_LIMIT_S = 240;

const conformance = suite("conformance");

/** The environment's Python, then the system's: Debian's package is of that one alone. */
const python = ["python3", "/usr/bin/python3"].find(
  (program) => spawnSync(program, ["-c", "import jupyter_kernel_test"]).status === 0,
);

if (python === undefined) {
  const reason =
    "no jupyter_kernel_test here (.venv/bin/pip install jupyter_kernel_test==0.7.0, or apt install python3-jupyter-kernel-test)";
  console.log(`skipped: ${reason}`);
  conformance.skip(`skipped: ${reason}`, () => undefined);
} else {
  conformance("jupyter_kernel_test passes, and skips nothing", () => {
    const prefix = mkdtempSync(join(tmpdir(), "p2plab conformance "));
    try {
      const installed = spawnSync(
        process.execPath,
        [packagePath("dist/kernel/cli/main.js"), "kernel", "install", "--prefix", prefix],
        { encoding: "utf8" },
      );
      assert.is(installed.status, 0, installed.stderr);
      const { status, stdout, stderr } = spawnSync(
        python,
        [packagePath("test/jupyter/conformance.py"), "p2plab"],
        {
          encoding: "utf8",
          cwd: prefix,
          env: { ...process.env, JUPYTER_PATH: join(prefix, "share/jupyter"), PYTHONDONTWRITEBYTECODE: "1" },
        },
      );
      const told = `${stdout}${stderr}`;
      assert.is(status, 0, told);
      assert.match(told, /^Ran 1[2-9] tests in/m);
      assert.not.match(told, /skipped/, told);
    } finally {
      rmSync(prefix, { recursive: true, force: true });
    }
  });
}

conformance.run();
