import { suite } from "uvu";
import * as assert from "uvu/assert";
import { RecordedMachine } from "../../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { type WhatIfOptions, whatIf } from "../../../kernel/lab/measure/what-if.js";
import type { Change } from "../../../kernel/lab/model.js";
import { open } from "../../../kernel/lab/open.js";
import { FIXED, failure, MIB, near } from "./helpers.js";

const test = suite("what if");

const machine = SimulatedMachine.open("hgx-h100-8");
const small = transfer({ from: 0, to: 1, bytes: 8 });
const large = transfer({ from: 0, to: 1, bytes: 256 * MIB });
const staged = transfer({ from: 0, to: 1, bytes: 256 * MIB, path: "staged" });

async function ratios(change: Change): Promise<Record<string, number>> {
  const table = await whatIf(machine, { programs: { small, large, staged }, change, ...FIXED });
  const rows = table.objects() as { program: string; change: string; ratio: number }[];
  return Object.fromEntries(
    rows.filter((row) => row.change !== "none").map((row) => [row.program, row.ratio]),
  );
}

test("half the NVLinks double large peer copies and nothing else", async () => {
  const { small: few, large: many, staged: host } = await ratios({ nvlinks: 9 });
  near(many as number, 2, 0.03);
  near(few as number, 1, 0.02);
  near(host as number, 1, 0.02);
});

test("without NVLink peer copies go over PCIe, at its rate", async () => {
  const { large: many, staged: host } = await ratios({ nvlinks: 0 });
  assert.ok((many as number) > 5 && (many as number) < 12, String(many));
  near(host as number, 1, 0.02);
});

test("a PCIe generation or half the lanes less halves copies with the host", async () => {
  for (const change of [{ pcieGeneration: 4 }, { pcieLanes: 8 }] as const) {
    const { large: many, staged: host } = await ratios(change);
    near(host as number, 2, 0.03);
    near(many as number, 1, 0.02);
  }
});

test("one more hop delays small copies by its latency, a slower host by its calls", async () => {
  const table = await whatIf(machine, {
    programs: { small },
    change: [{ extraHops: 1 }, { hostFactor: 2 }],
    ...FIXED,
  });
  const [none, hop, host] = table.objects() as { total_us: number; machine: string }[];
  const hopUs = (hop?.total_us ?? 0) - (none?.total_us ?? 0);
  // A copy goes there and back, and a hop of NVLink is 165 ns.
  near(hopUs, 0.33, 0.2);
  near((host?.total_us ?? 0) - (none?.total_us ?? 0), 5.28, 0.03);
  assert.match(hop?.machine ?? "", /changed: extraHops 1$/);
});

test("changes add up, say what they are, and keep the machine they are of", async () => {
  const both = machine.with({ nvlinks: 9 }).with({ hostFactor: 2 });
  assert.match(both.provenance.source, /^sim:hgx-h100-8, changed: nvlinks 9, hostFactor 2$/);
  assert.is(both.provenance.kind, "simulated");
  assert.is(both.info.pairs[0]?.link, "NV9");
  assert.is(machine.info.pairs[0]?.link, "NV18");
  const opened = await open("sim:hgx-h100-8");
  assert.match(String(opened.with?.({ nvlinks: 0 })), /changed: nvlinks 0/);
});

test("a twin can be another machine too", async () => {
  const table = await whatIf(await open("twin:h200x2"), {
    programs: { large },
    change: { nvlinks: 9 },
    ...FIXED,
  });
  const rows = table.objects() as { ratio: number; provenance: string }[];
  near(rows[1]?.ratio ?? 0, 2, 0.05);
  assert.ok(rows.every((row) => row.provenance === "simulated"));
});

test("changes that make no sense, and machines that are no models, end in typed errors", async () => {
  for (const change of [
    {},
    { nvlinks: -1 },
    { nvlinks: 1.5 },
    { pcieLanes: 3 },
    { pcieGeneration: 9 },
    { hostFactor: Number.NaN },
    { speed: 2 },
    null,
    7,
  ]) {
    const error = await failure(() => machine.with(change as unknown as Change));
    assert.is(error.code, "usage", JSON.stringify(change));
  }
  const recorded = RecordedMachine.open("h200x2");
  const wanted: WhatIfOptions = { programs: { small }, change: { nvlinks: 9 } };
  assert.is((await failure(() => whatIf(recorded, wanted))).code, "not-available");
  for (const programs of [{}, { small: 7 }]) {
    const bad = { ...wanted, programs } as unknown as WhatIfOptions;
    assert.is((await failure(() => whatIf(machine, bad))).code, "usage");
  }
});

test.run();
