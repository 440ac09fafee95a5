import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/errors.js";
import { importer } from "../../kernel/lab/import/kineto.js";
import { timeline } from "../../kernel/lab/plot/timeline.js";
import { timelineFrom } from "./analyze/timeline-fixture.js";
import { sourceOf } from "./import/content-source.js";
import { kinetoTrace, peerCopyEvents } from "./import/kineto-fixture.js";

const test = suite("figures of imported timelines");

test("an import is drawn, and the figure says that it was imported, of what and when", async () => {
  const imported = await importer.read(sourceOf(kinetoTrace(peerCopyEvents())));
  const text = `${timeline(imported, { lang: "en" })}`;
  assert.match(text, /imported from another tool's file · 2 × synthetic GPU · 2026-\d\d-\d\d/);
  assert.match(text, /Memcpy PtoP 1 MiB 4\.25 µs/);
  const { data, layout } = timeline(imported, { lang: "zh" }).toJSON();
  assert.ok(data.some((trace) => String(trace.name).startsWith("命名区间")));
  const axis = layout.yaxis as { ticktext: string[] };
  assert.ok(axis.ticktext.includes("GPU 0 stream 7"));
});

test("a window draws what lies in it; nothing in it, or a timeline without spans, is refused", () => {
  const own = timelineFrom(
    [0, 100, 200].map((at) => ({ kind: "copy" as const, us: [at, at + 10] as const, bytes: 8 })),
  );
  const bars = (options = {}) =>
    timeline(own, options)
      .toJSON()
      .data.reduce((sum, trace) => sum + (trace.x as unknown[]).length, 0);
  assert.equal([bars(), bars({ window: [90, 150] })], [3, 1]);
  for (const run of [
    () => bars({ window: [300, 400] }),
    () => timeline(timelineFrom([])),
    () => timeline({ timeline: null }),
  ]) {
    assert.throws(run, (error: unknown) => error instanceof P2pError && error.code === "usage");
  }
});

test("too many spans for a drawing are refused with the way to draw fewer", () => {
  const many = timelineFrom(
    Array.from({ length: 200_001 }, (_, i) => ({ kind: "copy" as const, us: [i, i + 0.5] as const })),
  );
  assert.throws(
    () => timeline(many),
    (error: unknown) => /shorter \{ window/.test((error as P2pError).hint),
  );
});

test.run();
