import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";

const test = suite("p2plab matrix");

function p2plab(args: string[]) {
  return spawnSync(process.execPath, [packagePath("dist/kernel/cli/main.js"), ...args], { encoding: "utf8" });
}

test("it prints a readable matrix, CSV or JSON", () => {
  const args = ["matrix", "--machine", "sim:rtx4090-2"];
  const text = p2plab(args);
  assert.is(text.status, 0, text.stderr);
  assert.match(text.stdout, /^latency, µs, 8 B, copy-engine · simulated: model of two RTX 4090/);
  assert.match(text.stdout, /\n *from\\to +0 +1\n +0 +[\d.]+ +[\d.]+\*\n/);
  assert.match(text.stdout, /\* staged through the host 0 → 1: no peer access/);
  const json = JSON.parse(p2plab([...args, "--json"]).stdout) as Record<string, unknown>;
  assert.equal(
    [json.schema, json.metric, json.provenance, (json.cells as unknown[]).length],
    ["p2plab-matrix/1", "latency", "simulated", 4],
  );
  const csv = p2plab([...args, "--csv", "--metric", "load-latency"])
    .stdout.trim()
    .split("\n");
  assert.is(csv.length, 5);
  assert.match(csv[0] as string, /^from,to,arrow,metric.*machine,provenance,date$/);
});

test("cells of a recording's model are marked one by one, and what was measured beside others is said in a sentence", () => {
  const args = ["matrix", "--machine", "recorded:h200x2+twin"];
  const text = p2plab(args);
  assert.match(text.stdout, /copy-engine · .*simulated: twin of.*recorded: 2 × NVIDIA H200/);
  assert.match(text.stdout, /\n +0 +~[\d.]+ +[\d.]+ *\n +1 +~[\d.]+ +~/);
  assert.match(text.stdout, /\n~ simulated, 0 → 0, 1 → 0, 1 → 1; the others are recorded\n/);
  const { cells } = JSON.parse(p2plab([...args, "--json"]).stdout) as { cells: { provenance: string }[] };
  assert.equal(
    cells.map(({ provenance }) => provenance),
    ["simulated", "recorded", "simulated", "simulated"],
  );
  const server = p2plab(["matrix", "--machine", "sim:pcie-4", "--metric", "bandwidth"]).stdout;
  assert.match(server, /\n12 cells measured alone, since \d → \d is \d+ % slower beside 1 other pair\n/);
});

test("Ctrl-C prints the cells that are done, and ends with 130", async () => {
  const child = spawn(
    process.execPath,
    [packagePath("dist/kernel/cli/main.js"), "matrix", "--machine", "sim:gb200-nvl72", "--csv"],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let stdout = "";
  let stderr = "";
  // A second one would end it at once.
  let sent = false;
  child.stdout.on("data", (data) => {
    stdout += data;
  });
  child.stderr.on("data", (data) => {
    stderr += data;
    if (/^[1-9]\d*\/5184/m.test(stderr) && !sent) sent = child.kill("SIGINT");
  });
  const [status] = await once(child, "close");
  assert.is(status, 130, stderr);
  const done = Number(/after (\d+) of 5184 cells/.exec(stderr)?.[1]);
  assert.ok(done > 0 && done < 5184, stderr);
  assert.is(stdout.trim().split("\n").length, done + 1);
});

test.run();
