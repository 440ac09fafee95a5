import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/errors.js";
import { breakdown } from "../../kernel/lab/measure/breakdown.js";
import { sweep } from "../../kernel/lab/measure/sweep.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import * as plot from "../../kernel/lab/plot/index.js";
import { richDisplay } from "../../kernel/lab/rich.js";
import { scriptedMachine } from "./scripted-machine.js";

const plots = suite("plot");

type Title = { text: string; subtitle: { text: string; font: { color: string } } };
const title = (figure: plot.Figure) => figure.layout.title as Title;

plots("every figure states machine, provenance and date; a simulation stands out in red", async () => {
  for (const [kind, words, colour] of [
    ["measured", /实测 measured/, "#5A5A5A"],
    ["recorded", /录制的实测 recorded/, "#5A5A5A"],
    ["simulated", /SIMULATED, not a measurement/, "#B00020"],
  ] as const) {
    const machine = scriptedMachine(kind);
    const curve = await sweep(machine, { from: 0, to: 1, bytes: [8, 64], path: ["peer", "staged"] });
    const parts = await breakdown(machine, { from: 0, to: 1, bytes: 8 });
    const run = await machine.run(transfer({ from: 0, to: 1, bytes: 8 }), { trace: "full" });
    for (const figure of [plot.latency(curve), plot.breakdown(parts), plot.timeline(run)]) {
      assert.match(title(figure).subtitle.text, words);
      assert.match(title(figure).subtitle.text, /2 × scripted GPU · 2026-01-02/);
      assert.is(title(figure).subtitle.font.color, colour);
      assert.match(String(figure), words);
    }
  }
});

plots("a figure is plain JSON: no typed arrays, no NaN, the same after a round trip", async () => {
  const curve = await sweep(scriptedMachine("measured"), {
    from: 0,
    to: 1,
    bytes: [8, 64],
    path: ["peer", "staged"],
  });
  const figure = plot.latency(curve);
  const json = JSON.parse(JSON.stringify(figure));
  assert.equal(json, figure.toJSON());
  assert.equal(Object.keys(figure[richDisplay]()).sort(), ["application/vnd.plotly.v1+json", "text/plain"]);
  assert.is(json.layout.xaxis.ticktext[0], "8 B");
});

plots("latency draws median and p99 of each path, axes with units", async () => {
  const curve = await sweep(scriptedMachine("measured"), {
    from: 0,
    to: 1,
    bytes: [8, 64],
    path: ["peer", "staged"],
  });
  const figure = plot.latency(curve);
  assert.equal(
    figure.data.map((trace) => trace.name),
    ["peer", "peer p99", "staged", "staged p99"],
  );
  assert.match((figure.layout.yaxis as { title: { text: string } }).title.text, /µs/);
});

plots("breakdown stacks four parts to a hundred per cent", async () => {
  const parts = await breakdown(scriptedMachine("measured"), { from: 0, to: 1, bytes: [8, 64] });
  const figure = plot.breakdown(parts);
  const sum = figure.data.reduce((total, trace) => total + ((trace.x as number[])[0] as number), 0);
  assert.ok(Math.abs(sum - 100) < 1e-9, String(sum));
});

plots("timeline refuses a run without a trace and says why", async () => {
  const run = await scriptedMachine("measured").run(transfer({ from: 0, to: 1, bytes: 8 }));
  assert.throws(
    () => plot.timeline({ ...run, traceReason: "no CUPTI" }),
    (error: unknown) => error instanceof P2pError && /no CUPTI/.test(error.message),
  );
});

plots("the drawing of the two paths is well-formed SVG with a Chinese title and no outside reference", () => {
  const bundle = plot.paths()[richDisplay]();
  const svg = bundle["image/svg+xml"] as string;
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  assert.match(svg, /<title id="[^"]+">两条路径/);
  const opened = (svg.match(/<[a-z][^>]*[^/]>/g) ?? []).length;
  assert.is(opened, (svg.match(/<\/[a-z]+>/g) ?? []).length);
  assert.not.match(svg.replace("http://www.w3.org/2000/svg", ""), /https?:/);
});

plots.run();
