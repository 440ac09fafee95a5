import { suite } from "uvu";
import * as assert from "uvu/assert";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { type Program, program } from "../../../kernel/lab/program.js";
import { Random } from "../../../kernel/lab/random.js";
import type { Span } from "../../../kernel/lab/timeline.js";
import { MIB, spansOf, traceOf } from "./helpers.js";

const test = suite("random programs");

function randomProgram(random: Random, gpus: number): Program {
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)] as T;
  const places = [
    ...Array.from({ length: gpus }, (_, gpu) => ({ gpu })),
    { host: "pinned" as const },
    { host: "pageable" as const },
  ];
  let of = program().peerAccess(random.uniform() < 0.5);
  const buffers = Array.from({ length: 2 + random.integer(5) }, (_, i) => `b${i}`);
  for (const name of buffers) of = of.buffer(name, { ...pick(places), bytes: 1 + random.integer(3 * MIB) });
  const streams = Array.from({ length: 1 + random.integer(4) }, (_, i) => `s${i}`);
  for (const name of streams) of = of.stream(name, { gpu: random.integer(gpus) });
  const copy = () => {
    const [src, dst] = random.shuffle(buffers) as [string, string];
    of = of.copy(pick(streams), src, dst);
  };
  copy();
  const events: string[] = [];
  for (let i = random.integer(20); i > 0; i--) {
    const kind = random.uniform();
    if (kind < 0.5) copy();
    else if (kind < 0.7) {
      events.push(pick(["e0", "e1", "e2"]));
      of = of.record(pick(streams), events.at(-1) as string);
    } else if (kind < 0.9 && events.length > 0) of = of.wait(pick(streams), pick(events));
    else of = of.sync(pick(streams), pick(["spin", "yield", "block"]));
  }
  for (const name of streams) of = of.sync(name);
  return of;
}

test("300 random programs end, with finite numbers, parts that add up, and engines that do one thing at a time", async () => {
  const random = new Random(5);
  for (let round = 0; round < 300; round++) {
    const preset = ["hgx-h100-8", "dgx-a100-8", "pcie-gen4-2"][round % 3] as string;
    const of = randomProgram(random, preset === "pcie-gen4-2" ? 2 : 8);
    const run = await SimulatedMachine.open(preset).run(of, {
      sampling: { minSamples: 3, maxSamples: 3 },
      trace: "full",
      traceIterations: 3,
    });
    const trace = traceOf(run);
    for (const series of [run.samples.totalNs, run.samples.apiNs, trace.engineNs, trace.totalNs]) {
      assert.ok(series.length === 3 && series.every((value) => Number.isFinite(value) && value > 0));
    }
    trace.totalNs.forEach((total, i) => {
      const sum =
        (trace.launchNs[i] as number) + (trace.engineNs[i] as number) + (trace.receiverNs[i] as number);
      assert.ok(Math.abs(sum - total) < 1e-5, `${sum} against ${total}`);
      assert.ok((trace.receiverNs[i] as number) > 0 && (trace.apiNs[i] as number) < total);
    });
    const lanes = new Map<string, Span[]>();
    for (const span of spansOf(trace)) {
      assert.ok(span.endNs >= span.startNs && span.startNs >= 0);
      if (span.kind === "copy") lanes.set(span.lane, [...(lanes.get(span.lane) ?? []), span]);
    }
    for (const [lane, spans] of lanes) {
      spans.sort((a, b) => a.startNs - b.startNs);
      spans.forEach((span, i) => {
        assert.ok(i === 0 || span.startNs >= (spans[i - 1] as Span).endNs, `two copies at once on ${lane}`);
      });
    }
    const copied = of.data.operations.reduce((sum, o) => sum + (o.op === "copy" ? o.bytes : 0), 0);
    const moved = [...lanes.values()].flat().reduce((sum, span) => sum + span.bytes, 0);
    assert.ok(moved >= 3 * copied, "bytes were lost");
  }
});

test.run();
