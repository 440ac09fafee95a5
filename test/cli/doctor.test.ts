import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { plotlyFile } from "../../kernel/notebook/index.js";
import { browser, openOffline } from "../notebook/browser.js";
import { inFolder } from "../notebook/temporary.js";

export const TIME_LIMIT_S = 240;

const command = suite("p2plab doctor");

const machine = (name: string) => packagePath(`test/fixtures/machines/${name}`);

function doctor(args: readonly string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [packagePath("dist/kernel/cli/main.js"), "doctor", ...args],
    { encoding: "utf8", env: { ...process.env, ...env }, maxBuffer: 2 ** 26 },
  );
  return { status, stdout, stderr };
}

command("the exit status tells healthy, warnings, failures and nothing to look at apart", () => {
  for (const [name, wanted] of [
    ["one-gpu", 0],
    ["mig", 1],
    ["downtrained", 2],
    ["none", 3],
  ] as const) {
    const { status, stderr } = doctor(["--snapshot", machine(name)]);
    assert.is(status, wanted, `${name}: ${stderr}`);
    assert.is(stderr, "");
  }
});

command(
  "findings say what was seen, what it means and what to do; Chinese on request; colours on a terminal only",
  () => {
    const english = doctor(["--snapshot", machine("downtrained")]).stdout;
    assert.match(english, /✘ pcie-width {2}PCIe links run at full width\n {6}seen +GPU 1: x8 \/ x16\n/);
    assert.match(english, /simulated/);
    const chinese = doctor(["--snapshot", machine("downtrained"), "--lang", "zh"]).stdout;
    assert.match(chinese, /✘ pcie-width {2}PCIe链路宽度达到最大\n {6}所见/);
    for (const text of [english, chinese]) assert.not.ok(text.includes("\u001b"));
  },
);

command("--json is one object", () => {
  const { stdout, status } = doctor(["--snapshot", machine("worn"), "--json"]);
  const json = JSON.parse(stdout);
  assert.is(json.schema, "p2plab-doctor/1");
  assert.is(json.exit_status, status);
});

command(
  "what is not understood, or cannot be looked at, ends with 3: 2 is for failures of the machine",
  () => {
    for (const [args, wanted] of [
      [["--jsn"], /--jsn/],
      [["more"], /positional/i],
      [["--lang", "fr"], /no language "fr"/],
      [["--json", "--html", "x.html"], /both --json and --html/],
      [["--deadline", "soon"], /deadlineS is NaN/],
      [["--snapshot", "/none"], /cannot read the snapshot \/none/],
      [["--snapshot", machine("one-gpu"), "--html", "/proc/x/y.html"], /cannot write \/proc/],
    ] as const) {
      const { status, stdout, stderr } = doctor(args);
      assert.is(status, 3, stderr);
      assert.match(stderr, wanted);
      assert.match(stderr, /\n {2}→ \S/);
      assert.is(stdout, "");
    }
  },
);

command("this machine is looked at, and its name stays out of what is redacted", () => {
  const { stdout, status } = doctor(["--json", "--redact", "--no-ladder"]);
  const json = JSON.parse(stdout);
  assert.is(json.provenance, "measured");
  assert.is(json.exit_status, status);
  assert.equal(json.late, []);
  if (hostname().length > 3) assert.not.ok(stdout.includes(`"${hostname()}"`));
});

command("--html writes one page without identifiers, which says where it is from", () =>
  inFolder((folder) => {
    const file = join(folder, "check.html");
    const { status, stdout } = doctor(["--snapshot", machine("nvlink-down"), "--html", file]);
    assert.is(status, 2);
    assert.is(stdout, `${file}\n`);
    const page = readFileSync(file, "utf8");
    assert.match(page, /class="origin simulated"/);
    assert.match(page, /nvlink-active/);
    assert.match(page, /GPU-redacted-0/);
    assert.not.match(page, /GPU-00000000-/);
    const open = doctor(["--snapshot", machine("nvlink-down"), "--html", file, "--no-redact"]);
    assert.is(open.status, 2);
    assert.match(readFileSync(file, "utf8"), /GPU-00000000-/);
  }),
);

const without =
  (await browser.missing()) ?? (existsSync(plotlyFile()) ? null : "no plotly.min.js (npm run build)");
if (without) command.skip(`skipped: ${without}`, () => {});
else {
  command("a browser opens the page offline and draws the topology", () =>
    inFolder(async (folder) => {
      const file = join(folder, "check.html");
      doctor(["--snapshot", machine("dgx-1"), "--html", file]);
      const { figures, requests, errors, band } = await openOffline(file);
      assert.is(figures.length, 1);
      assert.ok(figures[0]?.drawn);
      assert.equal(requests, []);
      assert.equal(errors, []);
      assert.match(band, "SIMULATED");
    }),
  );
}

command(
  "output that cannot be written has a status of its own, and says why unless its reader has gone",
  () => {
    const main = packagePath("dist/kernel/cli/main.js");
    const shell = (line: string) =>
      spawnSync("bash", ["-o", "pipefail", "-c", line], {
        encoding: "utf8",
        env: { ...process.env, MAIN: main, MACHINE: machine("hgx-h200-8"), NODE: process.execPath },
      });
    const full = shell('"$NODE" "$MAIN" doctor --snapshot "$MACHINE" > /dev/full');
    assert.is(full.status, 74);
    assert.match(full.stderr, "cannot write the output: ENOSPC");
    assert.not.match(full.stderr, /at .*node:/);
    const gone = shell('"$NODE" "$MAIN" doctor --json --snapshot "$MACHINE" | head -c 10');
    assert.is(gone.status, 0);
    assert.is(gone.stderr, "");
  },
);

command("an opened machine is looked at by its specification", () => {
  const { status, stdout } = doctor(["--machine", "sim:pcie-4", "--json"]);
  assert.is(status, 1);
  const { basis, provenance } = JSON.parse(stdout);
  assert.equal([basis, provenance], ["model", "simulated"]);
});

command.run();
