import { readdirSync, readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { CHECKS } from "../../../kernel/lab/doctor/checks/all.js";
import { widthOf } from "../../../kernel/lab/doctor/width.js";
import { lab, packagePath, plot } from "../../../kernel/lab/index.js";
import { englishIn } from "./english.js";
import { fileOf, MACHINES } from "./machines.js";

const test = suite("the doctor on described machines");
const FOLDER = packagePath("test/fixtures/machines");
const schema = JSON.parse(readFileSync(packagePath("kernel/lab/doctor/doctor.schema.json"), "utf8"));
const validate = new Ajv2020({ allErrors: true }).compile(schema);

const look = (name: string) => lab.doctor({ snapshot: `${FOLDER}/${name}` });

function bad(diagnosis: lab.Diagnosis): Record<string, string> {
  const found = diagnosis.findings.filter(({ status }) => status === "warn" || status === "fail");
  return Object.fromEntries(found.map(({ id, status }) => [id, status]));
}

test("the files of the fixtures are those that their description makes", () => {
  const made = MACHINES.map(({ name }) => name).sort();
  const others = readdirSync(FOLDER).filter((name) => !made.includes(name));
  assert.equal(others, [], "folders of no machine");
  for (const machine of MACHINES) {
    const written = readFileSync(`${FOLDER}/${machine.name}/machine.json`, "utf8");
    assert.ok(
      written === fileOf(machine),
      `${machine.name}: run node dist/test/lab/doctor/write-machines.js`,
    );
  }
});

for (const { name, describes, planted, exitStatus } of MACHINES) {
  test(`${name}: ${describes}`, async () => {
    const diagnosis = await look(name);
    assert.equal(bad(diagnosis), planted);
    assert.is(diagnosis.exitStatus, exitStatus);
    for (const { id, title, evidence, consequence, fix, source, status } of diagnosis.findings) {
      for (const words of [title, evidence, consequence, ...(fix ? [fix] : [])]) {
        for (const word of [words.en, words.zh]) {
          assert.ok(word.trim() !== "", `${id} has an empty text`);
          assert.not.match(word, /undefined|null|NaN|\[object|the check itself failed/, id);
        }
      }
      assert.match(source, /^https:\/\//);
      assert.ok(fix !== null || status === "pass" || status === "skip", `${id} does not say what to do`);
    }
  });

  test(`${name} as JSON is what the schema says, and made of plain values`, async () => {
    const json = (await look(name)).json();
    const text = JSON.stringify(json);
    assert.ok(validate(JSON.parse(text)), JSON.stringify(validate.errors?.slice(0, 3)));
    assert.equal(JSON.parse(text), json, "what is not finite, or undefined, does not come back");
  });

  test(`${name} as text keeps within the width, in both languages`, async () => {
    const diagnosis = await look(name);
    for (const width of [40, 80, 200]) {
      for (const lang of ["en", "zh"] as const) {
        const text = diagnosis.text({ width, lang, all: true });
        assert.not.match(text, /undefined|NaN|\[object/);
        assert.not.ok(text.includes("\u001b"));
        assert.equal(
          text.split("\n").filter((line) => widthOf(line) > width && !line.includes("https://")),
          [],
        );
      }
    }
  });
}

test("every check is planted in some machine but that for a driver that hangs", () => {
  const planted = new Set(MACHINES.flatMap((machine) => Object.keys(machine.planted)));
  assert.equal(
    CHECKS.map(({ id }) => id).filter((id) => !planted.has(id)),
    ["driver-answers"],
  );
});

test("there are at least 30 checks, each with its own id", () => {
  assert.ok(CHECKS.length >= 30);
  assert.is(new Set(CHECKS.map(({ id }) => id)).size, CHECKS.length);
});

test("the topology of DGX-1 is that which its nvidia-smi prints", async () => {
  const { topology } = await look("dgx-1");
  assert.ok(topology);
  const row = (gpu: number) =>
    [0, 1, 2, 3, 4, 5, 6, 7].map((to) => (to === gpu ? "X" : topology.pairClass(gpu, to)));
  assert.equal(row(0), ["X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS"]);
  assert.equal(row(5), ["SYS", "NV2", "SYS", "SYS", "NV1", "X", "NV2", "NV1"]);
  const nics = (await look("dgx-1")).nics().objects() as Record<string, string>[];
  assert.equal(
    nics.map((nic) => [nic.rdma, nic.gpu_0, nic.gpu_2, nic.gpu_4]),
    [
      ["mlx5_0", "PIX", "PHB", "SYS"],
      ["mlx5_1", "PHB", "PIX", "SYS"],
      ["mlx5_2", "SYS", "SYS", "PIX"],
      ["mlx5_3", "SYS", "SYS", "PHB"],
    ],
  );
});

test("what hangs on one root complex is drawn on one root bus", async () => {
  const text = (await look("vm-mirror")).text();
  assert.is(text.match(/root bus 0000:00/g)?.length, 1);
});

test("the Chinese text is Chinese: labels, tree and reasons too", async () => {
  for (const { name } of MACHINES) {
    const diagnosis = await look(name);
    for (const { id, evidence } of diagnosis.findings)
      assert.is(englishIn(evidence.zh), null, `${name} ${id}`);
    assert.not.match(
      diagnosis.text({ lang: "zh" }),
      /root (port|bus)|PCIe switch|not shown|NUMA nodes|· simulated ·/,
    );
  }
});

test("a topology of the doctor can be drawn", async () => {
  const { topology } = await look("hgx-h200-8");
  assert.ok(String(JSON.stringify(plot.topology(topology as object))).includes("NVSwitch"));
});

test("tables end with machine, provenance and date, and nothing described passes for a measurement", async () => {
  for (const { name } of MACHINES) {
    const diagnosis = await look(name);
    for (const table of [
      diagnosis.gpus(),
      diagnosis.links(),
      diagnosis.pairs(),
      diagnosis.nics(),
      diagnosis.table(),
    ]) {
      assert.equal(table.columnNames().slice(-3), ["machine", "provenance", "date"]);
      for (const row of table.objects() as Record<string, unknown>[]) {
        assert.is(row.provenance, "simulated");
        for (const value of Object.values(row)) assert.ok(value !== undefined && !Number.isNaN(value));
      }
    }
  }
});

test("numbers are those of nvidia-smi: GPUs that the driver lost, or that a container was not given, take none away", async () => {
  const numbers = async (name: string) => {
    const rows = (await look(name)).gpus().objects() as Record<string, unknown>[];
    return rows.map((row) => [row.gpu, row.cuda, row.pci]);
  };
  assert.equal(await numbers("container-part"), [
    [0, 0, "0000:33:00.0"],
    [1, 1, "0000:73:00.0"],
  ]);
  assert.equal(await numbers("gpu-lost"), [
    [0, 0, "0000:23:00.0"],
    [1, 1, "0000:27:00.0"],
    [2, 2, "0000:2f:00.0"],
    [3, null, "0000:2b:00.0"],
  ]);
});

test("where NVML does not tell of NVLinks, no class passes for the way", async () => {
  const pairs = (await look("fabric-down")).pairs().objects() as Record<string, unknown>[];
  assert.is(pairs[0]?.link, null);
  assert.is(pairs[0]?.pcie, "NODE");
});

test("links are told with their rates, and GPUs with both their numbers", async () => {
  const links = (await look("downtrained")).links().objects() as Record<string, unknown>[];
  const gpu1 = links.find((row) => row.from === "GPU 1" && row.kind === "pcie");
  assert.is(gpu1?.generation, 3);
  assert.is(gpu1?.generation_max, 4);
  assert.is(gpu1?.width, 8);
  assert.is(gpu1?.width_max, 16);
  assert.is(Math.round((gpu1?.raw_gbps as number) * 100), 788);
  assert.is(gpu1?.errors, 412);
  const gpus = (await look("renumbered")).gpus().objects() as Record<string, unknown>[];
  assert.equal(
    gpus.map((row) => row.cuda),
    [2, 1, null, 0],
  );
});

test.run();
