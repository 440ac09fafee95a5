import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PRESETS, SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { program } from "../../../kernel/lab/program.js";
import { FIXED, failure, MIB, medianNs, near } from "./helpers.js";

const test = suite("simulated machine");

test("it says that it is a model, of what, and how to open it again", () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  const { kind, machine: name, source, date } = machine.provenance;
  assert.equal(
    { kind, name, source },
    {
      kind: "simulated",
      name: "model of HGX H100 8-GPU",
      source: "sim:hgx-h100-8",
    },
  );
  assert.is(date.slice(0, 10), new Date().toISOString().slice(0, 10));
  assert.is(machine.info.gpus.length, 8);
  assert.is(machine.info.pairs.length, 56);
  assert.is(machine.info.pairs[0]?.link, "NV18");
  assert.is(machine.info.pairs[0]?.rawGbps, 450);
  assert.match(String(machine.info.facts.sources), /M07/);
});

test("an unknown preset is refused with the list of presets", async () => {
  const error = await failure(() => SimulatedMachine.open("hgx-x1"));
  assert.is(error.code, "machine-spec");
  for (const { name } of PRESETS) assert.match(error.hint, `sim:${name}`);
});

test("where its costs are another generation's it says so", () => {
  for (const [preset, words] of [
    ["gb200-nvl72", /that of Hopper.*nothing of Blackwell/],
    ["dgx2-v100-16", /that of Ampere.*nothing of Volta/],
    ["rtx4090-2", /that of Ampere.*nothing of Ada/],
  ] as const) {
    assert.match(String(SimulatedMachine.open(preset).info.facts.unknown), words);
    assert.match(
      PRESETS.find(({ name }) => name === preset)?.describes ?? "",
      /costs of the nearest generation/,
    );
  }
  assert.is(SimulatedMachine.open("hgx-h100-8").info.facts.unknown, undefined);
});

test("more GPUs than pairs can be kept of are refused at once", async () => {
  const { topology } = SimulatedMachine.open("rtx4090-2");
  const error = await failure(() => SimulatedMachine.of({ ...topology, gpuCount: 10_000 }));
  assert.is(error.code, "usage");
  assert.match(error.hint, /1024/);
});

test("a GPU that the machine lacks is refused", async () => {
  const error = await failure(() => medianNs("pcie-gen4-2", transfer({ from: 0, to: 2, bytes: 8 })));
  assert.is(error.code, "not-available");
  assert.match(error.message, /GPU 2.*has 2/);
});

test("buffers that together exceed a GPU's memory are refused, those that fill it are not", async () => {
  const of = (bytes: string) =>
    program()
      .buffer("a", { gpu: 0, bytes: "40 GiB" })
      .buffer("b", { gpu: 0, bytes })
      .buffer("c", { gpu: 1, bytes: 8 })
      .stream("s", { gpu: 0 })
      .copy("s", "b", "c", { bytes: 8 })
      .sync("s");
  assert.ok((await medianNs("hgx-h100-8", of("40 GiB"))) > 0);
  const error = await failure(() => medianNs("hgx-h100-8", of("41 GiB")));
  assert.is(error.code, "not-available");
  assert.match(error.message, /GPU 0 need 81 GiB, but it has 80 GiB/);
});

test("peer access that the driver refuses is refused with its reason and the other paths", async () => {
  const error = await failure(() => medianNs("rtx4090-2", transfer({ from: 0, to: 1, bytes: 8 })));
  assert.is(error.code, "not-available");
  assert.match(error.message, /GNS/);
  assert.match(error.hint, /"staged".*\.peerAccess\(false\)/);
  const [pair] = SimulatedMachine.open("rtx4090-2").info.pairs;
  assert.is(pair?.peerAccess, false);
  assert.match(String(pair?.reason), /GNS/);
});

test("without peer access both staged paths still run", async () => {
  for (const path of ["staged", "driver-staged"] as const) {
    const run = await SimulatedMachine.open("rtx4090-2").run(
      transfer({ from: 0, to: 1, bytes: 8, path }),
      FIXED,
    );
    assert.is(run.samples.totalNs.length, 60);
    assert.is(run.verification.state, "model");
  }
});

test("an invalid program is refused", async () => {
  assert.is((await failure(() => medianNs("hgx-h100-8", program()))).code, "program");
});

test("the same program, preset and seed give the same series; another seed another", async () => {
  const of = transfer({ from: 0, to: 1, bytes: 4096 });
  const series = async (seed: number) => [
    ...(await SimulatedMachine.open("hgx-h100-8", { seed }).run(of)).samples.totalNs,
  ];
  const first = await series(7);
  assert.equal(await series(7), first);
  assert.not.equal(await series(8), first);
});

test("medians grow with bytes on every path and preset", async () => {
  for (const { name } of PRESETS) {
    for (const path of ["peer", "staged", "driver-staged"] as const) {
      const pair = SimulatedMachine.open(name).info.pairs.find(({ from, to }) => from === 0 && to === 1);
      if (path === "peer" && !pair?.peerAccess) continue;
      let before = 0;
      for (const bytes of [4096, 262144, MIB, 16 * MIB]) {
        const now = await medianNs(name, transfer({ from: 0, to: 1, bytes, path }));
        assert.ok(now > before, `${name} ${path} ${bytes}: ${now} after ${before}`);
        before = now;
      }
    }
  }
});

test("sampling ends by the one rule, with simulated time as its budget", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  const of = transfer({ from: 0, to: 1, bytes: 64 * MIB });
  const budget = await machine.run(of, { sampling: { budgetMs: 5, minSamples: 20, target: 1e-9 } });
  assert.is(budget.samples.convergence.ended, "budget");
  // 5 ms of 175 µs each.
  near(budget.samples.convergence.n, 29, 0.05);
  const target = await machine.run(of);
  assert.is(target.samples.convergence.ended, "target");
  const most = await machine.run(of, { sampling: { minSamples: 10, maxSamples: 30, target: 1e-9 } });
  assert.equal([most.samples.convergence.ended, most.samples.convergence.n], ["max-samples", 30]);
});

test("a run that is stopped says so", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  const of = transfer({ from: 0, to: 1, bytes: 2 ** 30, path: "driver-staged" });
  const early = await failure(() => machine.run(of, { signal: AbortSignal.abort() }));
  assert.is(early.code, "cancelled");
  const controller = new AbortController();
  const running = machine.run(of, { signal: controller.signal });
  setImmediate(() => controller.abort());
  assert.is((await failure(() => running)).code, "cancelled");
});

test("a closed machine runs nothing", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  await machine.close();
  await machine.close();
  assert.is((await failure(() => machine.run(transfer({ from: 0, to: 1, bytes: 8 })))).code, "usage");
});

test.run();
