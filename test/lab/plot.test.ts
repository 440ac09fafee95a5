import { suite } from "uvu";
import * as assert from "uvu/assert";
import { sweep } from "../../kernel/lab/measure/sweep.js";
import { tableOf } from "../../kernel/lab/measure/table.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import * as plot from "../../kernel/lab/plot/index.js";
import { PALETTE, textOn, wrap } from "../../kernel/lab/plot/style.js";
import { richDisplay } from "../../kernel/lab/rich.js";
import { TOPOLOGIES } from "../../kernel/lab/topology/presets.js";
import {
  busySpans,
  claims,
  curveOf,
  figuresOf,
  hardFigures,
  matrixOf,
  ORIGIN,
  tracedRun,
} from "./plot-figures.js";
import { scriptedMachine } from "./scripted-machine.js";

const plots = suite("plot");

type Title = { text: string; subtitle: { text: string; font: { color: string } } };
const title = (figure: plot.Figure) => figure.layout.title as Title;
const marks = (figure: plot.Figure) =>
  (figure.layout.annotations as { name?: string; text: string }[]).filter((a) => a.name === "watermark");

plots(
  "every figure states machine, provenance and date; a simulation stands out in colour and across the drawing",
  async () => {
    for (const [kind, words, simulated] of [
      ["measured", /实测 measured/, false],
      ["recorded", /录制的实测 recorded/, false],
      ["simulated", /SIMULATED, not a measurement/, true],
    ] as const) {
      for (const [name, figure] of Object.entries(await figuresOf(kind))) {
        assert.match(title(figure).subtitle.text, words, name);
        assert.match(title(figure).subtitle.text, /2 × scripted GPU · 2026-01-02/, name);
        assert.match(String(figure), words, name);
        assert.is(title(figure).subtitle.font.color === "#B00020", simulated, name);
        assert.is(marks(figure).length, simulated ? 1 : 0, name);
      }
    }
  },
);

plots(
  "rows of a simulation among measured ones make the whole figure say so, and share no line with them",
  () => {
    const rows = [8, 64].flatMap((bytes) => [
      { bytes, total_us: 7 },
      { bytes, total_us: 6, machine: "a model", provenance: "simulated", date: "2026-01-03" },
    ]);
    const figure = plot.latency(curveOf(rows));
    assert.match(title(figure).subtitle.text, /实测 measured · 8 × test GPU/);
    assert.match(title(figure).subtitle.text, /SIMULATED.*a model · 2026-01-03/);
    assert.is(marks(figure).length, 1);
    const lines = figure.data.filter((trace) => trace.mode === "lines+markers");
    assert.equal(
      lines.map((line) => line.y),
      [
        [7, 7],
        [6, 6],
      ],
    );
  },
);

plots("a table that does not say where it comes from makes a figure that says that", () => {
  const { path, bytes, total_us } = { path: "peer", bytes: 8, total_us: 7 };
  const bare = curveOf([{ path, bytes, total_us }]).select("path", "bytes", "total_us");
  assert.match(title(plot.latency(bare)).subtitle.text, /provenance not stated/);
});

plots("figures are plain JSON without NaN or undefined in a list, the same after a round trip", async () => {
  for (const [name, figure] of Object.entries({
    ...(await figuresOf("measured")),
    ...(await hardFigures()),
  })) {
    const text = JSON.stringify(figure);
    assert.not.match(text, /NaN|Infinity|\[undefined|,undefined/, name);
    assert.equal(JSON.parse(text).data, JSON.parse(JSON.stringify(figure.data)), name);
    assert.ok(figure.data.length > 0, name);
    assert.equal(
      Object.keys(figure[richDisplay]()).sort(),
      ["application/vnd.plotly.v1+json", "text/plain"],
      name,
    );
  }
});

plots("each figure has both themes and both languages", async () => {
  const han = /[\u4e00-\u9fff]/;
  const light = await figuresOf("simulated", { theme: "light", lang: "zh" });
  const dark = await figuresOf("simulated", { theme: "dark", lang: "en" });
  for (const [name, figure] of Object.entries(dark)) {
    const paper = (each: plot.Figure) =>
      (each.layout.template as { layout: { paper_bgcolor: string } }).layout.paper_bgcolor;
    assert.is(paper(figure), "#14181D", name);
    assert.is(paper(light[name] as plot.Figure), "#FFFFFF", name);
    assert.not.match(JSON.stringify(figure), han, name);
    assert.match(title(light[name] as plot.Figure).text, han, name);
  }
});

plots("text on a coloured bar has a contrast of at least 4.5", () => {
  const luminance = (hex: string) =>
    [1, 3, 5]
      .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, i) => sum + part * ([0.2126, 0.7152, 0.0722][i] as number), 0);
  for (const [name, colour] of Object.entries(PALETTE)) {
    const [low, high] = [luminance(colour), luminance(textOn(colour))].sort((a, b) => a - b) as [
      number,
      number,
    ];
    assert.ok((high + 0.05) / (low + 0.05) >= 4.5, name);
  }
});

plots(
  "latency draws median, interval and p99 of each path over axes with units, and rings what is flagged",
  () => {
    const figure = plot.latency(
      curveOf([
        { bytes: 8, total_us: 7 },
        { bytes: 64, total_us: 8, flags: "drift: +9 %" },
        { bytes: 512, total_us: 9, converged: false },
        { bytes: 8, total_us: 14, path: "staged" },
      ]),
    );
    assert.equal(
      figure.data.map((trace) => trace.name).filter((name) => !/95 %/.test(String(name))),
      ["peer", "peer p99", "staged", "staged p99", "有标记的点（悬停看原因）"],
    );
    const rings = figure.data.at(-1) as { x: number[] };
    assert.equal(rings.x, [64, 512]);
    assert.match((figure.layout.yaxis as { title: { text: string } }).title.text, /µs/);
    const looks = figure.data
      .filter((trace) => trace.mode === "lines+markers")
      .map((t) => (t.marker as { symbol: string }).symbol);
    assert.is(new Set(looks).size, 2);
  },
);

plots("a cell without a number leaves a gap in its line and its reason under the title", () => {
  const figure = plot.latency(
    curveOf([
      { bytes: 8, total_us: 7 },
      { bytes: 64, total_us: null, reason: "the pair is broken" },
      { bytes: 512, total_us: 9 },
    ]),
  );
  assert.equal(figure.data.find((trace) => trace.name === "peer")?.y, [7, null, 9]);
  assert.match(title(figure).subtitle.text, /1 处没有数字：the pair is broken/);
});

plots("a sweep of the bandwidth metric is not called a latency until the host knows", () => {
  const of = (metrics: readonly string[]) =>
    title(plot.latency(curveOf(metrics.map((metric) => ({ metric, total_us: 7 }))))).text;
  assert.match(of(["latency"]), /主机得知完成/);
  assert.match(of(["bandwidth"]), /连续传输/);
  assert.not.match(of(["latency", "bandwidth"]), /主机得知完成|连续/);
});

plots("of a reason that goes on over lines the first stands under the title", () => {
  const figure = plot.latency(
    curveOf([
      { total_us: 7 },
      { bytes: 64, total_us: null, reason: "holds no run of this program:\nbuffer src" },
    ]),
  );
  assert.match(title(figure).subtitle.text, /holds no run of this program:/);
  assert.not.match(title(figure).subtitle.text, /buffer src/);
});

plots("a message axis reads as sizes; an axis of less than a decade still has ticks", async () => {
  const curve = await sweep(scriptedMachine("measured"), { from: 0, to: 1, bytes: [8, 64] });
  const { xaxis, yaxis } = plot.latency(curve).layout as Record<string, { ticktext: string[] }>;
  assert.is(xaxis?.ticktext[0], "8 B");
  assert.ok((yaxis as { ticktext: string[] }).ticktext.length >= 3, JSON.stringify(yaxis));
});

plots("breakdown stacks four parts to a hundred per cent", async () => {
  const figure = (await figuresOf("measured")).breakdown as plot.Figure;
  const sum = figure.data.reduce((total, trace) => total + ((trace.x as number[])[0] as number), 0);
  assert.ok(Math.abs(sum - 100) < 1e-9, String(sum));
});

plots(
  "ecdf rises to a hundred per cent at the slowest sample, and keeps the tail of a long series",
  async () => {
    const machine = scriptedMachine("measured");
    const run = await machine.run(transfer({ from: 0, to: 1, bytes: 8 }));
    const samples = Float64Array.from({ length: 20_000 }, (_, i) => 7000 + (i >= 19_950 ? i : 0));
    const figure = plot.ecdf({ ...run, samples: { ...run.samples, totalNs: samples } });
    const { x, y } = figure.data[0] as { x: number[]; y: number[] };
    assert.ok(x.length <= 1200);
    assert.is(y.at(-1), 100);
    assert.is(x.filter((us) => us > 20).length, 50);
    assert.ok(y.every((share, i) => i === 0 || share > (y[i - 1] as number)));
  },
);

plots("bars have a group a place and a colour a series; measured and simulated never share one", () => {
  const row = (rest: Record<string, unknown>) => ({
    from: 0,
    to: 1,
    store: "release",
    one_way_ns: 700,
    note: null,
    ...rest,
    ...(rest.provenance === "simulated" ? { machine: "a model", date: "2026-01-03" } : ORIGIN),
  });
  const rows = [
    row({ store: "volatile", one_way_ns: 650 }),
    row({ to: 2 }),
    row({ to: 3, provenance: "simulated" }),
    row({ one_way_ns: null, note: "no probes here" }),
  ];
  const options = { value: "one_way_ns", by: ["from", "to"], series: "store" } as const;
  const figure = plot.bars(tableOf(rows), options);
  assert.equal(
    figure.data.map(({ name, x, y }) => [name, x, y]),
    [
      ["volatile · measured", ["GPU 0 → GPU 1"], [650]],
      ["release · measured", ["GPU 0 → GPU 2"], [700]],
      ["release · simulated", ["GPU 0 → GPU 3"], [700]],
    ],
  );
  assert.match(String(figure), /1 处没有数字：no probes here/);
  assert.match(
    String(plot.bars(tableOf([rows[3] as object as Record<string, unknown>]), options)),
    /没有一格有数字/,
  );
  const guessed = plot.bars(tableOf(rows), { ...options, guess: { value: 900, unit: "ns" } });
  const line = guessed.data.at(-1);
  assert.equal([line?.y, line?.x, line?.xaxis], [[900, 900], [0, 1], "x2"], "across the whole figure");
  const axis = (more: object) =>
    (plot.bars(tableOf(rows), { ...options, ...more }).layout.yaxis as { title: { text: string } }).title
      .text;
  assert.equal(
    [axis({}), axis({ lang: "en" }), axis({ quantity: "一去" }), axis({ value: "to", quantity: "去向" })],
    ["单程延迟（ns）", "one-way latency (ns)", "一去（ns）", "去向"],
  );
});

plots("alpha-beta draws what the fit leaves over: nothing for a line that is one", () => {
  const rows = [8, 4096, 65536, 1 << 20, 1 << 24].map((bytes) => ({
    bytes,
    total_us: 7 + bytes / 400 / 1e3,
  }));
  const figure = plot.alphaBeta(curveOf(rows));
  const left = figure.data.find((trace) => trace.yaxis === "y2") as { y: number[] };
  assert.is(left.y.length, rows.length);
  assert.ok(left.y.every((percent) => Math.abs(percent) < 1e-6));
  assert.match(title(figure).subtitle.text, /α 7 \[.*\] µs, β 400 \[.*\] GB\/s/);
});

plots("a matrix prints each value with contrast, hatches what is missing and says why", () => {
  const figure = plot.matrix(
    matrixOf(3, (from, to) => ({
      total_us: from === 0 && to === 2 ? null : 1 + from + to,
      reason: from === 0 && to === 2 ? "no verdict" : null,
    })),
  );
  const [heat, numbers, dashes] = figure.data as {
    z: unknown[][];
    x: number[];
    y: number[];
    text: string[];
    hovertext: string[];
  }[];
  assert.equal(heat?.z, [
    [1, 2, null],
    [2, 3, 4],
    [3, 4, 5],
  ]);
  assert.equal(numbers?.text, ["1", "2", "", "2", "3", "4", "3", "4", "5"]);
  assert.equal([dashes?.x, dashes?.y, dashes?.text], [[2], [0], ["—"]]);
  assert.match(dashes?.hovertext[0] as string, /GPU 0 → GPU 2.*no verdict/);
  assert.is((figure.layout.shapes as unknown[]).length, 1);
});

plots("a matrix in Chinese says in Chinese what its figures are", () => {
  const fields = {
    gbps: 300,
    metric: "bandwidth",
    direction: "both-ways",
    definition: "copies, back to back",
  };
  const { text } = title(plot.matrix(matrixOf(2, () => fields))).subtitle;
  assert.match(text, /一个接一个地拷贝，由设备事件计时，载荷除以时间；两个方向同时传/);
  assert.not.match(text, /back to back/);
});

plots("colours of a matrix span what lies off the diagonal", () => {
  const figure = plot.matrix(
    matrixOf(3, (from, to) => ({ gbps: from === to ? 2500 : 300 + from * 10 })),
    { value: "gbps" },
  );
  assert.equal([figure.data[0]?.zmin, figure.data[0]?.zmax], [300, 320]);
});

plots(
  "a timeline draws each span where it lies, host first, and an arrow from each call to its work",
  async () => {
    const run = await tracedRun([
      { kind: "copy", lane: "GPU 1 stream s", startNs: 5000, endNs: 9000, correlation: 7 },
      { kind: "api", lane: "host", name: "call", startNs: 1000, endNs: 3000, correlation: 7 },
      { kind: "copy", lane: "GPU 0 stream s", startNs: 6000, endNs: 7000 },
    ]);
    const figure = plot.timeline(run);
    const { tickvals, ticktext } = figure.layout.yaxis as { tickvals: number[]; ticktext: string[] };
    assert.equal(
      [tickvals, ticktext],
      [
        [0, 1, 2],
        ["host", "GPU 0 stream s", "GPU 1 stream s"],
      ],
    );
    const copies = figure.data.find((trace) => trace.name === "拷贝 copy") as {
      base: number[];
      x: number[];
      y: number[];
    };
    assert.equal(
      [copies.base, copies.x, copies.y],
      [
        [4, 5],
        [4, 1],
        [2, 1],
      ],
    );
    const arrows = (figure.layout.annotations as { x: number; ax: number; showarrow: boolean }[]).filter(
      (a) => a.showarrow,
    );
    assert.equal(
      arrows.map((a) => [a.ax, a.x]),
      [[2, 4]],
    );
  },
);

plots("spans of a lane that overlap get rows of their own", async () => {
  const run = await tracedRun([
    { startNs: 0, endNs: 5000 },
    { startNs: 1000, endNs: 6000 },
    { startNs: 5000, endNs: 8000 },
  ]);
  assert.equal(plot.timeline(run).data[0]?.y, [0, 1, 0]);
});

plots(
  "thirty thousand events become a few thousand bars that cover the same time, and the figure says so",
  async () => {
    const run = await tracedRun(busySpans(30_000));
    const figure = plot.timeline(run);
    const bars = figure.data.reduce((sum, trace) => sum + (trace.x as number[]).length, 0);
    assert.ok(bars <= 12_000, String(bars));
    assert.match(title(figure).subtitle.text, /30000个事件/);
    const ends = figure.data.flatMap((trace) =>
      (trace.base as number[]).map((base, i) => base + ((trace.x as number[])[i] as number)),
    );
    assert.ok(Math.abs(Math.max(...ends) - 2999.99) < 1e-6);
    const part = plot.timeline(run, { window: [10, 12] });
    assert.is(
      part.data.reduce((sum, trace) => sum + (trace.x as number[]).length, 0),
      21,
    );
  },
);

plots("a schedule has a row a stream of the program, and says how busy each is", async () => {
  const run = await tracedRun([
    { kind: "api", lane: "host", startNs: 0, endNs: 1000 },
    { lane: "GPU 0 copy engine", name: "src → dst", bytes: 8, startNs: 2000, endNs: 4000 },
    { kind: "kernel", lane: "GPU 1 compute", name: "spin", startNs: 4000, endNs: 8000 },
  ]);
  const figure = plot.schedule(run);
  const { ticktext } = figure.layout.yaxis as { ticktext: string[] };
  assert.equal(ticktext, ["GPU 0 · s<br>忙 25 %", "GPU 1 compute<br>忙 50 %"]);
  assert.equal(
    figure.data.map((trace) => trace.name),
    ["GPU 0 → GPU 1", "kernel"],
  );
});

plots("a ledger places what was found within what was claimed", () => {
  const figure = plot.ledger(
    claims([
      { id: "a", claimed_low: 0, claimed_high: 10, found_low: 2, found_high: 6 },
      { id: "b", result: "refuted", claimed_low: 1, claimed_high: 2, found_low: 100, found_high: 200 },
    ]),
  );
  const [supported, refuted] = figure.data as {
    x: number[];
    error_x: { array: number[] };
    marker: { symbol: string[] };
  }[];
  assert.ok(Math.abs((supported?.x[0] as number) - 0.4) < 1e-12);
  assert.ok(Math.abs((supported?.error_x.array[0] as number) - 0.2) < 1e-12);
  assert.equal(refuted?.marker.symbol, ["triangle-right"]);
  assert.ok((refuted?.x[0] as number) < 2.5);
});

plots("a topology draws every node and every link, GPUs of a cube mesh joined by arcs", () => {
  for (const preset of TOPOLOGIES) {
    const figure = plot.topology(preset);
    const { nodes, links } = preset.graph;
    const hover = JSON.stringify(figure.data);
    for (const node of nodes)
      assert.ok(hover.includes(`<b>${node.name}</b>`), `${preset.name}: ${node.name}`);
    const drawn = figure.data
      .filter((trace) => trace.mode === "lines")
      .reduce((sum, trace) => sum + (trace.x as unknown[]).filter((x) => x === null).length, 0);
    assert.is(drawn, links.length, preset.name);
  }
});

plots("lines of text are never wider than asked, and nothing is lost", () => {
  const text =
    "录制的实测 recorded · 2 × NVIDIA H200 · 2026-11-30； a-word-that-is-much-longer-than-a-line-can-be-without-a-break end";
  const lines = wrap(text, 200, 12);
  assert.ok(lines.length > 2);
  assert.is(lines.join("").replace(/\s/g, ""), text.replace(/\s/g, ""));
});

plots("drawings of mechanisms are well-formed SVG with a Chinese title and no outside reference", () => {
  const drawings = [
    plot.paths(),
    plot.messagePassing(),
    plot.sharing(),
    plot.rdmaPath(),
    plot.peerApi(),
    plot.addressSpace(),
    plot.pciePath(),
    plot.nvlinkFabrics(),
  ];
  const ids = drawings.flatMap(({ svg }) => [...svg.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  assert.is(new Set(ids).size, ids.length);
  for (const drawing of drawings) {
    const svg = drawing[richDisplay]()["image/svg+xml"] as string;
    assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    assert.match(svg, /<title id="[^"]+">[^<]*[\u4e00-\u9fff]/);
    const opened = (svg.match(/<[a-z][^>]*[^/]>/g) ?? []).length;
    assert.is(opened, (svg.match(/<\/[a-z]+>/g) ?? []).length);
    assert.not.match(svg.replace("http://www.w3.org/2000/svg", ""), /https?:/);
    for (const [, id] of svg.matchAll(/url\(#([^)]+)\)/g)) assert.ok(ids.includes(id), `${id} of ${drawing}`);
    assert.match(String(drawing), /[\u4e00-\u9fff]/);
  }
});

plots("markup in a name is shown, not obeyed", () => {
  const figure = plot.latency(
    curveOf([{ total_us: 7, machine: "<b>&</b>", provenance: "measured", date: ORIGIN.date }]),
  );
  assert.match(title(figure).subtitle.text, /&lt;b&gt;&amp;&lt;\/b&gt;/);
});

plots.run();
