import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { RecordedMachine } from "../../../kernel/lab/machines/recorded.js";
import { type Observation, predictNs } from "../../../kernel/lab/machines/simulation/fit.js";
import { scaledFigure, scaledHost } from "../../../kernel/lab/machines/simulation/scale.js";
import { observationsOf, openTwin, Twin } from "../../../kernel/lab/machines/twin.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { machines, open } from "../../../kernel/lab/open.js";
import { encodeRecording } from "../../../kernel/lab/recording/format.js";
import { scoreTwin } from "../../bench/twin-scores.js";
import { FIXED, failure, MIB, near } from "./helpers.js";

const test = suite("twin");

const recorded = RecordedMachine.open("h200x2");

test("a path that was held back is predicted within the bars, and the uncertainty it gives is honest", () => {
  const { medianError, p90Error, within2Sigma, predicted } = scoreTwin("h200x2", "path");
  assert.ok(predicted >= 50, String(predicted));
  assert.ok(medianError <= 0.08, String(medianError));
  assert.ok(p90Error <= 0.2, String(p90Error));
  assert.ok(within2Sigma >= 0.85, String(within2Sigma));
});

test("sizes that were held back are predicted within the bars", () => {
  const { medianError, p90Error, predicted } = scoreTwin("h200x2", "size", 4);
  assert.ok(predicted >= 12, String(predicted));
  assert.ok(medianError <= 0.08, String(medianError));
  assert.ok(p90Error <= 0.2, String(p90Error));
});

test("the constants of a machine that is a model are found again", () => {
  const base = new Twin(observationsOf(recorded), recorded.info).constants;
  const truth = {
    topology: base.topology,
    costs: {
      ...scaledHost(base.costs, 1.25, "the truth"),
      handoverNs: scaledFigure(base.costs.handoverNs, 0.7, "the truth"),
    },
  };
  const seen: Observation[] = [8, 4096, 65536, MIB, 16 * MIB].flatMap((bytes) =>
    (["peer", "staged", "driver-staged"] as const).map((path) => {
      const wanted = {
        program: transfer({ from: 0, to: 1, bytes, path }),
        mode: "latency",
        part: "total",
      } as const;
      return { ...wanted, medianNs: predictNs(wanted, truth) };
    }),
  );
  const twin = new Twin(seen, recorded.info);
  for (const bytes of [512, 262144, 4 * MIB]) {
    const unseen = { program: transfer({ from: 1, to: 0, bytes }), mode: "latency", part: "total" } as const;
    near(twin.expect(unseen.program, "latency").ns, predictNs(unseen, truth), 0.05);
  }
});

test("it answers what was not recorded as a simulation, and says how far off it may be", async () => {
  const machine = await open("twin:h200x2");
  const { kind, source } = machine.provenance;
  assert.equal([kind, source], ["simulated", "twin:h200x2"]);
  assert.match(machine.provenance.machine, /^twin of 2 × NVIDIA H200 \(NV18\), recorded 2026/);
  assert.match(String(machine.info.facts.fitted), /host × \d/);
  const near3 = await machine.run(transfer({ from: 0, to: 1, bytes: 3 * MIB }), FIXED);
  assert.ok((near3.uncertainty?.relative ?? 0) > 0.01 && (near3.uncertainty?.relative ?? 1) < 0.15);
  assert.match(near3.warnings.join(), /^twin: ±\d+ %/);
  assert.is(near3.verification.state, "model");
  const batch = await machine.run(transfer({ from: 0, to: 1, bytes: 3 * MIB, path: "staged" }), {
    mode: "throughput",
  });
  assert.ok((batch.uncertainty?.relative ?? 0) > (near3.uncertainty?.relative ?? 1));
  assert.match(batch.uncertainty?.reason ?? "", /no program of this kind/);
});

test("what it says of a recorded program is near what was recorded", async () => {
  const machine = openTwin("h200x2");
  for (const path of ["peer", "staged", "driver-staged"] as const) {
    const of = transfer({ from: 0, to: 1, bytes: 64 * MIB, path });
    const measured = (await recorded.run(of)).samples.convergence.medianNs;
    near((await machine.run(of, FIXED)).samples.convergence.medianNs, measured, 0.05);
  }
});

test("a trace of a twin still adds up", async () => {
  const of = transfer({ from: 0, to: 1, bytes: MIB });
  const { trace } = await openTwin("h200x2").run(of, { ...FIXED, trace: "full", traceIterations: 5 });
  trace?.totalNs.forEach((total, i) => {
    const sum =
      (trace.launchNs[i] as number) + (trace.engineNs[i] as number) + (trace.receiverNs[i] as number);
    near(sum, total, 1e-9);
  });
  assert.is(trace?.totalNs.length, 5);
});

test("a twin has as many GPUs as its machine, whatever the nearest preset has", async () => {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-twin-"));
  try {
    const { gpus } = recorded.info;
    const three = [...gpus, { ...(gpus[0] as (typeof gpus)[number]), index: 2 }];
    const file = join(folder, "three.arrow");
    const { provenance, info, runs } = recorded;
    writeFileSync(file, encodeRecording({ provenance, info: { ...info, gpus: three }, runs }));
    const machine = openTwin(file);
    assert.is(machine.info.gpus.length, 3);
    const error = await failure(() => machine.run(transfer({ from: 0, to: 3, bytes: 8 })));
    assert.match(error.message, /GPU 3 is wanted, but this machine has 3/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("names that are no recording are refused, and the list shows what there is", async () => {
  assert.is((await failure(() => open("twin:nothing"))).code, "machine-spec");
  assert.is((await failure(() => open("twin:"))).code, "machine-spec");
  assert.ok(machines().some(({ spec }) => spec === "twin:h200x2"));
});

test.run();
