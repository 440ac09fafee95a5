import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { aq, packagePath } from "../../kernel/lab/index.js";
import { NVBANDWIDTH, UCX_CSV } from "../lab/import/fixtures.js";

/** Each command is a process of its own, slow to start on a busy machine. */
export const TIME_LIMIT_S = 240;

const test = suite("p2plab import");
const folder = mkdtempSync(join(tmpdir(), "p2plab-import-"));
test.after(() => rmSync(folder, { recursive: true, force: true }));
const bandwidth = join(folder, "nvbandwidth.txt");
const ucx = join(folder, "ucx.csv");
writeFileSync(bandwidth, NVBANDWIDTH);
writeFileSync(ucx, UCX_CSV);

function p2plab(args: string[], input?: string) {
  return spawnSync(process.execPath, [packagePath("dist/kernel/cli/main.js"), "import", ...args], {
    encoding: "utf8",
    ...(input === undefined ? {} : { input }),
  });
}

test("it prints the tables and the notes, and says that they were not measured here", () => {
  const { status, stdout, stderr } = p2plab([bandwidth]);
  assert.is(status, 0, stderr);
  assert.match(
    stdout,
    /nvbandwidth\.txt: output of nvbandwidth, v0\.8 \(imported, not measured by this library\)/,
  );
  assert.match(stdout, /\ncells \(10 rows\)\ntestcase +/);
  assert.match(stdout, /\n- The output does not say when it was run\./);
});

test("JSON holds every table, numbers as numbers", () => {
  const json = JSON.parse(p2plab([bandwidth, "--json"]).stdout);
  assert.equal(
    [json.schema, json.format, json.version, json.provenance, json.machine, json.date],
    ["p2plab-import/1", "nvbandwidth", "v0.8", "imported", "2 × NVIDIA SYNTHETIC", null],
  );
  assert.equal(Object.keys(json.tables), ["cells", "testcases"]);
  assert.is(json.tables.cells[1].gbps, 200.25);
  assert.equal(Object.keys(JSON.parse(p2plab([bandwidth, "--json", "--table", "testcases"]).stdout).tables), [
    "testcases",
  ]);
});

test("CSV and Arrow hold one table, named where there are several", () => {
  const csv = p2plab([ucx, "--csv"]).stdout.trim().split("\n");
  assert.is(csv.length, 2);
  assert.match(csv[0] as string, /,machine,provenance,date$/);
  const several = p2plab([bandwidth, "--csv"]);
  assert.is(several.status, 2);
  assert.match(several.stderr, /has 2 tables.*\n.*--table: cells, testcases/);
  const out = join(folder, "cells.arrow");
  assert.is(p2plab([bandwidth, "--arrow", "--table", "cells", "--out", out]).status, 0);
  assert.is(aq.fromArrow(readFileSync(out)).numRows(), 10);
});

test("standard input is read for a dash", () => {
  assert.match(p2plab(["-", "--csv"], UCX_CSV).stdout, /^test,name,final/);
});

if (process.platform === "win32") {
  test.skip("skipped (optional): there is no sh", () => {});
} else {
  test("a reader that closes the pipe, such as head, is no failure", () => {
    const [header, row] = UCX_CSV.split("\n") as [string, string];
    const long = join(folder, "long.csv");
    writeFileSync(long, [header, ...new Array<string>(4000).fill(row)].join("\n"));
    const main = packagePath("dist/kernel/cli/main.js");
    const piped = '"$0" "$1" import "$2" --json | head -c 10';
    const { stdout, stderr } = spawnSync("sh", ["-c", piped, process.execPath, main, long], {
      encoding: "utf8",
    });
    assert.equal([stdout.length, stderr], [10, ""]);
  });
}

test("what cannot be read is told with what to do, and ends with 1 or 2", () => {
  const lost = p2plab([join(folder, "none")]);
  assert.is(lost.status, 1);
  assert.match(lost.stderr, /p2plab import: cannot read .*none.*\n +→ Check the path\./);
  const nothing = p2plab([]);
  assert.is(nothing.status, 2);
  assert.match(nothing.stderr, /no file is named\n.*nccl-tests/);
  assert.is(p2plab([ucx, "--json", "--csv"]).status, 2);
  assert.is(p2plab([ucx, "--format", "qqq"]).status, 2);
  assert.is(p2plab([ucx, "--csv", "--table", "__proto__"]).status, 2);
});

test.run();
