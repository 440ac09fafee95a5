import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { pairsTable } from "../../../kernel/lab/doctor/tables.js";
import { lab, P2pError, packagePath } from "../../../kernel/lab/index.js";
import { shippedRecordings } from "../../../kernel/lab/machines/recorded.js";

const test = suite("the doctor on machines that are open");
const schema = JSON.parse(readFileSync(packagePath("kernel/lab/doctor/doctor.schema.json"), "utf8"));
const validate = new Ajv2020({ allErrors: true }).compile(schema);

type Row = Record<string, unknown>;
const rowsOf = (table: lab.Table) => table.objects() as Row[];

/** Presets with what their topology is known to show. */
const WRONG: Readonly<Record<string, string[]>> = {
  "sim:hgx-h100-16": ["peer-access"],
  "sim:pcie-8": ["across-sockets"],
  "sim:pcie-4": ["across-sockets"],
  "sim:dgx1-v100-8": ["across-sockets", "peer-access"],
  "sim:rtx3090-4": ["peer-access"],
  "sim:rtx4090-2": ["peer-access"],
};

for (const { spec } of lab.machines().filter((machine) => !machine.spec.startsWith("cuda"))) {
  test(`${spec} tells what it holds, and why the rest is not known`, async () => {
    const machine = await lab.open(spec);
    const diagnosis = await lab.doctor(machine);
    const { provenance, basis, gpus } = diagnosis.facts;
    const { date, ...origin } = machine.provenance;
    assert.equal({ ...provenance, date: "" }, { ...origin, date: "" });
    assert.equal(
      gpus.map(({ name }) => name),
      machine.info.gpus.map(({ name }) => name),
    );
    // With a snapshot beside it a recording is looked at as any machine.
    if (basis !== "snapshot") {
      assert.is(basis, machine.topology ? "model" : "recording");
      assert.is(provenance.date.slice(0, 10), date.slice(0, 10));
      const wrong = diagnosis.findings.filter(({ status }) => status === "warn" || status === "fail");
      assert.equal(
        wrong.map(({ id }) => id),
        WRONG[spec] ?? [],
      );
      for (const { id, evidence, fix, status } of diagnosis.findings) {
        assert.not.match(evidence.en, /undefined|NaN|itself failed/, id);
        if (status === "skip") assert.is(fix, null, `${id}: no command tells more of what nobody looks at`);
      }
      assert.equal(
        rowsOf(diagnosis.pairs()).map(({ from, to, link, access }) => ({ from, to, link, access })),
        machine.info.pairs.map(({ from, to, link, peerAccess }) => ({ from, to, link, access: peerAccess })),
      );
      assert.not.match(diagnosis.text(), /healthy/);
    }
    const json = diagnosis.json();
    assert.ok(validate(JSON.parse(JSON.stringify(json))), JSON.stringify(validate.errors?.slice(0, 3)));
    for (const table of [
      diagnosis.gpus(),
      diagnosis.links(),
      diagnosis.pairs(),
      diagnosis.nics(),
      diagnosis.table(),
    ]) {
      assert.equal(table.columnNames().slice(-3), ["machine", "provenance", "date"]);
      for (const row of rowsOf(table)) {
        assert.is(row.provenance, provenance.kind);
        assert.is(row.machine, provenance.machine);
      }
    }
    assert.ok(diagnosis.topology);
  });
}

test("a model's links are those of its topology, at the ends that it names", async () => {
  const switched = await lab.doctor(await lab.open("sim:pcie-8"));
  assert.equal(
    rowsOf(switched.links()).map(({ from, to, generation, width }) => [from, to, generation, width]),
    [0, 1, 2, 3, 4, 5, 6, 7].map((gpu) => [`GPU ${gpu}`, `pcie-switch${gpu < 4 ? 0 : 1}`, 4, 16]),
  );
  assert.equal(
    switched.facts.gpus.map((gpu) => gpu.device?.numaNode),
    [0, 0, 0, 0, 1, 1, 1, 1],
  );
  const cube = rowsOf((await lab.doctor(await lab.open("sim:dgx1-v100-8"))).links());
  const ends = cube.filter(({ from, kind }) => from === "GPU 0" && kind === "nvlink").map(({ to }) => to);
  // NVIDIA DGX-1 with Tesla V100 System Architecture (WP-08437), figure 4.
  assert.equal(ends.sort(), ["GPU 1", "GPU 2", "GPU 3", "GPU 3", "GPU 4", "GPU 4"]);
  const tray = rowsOf((await lab.doctor(await lab.open("sim:gb200-nvl72"))).links());
  assert.is(tray.filter(({ kind }) => kind === "c2c").length, 72);
  assert.is(tray.filter(({ kind }) => kind === "pcie").length, 0);
});

test("network cards of a model stand with their classes", async () => {
  const nics = rowsOf((await lab.doctor(await lab.open("sim:hgx-h100-8"))).nics());
  assert.equal(
    nics.slice(0, 2).map(({ rdma, gpu_0, gpu_1, gpu_4 }) => [rdma, gpu_0, gpu_1, gpu_4]),
    [
      ["nic0", "PIX", "NODE", "SYS"],
      ["nic1", "NODE", "PIX", "SYS"],
    ],
  );
});

test("NVLinks that a recording does not tell are not counted as none", async () => {
  const machine = await lab.open("recorded:h200x2");
  const pairs = machine.info.pairs.map((pair) => ({ ...pair, link: null }));
  const silent: lab.Machine = {
    provenance: { ...machine.provenance, source: "recorded:none" },
    info: { ...machine.info, pairs },
    run: (program) => machine.run(program),
    close: () => machine.close(),
  };
  const [gpu] = rowsOf((await lab.doctor(silent)).gpus());
  assert.is(gpu?.nvlinks, null);
  assert.is(gpu?.nvlinks_up, null);
});

async function refused(look: () => Promise<unknown>, code: string, wanted: string): Promise<void> {
  try {
    await look();
  } catch (error) {
    assert.instance(error, P2pError);
    assert.is((error as P2pError).code, code);
    assert.match((error as P2pError).message, wanted);
    return;
  }
  assert.unreachable(`no error of ${wanted}`);
}

test("a snapshot beside a recording is looked at under the recording's name; one of another machine is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-beside-"));
  try {
    const recording = join(folder, "pair.arrow");
    copyFileSync(shippedRecordings().get("h200x2") as string, recording);
    const eight = JSON.parse(
      readFileSync(packagePath("test/fixtures/machines/hgx-h200-8/machine.json"), "utf8"),
    );
    writeFileSync(join(folder, "pair.machine.json"), JSON.stringify(eight));
    await refused(
      async () => lab.doctor(await lab.open(`recorded:${recording}`)),
      "recording",
      "pair.machine.json",
    );
    const visible = eight.driver.gpus.slice(0, 2).map((gpu: { uuid: string }) => gpu.uuid);
    const two = { ...eight, driver: { ...eight.driver, visible } };
    writeFileSync(join(folder, "pair.machine.json"), JSON.stringify(two));
    const diagnosis = await lab.doctor(await lab.open(`recorded:${recording}`));
    assert.is(diagnosis.facts.basis, "snapshot");
    assert.is(diagnosis.facts.provenance.kind, "recorded");
    assert.is(diagnosis.facts.provenance.machine, "2 × NVIDIA H200 (NV18)");
    assert.is(diagnosis.facts.provenance.date, eight.date);
    assert.is(rowsOf(diagnosis.gpus())[0]?.nvlinks_up, 18);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a machine with options that are for another look is refused", async () => {
  const machine = await lab.open("sim:pcie-4");
  assert.is((await lab.doctor(machine, { ladder: false, deadlineS: 1 })).facts.basis, "model");
  await refused(() => lab.doctor(machine, { save: "x" }), "usage", "is not this machine");
  await refused(() => lab.doctor(machine, { snapshot: "x" }), "usage", "a machine and a snapshot");
  await refused(() => lab.doctor(machine, { deadlineS: -1 }), "usage", "deadlineS is -1");
  await refused(() => lab.doctor({} as lab.Machine, {}), "usage", "is no machine");
  await refused(() => lab.doctor({ info: null, provenance: 3 } as never), "usage", 'no option "info"');
});

test("the table of pairs has its columns also where there is one GPU and no pair", () => {
  const columns = pairsTable({ pairs: [] } as never).columnNames();
  for (const column of ["from", "to", "pcie", "acs", "provenance"])
    assert.ok(columns.includes(column), column);
});

test.run();
