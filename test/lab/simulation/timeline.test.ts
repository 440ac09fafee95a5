import { suite } from "uvu";
import * as assert from "uvu/assert";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { program } from "../../../kernel/lab/program.js";
import { median } from "../../../kernel/lab/sampling.js";
import type { Span } from "../../../kernel/lab/timeline.js";
import { FIXED, MIB, near, spansOf, traceOf } from "./helpers.js";

const test = suite("simulated timelines");

test("parts add up exactly in every iteration, for all paths", async () => {
  for (const path of ["peer", "staged", "driver-staged"] as const) {
    const run = await SimulatedMachine.open("hgx-h100-8").run(
      transfer({ from: 0, to: 5, bytes: MIB, path }),
      {
        ...FIXED,
        trace: "full",
      },
    );
    const { launchNs, engineNs, receiverNs, totalNs, apiNs } = traceOf(run);
    assert.is(totalNs.length, 200);
    for (let i = 0; i < totalNs.length; i++) {
      const [launch, engine, receiver] = [launchNs[i], engineNs[i], receiverNs[i]] as [
        number,
        number,
        number,
      ];
      assert.ok(launch > 0 && engine > 0 && receiver > 0);
      assert.ok(Math.abs(launch + engine + receiver - (totalNs[i] as number)) < 1e-6);
      assert.ok((apiNs[i] as number) < (totalNs[i] as number));
    }
  }
});

test("the model has no observer effect: traced and untraced totals agree", async () => {
  const run = await SimulatedMachine.open("hgx-h100-8").run(transfer({ from: 0, to: 1, bytes: 8 }), {
    ...FIXED,
    trace: "copies",
  });
  near(median(traceOf(run).totalNs), run.samples.convergence.medianNs, 0.01);
});

test("the spans of the timeline give the parts, and the host's calls only in a full trace", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  const full = traceOf(
    await machine.run(transfer({ from: 0, to: 1, bytes: 8 }), {
      ...FIXED,
      trace: "full",
      traceIterations: 3,
    }),
  );
  assert.is(full.timeline.source, "simulator");
  const spans = spansOf(full).filter((span) => span.iteration === 2);
  assert.equal(
    spans.map(({ kind, lane, name }) => [kind, lane, name]),
    [
      ["iteration", "host", "iteration 2"],
      ["api", "host", "cuMemcpyAsync"],
      ["sync", "host", "sync s by spin"],
      ["copy", "GPU 0 copy engine peer write", "src → dst"],
    ],
  );
  const [iteration, api, , copy] = spans as [Span, Span, Span, Span];
  assert.is(copy.correlation, api.correlation);
  assert.is(copy.bytes, 8);
  near(copy.startNs - iteration.startNs, full.launchNs[2] as number, 1e-6);
  near(iteration.endNs - copy.endNs, full.receiverNs[2] as number, 1e-6);
  const copies = traceOf(
    await machine.run(transfer({ from: 0, to: 1, bytes: 8 }), {
      ...FIXED,
      trace: "copies",
      traceIterations: 3,
    }),
  );
  assert.equal([...new Set(copies.timeline.kind)], ["iteration", "copy"]);
});

test("a stream that waits for an event starts after it", async () => {
  const of = program()
    .buffer("src", { gpu: 0, bytes: MIB })
    .buffer("stage", { host: "pinned", bytes: MIB })
    .buffer("dst", { gpu: 1, bytes: MIB })
    .stream("out", { gpu: 0 })
    .stream("in", { gpu: 1 })
    .copy("out", "src", "stage")
    .record("out", "staged")
    .wait("in", "staged")
    .copy("in", "stage", "dst")
    .sync("in");
  const run = await SimulatedMachine.open("hgx-h100-8").run(of, { ...FIXED, trace: "copies" });
  const spans = spansOf(traceOf(run)).filter((span) => span.kind === "copy");
  for (let i = 0; i < spans.length; i += 2) {
    const [out, into] = [spans[i], spans[i + 1]] as [Span, Span];
    assert.equal([out.lane, into.lane], ["GPU 0 copy engine DtoH", "GPU 1 copy engine HtoD"]);
    assert.ok(into.startNs > out.endNs);
  }
});

test("copies in one stream never overlap and keep their order", async () => {
  let of = program().stream("s", { gpu: 0 });
  for (const i of [0, 1, 2, 3]) {
    of = of.buffer(`a${i}`, { gpu: 0, bytes: MIB }).buffer(`b${i}`, { gpu: i % 2 ? 1 : 2, bytes: MIB });
  }
  for (const i of [0, 1, 2, 3]) of = of.copy("s", `a${i}`, `b${i}`);
  const run = await SimulatedMachine.open("hgx-h100-8").run(of.sync("s"), { ...FIXED, trace: "copies" });
  const copies = spansOf(traceOf(run)).filter((span) => span.kind === "copy" && span.iteration === 0);
  assert.equal(
    copies.map((span) => span.name),
    ["a0 → b0", "a1 → b1", "a2 → b2", "a3 → b3"],
  );
  assert.ok(copies.every((span, i) => i === 0 || span.startNs > (copies[i - 1] as Span).endNs));
});

test.run();
