import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../../kernel/lab/index.js";
import { fakeEnvironment, missing } from "../../native/toolchain.js";
import { englishIn } from "./english.js";

export const TIME_LIMIT_S = 900;

const test = suite("the doctor on the live machine, with the stand-in driver");

interface Seen {
  status: number | null;
  seconds: number;
  stderr: string;
  // biome-ignore lint/suspicious/noExplicitAny: a JSON object
  json: any;
  /** Status of a finding, and what was seen. */
  of(id: string): { status: string; evidence: { en: string } };
}

function doctor(settings: Record<string, string>, ...args: string[]): Seen {
  const begin = performance.now();
  const child = spawnSync(
    process.execPath,
    [packagePath("dist/kernel/cli/main.js"), "doctor", "--json", ...args],
    { encoding: "utf8", env: fakeEnvironment(settings), timeout: 240_000, maxBuffer: 2 ** 26 },
  );
  const json = child.stdout === "" ? null : JSON.parse(child.stdout);
  for (const { id, evidence } of json?.findings ?? [])
    assert.is(englishIn(evidence.zh), null, `${id}: ${evidence.zh}`);
  return {
    status: child.status,
    seconds: (performance.now() - begin) / 1000,
    stderr: child.stderr,
    json,
    of: (id) => json.findings.find((finding: { id: string }) => finding.id === id),
  };
}

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("two healthy GPUs: every pair and kind of memory has its verdict, links were seen under load", () => {
    const { json, of } = doctor({});
    assert.is(json.provenance, "measured");
    assert.is(json.gpus.length, 2);
    assert.is(json.verdicts.verdicts.length, 6);
    assert.is(of("verdicts").status, "pass");
    assert.is(of("peer-access").status, "pass");
    assert.is(of("nvlink-active").status, "pass");
    assert.is(json.gpus[0].loaded.generation, 5);
    assert.is(json.pairs[0].link, "NV18");
    assert.equal(
      json.findings.filter((finding: { status: string }) => finding.status === "fail"),
      [],
    );
  });

  test("a snapshot of this machine is this machine again, recorded and without identifiers", () => {
    const folder = mkdtempSync(join(tmpdir(), "p2plab-snapshot-"));
    try {
      const live = doctor({}, "--save", folder);
      const text = readFileSync(join(folder, "machine.json"), "utf8");
      assert.not.match(text, /GPU-[0-9a-f]{8}-/);
      const libraries = Object.keys(JSON.parse(text).files).filter((path) => /^\/usr\/lib.*\//.test(path));
      assert.equal(
        libraries.filter((path) => /\.so|\.a$/.test(path) && !/\/libcuda\.[^/]*$/.test(path)),
        [],
      );
      const again = doctor({}, "--snapshot", folder);
      assert.is(again.json.provenance, "recorded");
      assert.is(again.status, live.status);
      const seen = (one: Seen) =>
        one.json.findings.map(({ id, status }: { id: string; status: string }) => `${id} ${status}`);
      assert.equal(seen(again), seen(live));
      for (const part of ["pci", "nics", "host", "software", "versions", "topology"]) {
        assert.equal(again.json[part], live.json[part], part);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("without the ladder no byte is sent", () => {
    const { json, of } = doctor({}, "--no-ladder");
    assert.equal(json.verdicts.verdicts, []);
    assert.match(of("verdicts").evidence.en, "not asked for");
    assert.is(json.gpus[0].loaded, null);
  });

  test("a link that hangs is reported with its rung, other directions go on, and the command ends", () => {
    const { status, json, of } = doctor({ P2PLAB_FAKE_MODE: "hang", P2PLAB_FAKE_PAIRS: "0>1" });
    assert.is(status, 2);
    assert.is(of("verdicts").status, "fail");
    assert.match(of("verdicts").evidence.en, /GPU 0 → 1 malloc: hang \(copy-engine write/);
    const outcomes = json.verdicts.verdicts.map(
      (one: Record<string, unknown>) => `${one.from}>${one.to} ${one.allocator} ${one.outcome}`,
    );
    assert.equal(outcomes.sort(), ["0>1 malloc hang", "1>0 malloc ok", "1>0 pool ok", "1>0 vmm ok"]);
    assert.is(json.verdicts.unasked, 2);
  });

  test("writes that only the writer sees are a failure with what to look at next", () => {
    const { status, of } = doctor({ P2PLAB_FAKE_MODE: "mirror" });
    assert.is(status, 2);
    assert.match(of("verdicts").evidence.en, "mirror");
  });

  test("peer access that is refused is told with NVML's code", () => {
    const { of } = doctor({ P2PLAB_FAKE_MODE: "no-peer:GNS" });
    assert.is(of("peer-access").status, "warn");
    assert.match(of("peer-access").evidence.en, "GNS: the GPU does not support it");
    assert.is(of("verdicts").status, "skip");
  });

  test("a driver that never answers is reported by its deadline, with the call that did not return", async () => {
    const folder = mkdtempSync(join(tmpdir(), "p2plab-hang-"));
    try {
      const source = join(folder, "hang.c");
      writeFileSync(
        source,
        "#include <unistd.h>\n__attribute__((constructor)) static void hang(void) { for (;;) pause(); }\n",
      );
      const library = join(folder, "libnvidia-ml.so.1");
      const built = spawnSync("cc", ["-shared", "-fPIC", "-o", library, source], { encoding: "utf8" });
      assert.is(built.status, 0, built.stderr);
      const seen = doctor({ P2PLAB_NVML: library }, "--deadline", "3");
      assert.is(seen.status, 2);
      assert.is(seen.of("driver-answers").status, "fail");
      assert.match(seen.of("driver-answers").evidence.en, "starting CUDA and NVML did not return within 3 s");
      assert.is(seen.of("cuda-starts").status, "skip");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("NVML that is absent, or errs at every value, costs what it would have told", () => {
    const absent = doctor({ P2PLAB_NVML: "/no/nvml" }, "--no-ladder");
    assert.is(absent.of("nvml-answers").status, "warn");
    assert.match(absent.of("nvml-answers").evidence.en, "/no/nvml");
    assert.is(absent.json.gpus[0].nvml, null);
    assert.ok(absent.json.gpus[0].reason.length > 0);
    const failing = doctor({ P2PLAB_FAKE_NVML_FAIL: "values=999" }, "--no-ladder");
    assert.is(failing.of("nvml-answers").status, "warn");
    assert.is(failing.json.gpus[0].nvml.bar1_bytes, null);
    assert.match(failing.json.gpus[0].nvml.missing.bar1_bytes, "NVML_ERROR_UNKNOWN");
    const single = doctor({ P2PLAB_FAKE_NVML_FAIL: "nvmlDeviceGetBAR1MemoryInfo=3" }, "--no-ladder");
    assert.is(single.of("nvml-answers").status, "pass");
  });

  test("GPUs hidden and renumbered by CUDA_VISIBLE_DEVICES, by numbers, UUIDs or nonsense, are told by both numbers", () => {
    const three = { P2PLAB_FAKE_DEVICES: "3" };
    const permuted = doctor({ ...three, CUDA_VISIBLE_DEVICES: "2,0" }, "--no-ladder");
    assert.equal(
      permuted.json.gpus.map((gpu: { cuda_ordinal: number | null }) => gpu.cuda_ordinal),
      [1, null, 0],
    );
    assert.is(permuted.of("visible-devices").status, "warn");
    assert.match(permuted.of("visible-devices").evidence.en, "GPU 1 hidden");
    const [first, , third] = permuted.json.gpus.map((gpu: { uuid: string }) => gpu.uuid);
    const byUuid = doctor({ ...three, CUDA_VISIBLE_DEVICES: `${third},${first}` }, "--no-ladder");
    assert.equal(
      byUuid.json.gpus.map((gpu: { cuda_ordinal: number | null }) => gpu.cuda_ordinal),
      [1, null, 0],
    );
    const nonsense = doctor({ ...three, CUDA_VISIBLE_DEVICES: "GPU-nothing" });
    assert.is(nonsense.json.gpus.length, 3);
    assert.is(nonsense.of("visible-devices").status, "warn");
    assert.match(nonsense.of("verdicts").evidence.en, "no GPU is visible");
  });

  test("verdicts are asked of the GPUs that programs see, and numbered as nvidia-smi does", () => {
    const { json } = doctor({ P2PLAB_FAKE_DEVICES: "3", CUDA_VISIBLE_DEVICES: "2,0" });
    const pairs = new Set(
      json.verdicts.verdicts.map((one: Record<string, number>) => `${one.from}>${one.to}`),
    );
    assert.equal([...pairs].sort(), ["0>2", "2>0"]);
    assert.ok(json.verdicts.verdicts.every((one: { outcome: string }) => one.outcome === "ok"));
  });

  test("a driver without a GPU is no GPU, exit status 3", () => {
    const { status, json } = doctor({ P2PLAB_FAKE_DEVICES: "0" });
    assert.is(status, 3);
    assert.equal(json.gpus, []);
    assert.is(json.topology, null);
  });

  test("throttling, counted errors, other processes and settings are findings", () => {
    const { of } = doctor(
      {
        P2PLAB_FAKE_NVML:
          "0/events=0x8,0/replay:3=7,1/foreign=2,1/persistence=0,0/ecc=1,1/active:4=0,0/fabric=1,1/display=1",
      },
      "--no-ladder",
    );
    assert.match(of("clocks-held").evidence.en, "hw_slowdown");
    assert.match(of("nvlink-errors").evidence.en, "GPU 0 link 3: 7");
    assert.match(of("other-processes").evidence.en, "GPU 1: 2");
    assert.match(of("persistence").evidence.en, "GPU 1");
    assert.match(of("ecc-errors").evidence.en, "GPU 0: 1");
    assert.match(of("nvlink-active").evidence.en, "GPU 1: 1 of 18 down (4)");
    assert.match(of("fabric-manager").evidence.en, "GPU 0: not-started");
    assert.match(of("display").evidence.en, "GPU 1");
  });
}

test.run();
