import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { examine } from "../../../kernel/lab/doctor/checks/all.js";
import { answersOf } from "../../../kernel/lab/doctor/driver.js";
import { readPci } from "../../../kernel/lab/doctor/pcie.js";
import { cleaner } from "../../../kernel/lab/doctor/redact.js";
import { FolderRoot } from "../../../kernel/lab/doctor/root.js";
import { readSoftware } from "../../../kernel/lab/doctor/software.js";
import { lab, P2pError, packagePath } from "../../../kernel/lab/index.js";
import { Random } from "../../../kernel/lab/random.js";
import { MACHINES } from "./machines.js";
import type { Entry } from "./sheet.js";

export const TIME_LIMIT_S = 300;

const test = suite("the doctor and input that is bad");

function inTemporary(run: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-doctor-"));
  return Promise.resolve(run(folder)).finally(() => rmSync(folder, { recursive: true, force: true }));
}

function machineFile(folder: string, content: object): string {
  const file = join(folder, "machine.json");
  writeFileSync(file, JSON.stringify({ schema: "p2plab-machine/1", ...content }));
  return file;
}

/** A machine's files as files, with the links that sysfs has. */
function plant(folder: string, files: Readonly<Record<string, Entry>>): void {
  for (const [path, entry] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    if (typeof entry === "string") writeFileSync(file, entry);
    else if ("link" in entry) symlinkSync(entry.link, file);
    else if ("hex" in entry)
      writeFileSync(
        file,
        Buffer.concat([Buffer.from(entry.hex, "hex"), Buffer.alloc(entry.bytes)], entry.bytes),
      );
    else mkdirSync(file, { recursive: true });
  }
}

test("the same machine as a tree of files and links is the same machine", async () => {
  for (const name of ["pcie-acs", "rdma-missing", "dgx-1"]) {
    await inTemporary(async (folder) => {
      const { files, ...rest } = JSON.parse(
        readFileSync(packagePath(`test/fixtures/machines/${name}/machine.json`), "utf8"),
      );
      plant(folder, files);
      machineFile(folder, rest);
      const [tree, listed] = await Promise.all([
        lab.doctor({ snapshot: folder }),
        lab.doctor({ snapshot: packagePath(`test/fixtures/machines/${name}`) }),
      ]);
      assert.equal(tree.findings, listed.findings);
      assert.equal(tree.gpus().objects(), listed.gpus().objects());
      assert.equal(tree.pairs().objects(), listed.pairs().objects());
      assert.equal(tree.facts.pci, listed.facts.pci);
    });
  }
});

test("of DMA-BUF the driver's own answer counts before the kind of its kernel module", () =>
  inTemporary(async (folder) => {
    const fixture = packagePath("test/fixtures/machines/rdma-missing/machine.json");
    const machine = JSON.parse(readFileSync(fixture, "utf8"));
    for (const [dmaBuf, says] of [
      [true, /^pass DMA-BUF: driver and kernel have it$/],
      [false, /^warn .*the driver has no DMA-BUF, closed module/],
    ] as const) {
      for (const gpu of machine.driver.gpus) gpu.dmaBuf = dmaBuf;
      machineFile(folder, machine);
      const { findings } = await lab.doctor({ snapshot: folder });
      const found = findings.find(({ id }) => id === "gpu-direct-rdma");
      assert.match(`${found?.status} ${found?.evidence.en}`, says);
    }
  }));

test("links out of a snapshot, in circles, pipes and folders in the place of files are reasons", () =>
  inTemporary((folder) => {
    mkdirSync(join(folder, "sys"));
    symlinkSync("/etc/passwd", join(folder, "sys/out"));
    symlinkSync("b", join(folder, "sys/a"));
    symlinkSync("a", join(folder, "sys/b"));
    const root = new FolderRoot(folder);
    const reason = (path: string) => {
      const told = root.text(path);
      assert.is(told.value, null, path);
      return "reason" in told ? told.reason : "";
    };
    assert.match(reason("/sys/out"), "leads out of the snapshot");
    assert.match(reason("/sys/a"), "circle");
    assert.match(reason("/sys"), "not a regular file");
    assert.match(reason("/none"), "there is none");
  }));

test("what is no snapshot is a typed error that names the file", () =>
  inTemporary(async (folder) => {
    const cases: [string, string][] = [
      ["", "Unexpected end"],
      ["[1]", "not an object"],
      ["{}", "schema undefined"],
      ['{"schema":"p2plab-machine/1","files":3}', "files is 3"],
      ['{"schema":"p2plab-machine/1","verdicts":{}}', "verdicts is an object"],
      ['{"schema":"p2plab-machine/1","verdicts":[{"from":0}]}', "verdicts[0] lacks"],
    ];
    for (const [content, wanted] of cases) {
      writeFileSync(join(folder, "machine.json"), content);
      await refused({ snapshot: folder }, "topology", wanted);
    }
    await refused({ snapshot: join(folder, "none") }, "topology", "ENOENT");
    await refused({ snapshot: "/dev/zero" }, "topology", "not a regular file");
  }));

test("options that are none are refused by name", async () => {
  for (const [options, wanted] of [
    [null, "options are null"],
    ["live", "options are"],
    [{ rot: "/" }, 'no option "rot"'],
    [{ snapshot: "" }, "snapshot is"],
    [{ snapshot: 3 }, "snapshot is 3"],
    [{ ladder: "no" }, "ladder is"],
    [{ save: "" }, "save is"],
    [{ save: "x", snapshot: "y" }, "a snapshot of a snapshot"],
    [{ ladderS: Number.NaN }, "ladderS is NaN"],
    [{ deadlineS: 0 }, "deadlineS is 0"],
    [{ deadlineS: "5" }, "deadlineS is"],
  ] as const) {
    await refused(options, "usage", wanted);
  }
});

test("texts in no language and of no width are refused", async () => {
  const diagnosis = await lab.doctor({ snapshot: packagePath("test/fixtures/machines/none") });
  for (const wrong of [null, "fr", 3, {}, []]) {
    assert.throws(
      () => diagnosis.table(wrong as "en"),
      (error: P2pError) => error.code === "usage",
    );
    assert.throws(
      () => diagnosis.text({ lang: wrong as "en" }),
      (error: P2pError) => error.code === "usage",
    );
  }
  for (const width of [0, -1, Number.NaN, "80"]) {
    assert.throws(
      () => diagnosis.text({ width: width as number }),
      (error: P2pError) => error.code === "usage",
    );
  }
  assert.throws(
    () => diagnosis.text(null as never),
    (error: P2pError) => error.code === "usage",
  );
  assert.ok(diagnosis.text({ width: Number.POSITIVE_INFINITY }).length > 0);
});

async function refused(options: unknown, code: string, wanted: string): Promise<void> {
  try {
    await lab.doctor(options as lab.DoctorOptions);
  } catch (error) {
    assert.instance(error, P2pError);
    assert.is((error as P2pError).code, code);
    assert.ok((error as P2pError).message.includes(wanted), (error as P2pError).message);
    assert.ok((error as P2pError).hint !== "");
    return;
  }
  assert.unreachable(`${JSON.stringify(options)} was taken`);
}

const STRANGE = [
  null,
  undefined,
  0,
  -1,
  1e300,
  "",
  "x",
  "\u001b[31m",
  true,
  [],
  {},
  [null],
  { a: 1 },
  "9".repeat(400),
];

test("answers of a driver in any shape are facts or reasons, and no check fails by itself", () =>
  inTemporary(async (folder) => {
    const random = new Random(7);
    for (let round = 0; round < 300; round++) {
      const machine = MACHINES[random.integer(MACHINES.length)];
      if (!machine) continue;
      const driver = damaged(JSON.parse(JSON.stringify(machine.driver)), random, 0.06);
      const files = Object.fromEntries(
        Object.entries(machine.sheet.files).map(([path, entry]) => [
          path,
          random.uniform() < 0.05 ? String(STRANGE[random.integer(STRANGE.length)]) : entry,
        ]),
      );
      machineFile(folder, { files, driver, spaces: machine.sheet.spaces, synthetic: true });
      const diagnosis = await lab.doctor({ snapshot: folder });
      for (const { id, evidence } of diagnosis.findings) {
        assert.not.match(evidence.en, /the check itself failed|NaN/, `${machine.name} round ${round}: ${id}`);
      }
      assert.ok(!diagnosis.text().includes("\u001b"));
      JSON.stringify(diagnosis.json());
      if (round % 20 === 0) diagnosis.links();
    }
  }));

/** The same with some values replaced by others of any kind. */
function damaged(value: unknown, random: Random, share: number): unknown {
  if (random.uniform() < share) return STRANGE[random.integer(STRANGE.length)];
  if (Array.isArray(value)) return value.map((one) => damaged(one, random, share));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, damaged(own, random, share)]));
}

test("a toolkit without its version file is known by its header", () =>
  inTemporary((folder) => {
    const header = "usr/local/cuda/include/cuda.h";
    plant(folder, { [header]: "/* long ago */\n#define CUDA_VERSION 12080\n" });
    assert.is(readSoftware(new FolderRoot(folder)).toolkit, "12.8");
    writeFileSync(join(folder, header), "#define CUDA_VERSION none\n");
    assert.is(readSoftware(new FolderRoot(folder)).toolkit, null);
  }));

test("a driver of which nothing is known is no GPU", () => {
  for (const value of STRANGE) assert.equal(answersOf(value).gpus, []);
});

test("the same facts give the same findings", async () => {
  const first = await lab.doctor({ snapshot: packagePath("test/fixtures/machines/worn") });
  assert.equal(examine(first.facts), first.findings);
});

test("redacted, no identifier is left, and what were two are still two", async () => {
  const diagnosis = await lab.doctor({ snapshot: packagePath("test/fixtures/machines/hgx-h200-8") });
  const text = JSON.stringify(lab.redacted(diagnosis, ["supermicro"]).json());
  assert.not.match(text, /GPU-[0-9a-f]{8}-/i);
  assert.not.match(text, /supermicro/i);
  assert.ok(text.includes("GPU-redacted-0") && text.includes("GPU-redacted-7"));
  assert.match(JSON.stringify(diagnosis.json()), /GPU-00000000-/);
});

test("redacted, nobody's folders and serial numbers are left, whoever they are, and words that name nobody stay", () => {
  const clean = cleaner(["nvidia", "alice", "gpu-17"]);
  assert.is(
    clean("/home/bob/lib/libcuda.so, /Users/eve/x"),
    "/home/redacted/lib/libcuda.so, /Users/redacted/x",
  );
  assert.is(clean("R750 S/N: ABC1234567"), "R750 S/N: redacted");
  assert.is(clean("序列号 serial：ABC1234567"), "序列号 serial：redacted");
  assert.is(
    clean("/proc/driver/nvidia/version of alice on gpu-17"),
    "/proc/driver/nvidia/version of redacted on redacted",
  );
  assert.is(clean("/data/alice/topo.xml, alice-2"), "/data/redacted/topo.xml, alice-2");
  assert.is(clean("C:\\Users\\bob\\x"), "C:\\Users\\redacted\\x");
  assert.is(
    clean('{"serialNumber": "1650123"}, serial execution'),
    '{"serialNumber": "redacted"}, serial execution',
  );
  assert.is(
    clean("10.1.2.3:22 and 10.1.2.3, fe80::a00:27ff:fe4e:66a1"),
    "IP-redacted-0:22 and IP-redacted-0, IP-redacted-1",
  );
  const harmless =
    "127.0.0.1 535.104.05 libx.so.1.2.3.4 12:34:56 std::chrono::abc ab::cd 0000:1b:00.0 256.1.1.1";
  assert.is(clean(harmless), harmless);
  const versions = 'nvidia-cublas-cu12==12.4.5.8, cuDNN 9.10.2.21, "version": "1.2.3.4", NCCL: 2.27.7.1';
  assert.is(clean(versions), versions);
  assert.match(clean("user@10.1.2.3 host=10.1.2.4"), /^user@IP-redacted-\d host=IP-redacted-\d$/);
  assert.match(clean("4c4c4544-0051-3010-8052-b4c04f4e4d32"), /^UUID-redacted-\d$/);
});

test("links that lead to no group and no driver are reasons", () =>
  inTemporary((folder) => {
    const machine = MACHINES.find(({ name }) => name === "rtx-pair");
    plant(folder, { ...machine?.sheet.files });
    const device = join(folder, "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0");
    symlinkSync("../../../..", join(device, "iommu_group"));
    const found = readPci(new FolderRoot(folder)).devices.find(({ address }) => address === "0000:01:00.0");
    assert.is(found?.iommuGroup, null);
    assert.match(found?.missing.iommuGroup ?? "", "is not a group");
  }));

test("where nobody tells a NUMA node, none is made up, and no class across is claimed", async () => {
  const machine = MACHINES.find(({ name }) => name === "pcie-acs");
  await inTemporary(async (folder) => {
    const files = { ...machine?.sheet.files };
    const first = "/sys/devices/pci0000:20/0000:20:01.0/0000:21:00.0/0000:22:00.0/0000:23:00.0/numa_node";
    assert.ok(first in files);
    for (const path of Object.keys(files)) if (/pci0000:20.*numa_node$/.test(path)) files[path] = "-1\n";
    machineFile(folder, { files, driver: machine?.driver, synthetic: true });
    const { topology, facts } = await lab.doctor({ snapshot: folder });
    assert.is(facts.gpus[0]?.device?.numaNode, null);
    assert.is(topology?.pairClass(0, 1), "PIX");
    assert.is(topology?.pairClass(0, 2), null);
    assert.is(topology?.pairClass(2, 3), "PIX");
  });
});

test.run();
