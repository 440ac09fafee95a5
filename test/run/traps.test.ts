/** uvu's traps, each planted once: the wrapper must call every one of them a failure. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";

export const TIME_LIMIT_S = 300;

const traps = suite("uvu's traps");

const HEAD = 'import { suite } from "uvu";\nimport * as assert from "uvu/assert";\nconst s = suite("s");\n';

/** Runs the wrapper over one planted file. */
function planted(source: string, environment: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-traps-"));
  try {
    mkdirSync(join(folder, "a"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "a/planted.test.js"), source);
    symlinkSync(packagePath("node_modules"), join(folder, "node_modules"));
    const { P2PLAB_REQUIRE: _, ...env } = process.env;
    const { stdout, status } = spawnSync(
      process.execPath,
      [packagePath("dist/test/run.js"), "--folder", folder],
      { encoding: "utf8", env: { ...env, ...environment } },
    );
    const lines = stdout.trimEnd().split("\n");
    return { status, last: lines.at(-1), stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

traps("a passing file passes, and the last line counts it", () => {
  const { status, last } = planted(`${HEAD}s("one", () => {});\ns("two", () => {});\ns.run();\n`);
  assert.is(last, "2 passed, 0 failed");
  assert.is(status, 0);
});

traps("a failing test fails", () => {
  const { status, last } = planted(
    `${HEAD}s("one", () => assert.is(1, 2));\ns("two", () => {});\ns.run();\n`,
  );
  assert.is(last, "1 passed, 1 failed");
  assert.is(status, 1);
});

traps("a before hook that throws fails", () => {
  const { status, stdout } = planted(
    `${HEAD}s.before(() => { throw new Error("no"); });\ns("one", () => {});\ns.run();\n`,
  );
  assert.match(stdout, /0 passed, 1 failed/);
  assert.is(status, 1);
});

traps("a failing test whose after.each throws too fails", () => {
  const { status, last } = planted(
    `${HEAD}s.after.each(() => { throw new Error("no"); });\ns("one", () => assert.is(1, 2));\ns.run();\n`,
  );
  assert.is(last, "0 passed, 1 failed");
  assert.is(status, 1);
});

traps("a suite that is never run fails", () => {
  const { last, stdout } = planted(`${HEAD}s("one", () => {});\n// s.run();\n`);
  assert.match(stdout, /suite s is never run/);
  assert.is(last, "0 passed, 1 failed");
});

traps("a left-over .only fails", () => {
  const { last, stdout } = planted(`${HEAD}s.only("one", () => {});\ns("two", () => {});\ns.run();\n`);
  assert.match(stdout, /left-over \.only/);
  assert.is(last, "0 passed, 1 failed");
});

traps("a file without a test fails", () => {
  const { last, stdout } = planted(`${HEAD}s.run();\n`);
  assert.match(stdout, /it ran no test/);
  assert.is(last, "0 passed, 1 failed");
});

traps("a file that exits before its tests end fails", () => {
  const { last } = planted(`${HEAD}s("one", () => process.exit(0));\ns.run();\n`);
  assert.is(last, "0 passed, 1 failed");
});

traps("a file that never ends fails, with what it started", () => {
  const { last, stdout } = planted(
    `${HEAD}export const TIME_LIMIT_S = 1;\ns("one", () => new Promise(() => setInterval(() => {}, 1000)));\ns.run();\n`,
  );
  assert.match(stdout, /it did not end within 1 s/);
  assert.is(last, "0 passed, 1 failed");
});

traps("a child that outlives its test does not hold the run", () => {
  const { last } = planted(
    `${HEAD}import { spawn } from "node:child_process";\ns("one", () => { spawn("sleep", ["600"], { stdio: "inherit" }).unref(); });\ns.run();\n`,
  );
  assert.is(last, "1 passed, 0 failed");
});

traps("a floating rejection fails", () => {
  const { status } = planted(
    `${HEAD}s("one", () => { Promise.reject(new Error("floating")); });\ns.run();\n`,
  );
  assert.is(status, 1);
});

traps("a skipped test is listed with its reason, and fails where everything must run", () => {
  const source = `${HEAD}s.skip("skipped: no GPU here", () => {});\ns("one", () => {});\ns.run();\n`;
  const tolerant = planted(source);
  assert.match(tolerant.stdout, /skipped in a\/planted\.test: no GPU here/);
  assert.is(tolerant.last, "1 passed, 0 failed");
  const strict = planted(source, { P2PLAB_REQUIRE: "1" });
  assert.is(strict.last, "1 passed, 1 failed");
  assert.is(strict.status, 1);
});

traps("an optional test may be skipped where everything must run, and is listed", () => {
  const { last, stdout } = planted(
    `${HEAD}s.skip("skipped (optional): no nvcc", () => {});\ns("one", () => {});\ns.run();\n`,
    { P2PLAB_REQUIRE: "1" },
  );
  assert.match(stdout, /skipped in a\/planted\.test: no nvcc/);
  assert.is(last, "1 passed, 0 failed");
});

traps("a skipped test without a reason fails", () => {
  const { last, stdout } = planted(`${HEAD}s.skip("one", () => {});\ns("two", () => {});\ns.run();\n`);
  assert.match(stdout, /has no reason/);
  assert.is(last, "0 passed, 1 failed");
});

traps("a filter that matches nothing fails", () => {
  const { stdout, status } = spawnSync(
    process.execPath,
    [packagePath("dist/test/run.js"), "no-such-suite-anywhere"],
    { encoding: "utf8" },
  );
  assert.match(stdout, /no test file matches no-such-suite-anywhere\n0 passed, 1 failed\n$/);
  assert.is(status, 1);
});

traps.run();
