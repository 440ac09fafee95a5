import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { lab, type P2pError, writeFileAtomic } from "../../kernel/lab/index.js";
import { digestOf } from "../../kernel/notebook/canonical.js";
import {
  installKernel,
  type Notebook,
  parseNotebook,
  readNotebook,
  renderMarkdown,
  renderReport,
  reportByNbconvert,
  reportFooter,
  reportParts,
  requireChromium,
  requireNbconvert,
  runNotebook,
} from "../../kernel/notebook/index.js";
import { redactedOutputs, tellingCells } from "../../kernel/notebook/redact.js";
import { findChromium } from "../../kernel/notebook/report/chromium.js";
import { contained } from "../../kernel/notebook/report/foreign.js";
import { FIGURE, sample } from "./sample.js";
import { codeCell, inFolder, markdownCell, notebookOf, write } from "./temporary.js";

const report = suite("reports");

report(
  "text, code, tables, drawings, streams and errors stand in it; markdown brings no HTML of its own",
  () => {
    const html = renderReport(sample(), "x.ipynb");
    assert.match(html, /<title>标题 code 与 重点<\/title>/);
    assert.match(html, /<h2 id="测量">测量<\/h2>[\s\S]*<h2 id="测量~2">测量<\/h2>/);
    assert.match(html, /<a href="#测量">测量<\/a>/);
    assert.not.match(html, /<script>alert/);
    assert.match(html, /<span class="count">\[7\]<\/span>/);
    assert.match(html, /<span class="hljs-keyword">const<\/span>/);
    assert.ok(html.includes('<svg id="drawing"><circle r="3"></circle></svg>'));
    assert.match(html, /<td>cell of a table<\/td>/);
    assert.match(html, /red &#60;b&#62;\n100%\n/);
    assert.match(html, /<pre class="error">E: v\n {2}at Cell In\[7\], line 1<\/pre>/);
    assert.not(html.includes("\u001b"));
  },
);

report("a line break after Chinese text leaves no space, after English one", () => {
  const notebook = notebookOf();
  notebook.cells = [markdownCell("第一句。\n第二句\nthree\nfour", "text")];
  assert.match(renderReport(notebook, "x.ipynb"), /<p>第一句。第二句three\nfour<\/p>/);
});

report("plotly.js stands in it once, packed, and not at all without figures", () => {
  const two = sample();
  two.cells.push(structuredClone(two.cells[2] as Notebook["cells"][number]));
  const html = renderReport(two, "x.ipynb");
  const holders = [...html.matchAll(/<script type="text\/plain" id="p2plab-plotly">([^<]*)<\/script>/g)];
  assert.is(holders.length, 1);
  const plotly = inflateSync(Buffer.from(holders[0]?.[1] as string, "base64")).toString();
  assert.match(plotly, /^\/\* plotly\.js, MIT License, https:\/\/github\.com\/plotly/);
  assert.ok(html.length < 2_100_000, `${html.length} characters`);
  const plain = renderReport(notebookOf("1"), "x.ipynb");
  assert.ok(plain.length < 30_000, `${plain.length} characters`);
  assert.not.match(plain, /id="p2plab-plotly"/);
});

report("formulas are MathML; prices, escaped dollars and code are not formulas", () => {
  const notebook = notebookOf();
  notebook.cells = [
    markdownCell(
      "一行 $t=\\alpha+n/\\beta$。\n\n$$\n\\frac{1}{2}\n$$\n\n`$y$`, $ a $, \\$x\\$, $5 to $6",
      "t",
    ),
    markdownCell("$\\frac{$", "wrong"),
  ];
  const html = renderReport(notebook, "x.ipynb");
  assert.is(html.match(/<math/g)?.length, 2);
  assert.match(html, /<math display="block"[^>]*>.*<mfrac>/);
  assert.match(html, /<code>\$y\$<\/code>, \$ a \$, \$x\$, \$5 to \$6/);
  assert.match(html, /temml-error/);
});

report("a notebook of another kernel is shown in its own language, of unknown origin", () => {
  const notebook = notebookOf("def f(x):\n    return 'a'");
  notebook.metadata = { kernelspec: { language: "python", name: "python3", display_name: "Python 3" } };
  const html = renderReport(notebook, "x.ipynb");
  assert.match(html, /<span class="hljs-keyword">def<\/span>/);
  assert.match(html, /<div class="origin unknown">/);
  notebook.metadata = { kernelspec: null, p2plab: { executed: "x", machines: [null], digest: 3 } };
  assert.match(renderReport(notebook, "x.ipynb"), /<div class="origin unknown">/);
});

report(
  "each machine stands once on top, the foot of a page is one line, and the way to run again names the machine asked for",
  () => {
    const notebook = notebookOf("1", "2");
    const opened = (name: string, second: number) => ({
      kind: "simulated",
      machine: `model of ${name}`,
      source: `sim:${name}`,
      date: `2026-01-02T03:04:0${second}.000Z`,
    });
    const machines = [opened("rack", 1), opened("other", 2), opened("rack", 3)];
    const gpus = [...Array(72).fill("GB200"), "GB300"];
    const facts = {
      source: "sim:rack",
      name: "model of rack",
      fingerprint: "f",
      kind: "simulated",
      gpus,
      facts: {},
    };
    const run = {
      executed: "2026-01-02T03:04:05Z",
      version: "1.0.0",
      machines,
      opened: [facts],
      cells: 2,
      cellsRan: 1,
    };
    notebook.metadata = { p2plab: { ...run, asked: "sim:rack", digest: digestOf(notebook.cells) } };
    const html = renderReport(notebook, "x.ipynb");
    assert.is(html.match(/class="origin simulated"/g)?.length, 2);
    assert.match(html, /NOT RUN TO THE END<\/strong><span>1 \/ 2 /);
    assert.match(html, /<td>0–71: GB200; 72: GB300<\/td>/);
    assert.match(html, /npx p2plab run x\.html --machine sim:rack</);
    assert.match(
      renderReport(notebook, "-汉 'x.ipynb"),
      /npx p2plab run &#39;\.\/-汉 &#39;\\&#39;&#39;x\.html&#39; --machine/,
    );
    const footer = reportFooter(reportParts(notebook, `${"长".repeat(80)}.ipynb`));
    assert.match(footer, /^长{60}… · .*NOT A MEASUREMENT × 2；没有执行到底 NOT RUN TO THE END$/);
  },
);

report("outputs of 50 MB leave a line each in it and in the messages", () => {
  const notebook = sample();
  const big = codeCell("1", "big");
  const bundle = (data: Record<string, unknown>) => ({
    output_type: "display_data" as const,
    data,
    metadata: {},
  });
  big.outputs = [
    { output_type: "stream", name: "stdout", text: "x".repeat(50_000_000) },
    bundle({ "text/html": "y".repeat(50_000_000) }),
    bundle({ [FIGURE]: { data: [{ y: new Array(5_000_000).fill(1.5) }] } }),
  ];
  notebook.cells.push(big);
  const lines: string[] = [];
  const html = renderReport(notebook, "x.ipynb", { onOmission: (line) => lines.push(line) });
  assert.ok(html.length < 2_500_000, `${html.length} characters`);
  assert.equal(
    lines.map((line) => line.replace(/[\d.]+ MiB/, "SIZE")),
    ["of a text", "text/html", FIGURE].map(
      (what) => `big: SIZE ${what} left out; the notebook has all of it`,
    ),
  );
  assert.is(html.match(/left out of the report; the notebook has/g)?.length, 3);
});

report("outputs tell no host, home folder, UUID or hardware address, unless told to", () => {
  const notebook = notebookOf("'visitor-17'");
  const uuid = "GPU-12345678-1234-1234-1234-123456789abc";
  const text = `visitor-17 ${homedir()}/x ${uuid} 01:23:45:67:89:ab 10.20.30.40 S/N: K123456`;
  (notebook.cells[0] as { outputs: unknown[] }).outputs = [
    { output_type: "stream", name: "stdout", text },
    { output_type: "display_data", data: { "text/html": `<b>${text}</b>` }, metadata: {} },
    { output_type: "error", ename: "E", evalue: text, traceback: [text] },
    {
      output_type: "display_data",
      data: { "application/json": { [text]: 1, serial: 99887766 } },
      metadata: {},
    },
  ];
  (notebook.cells[0] as { metadata: unknown }).metadata = { papermill: { host: "visitor-17" } };
  notebook.metadata = { ...notebook.metadata, papermill: { input: text }, authors: [{ name: "visitor-17" }] };
  const clean = redactedOutputs(notebook, ["visitor-17"]);
  const { authors, ...metadata } = clean.metadata;
  assert.equal(authors, [{ name: "visitor-17" }]);
  const shown = JSON.stringify([clean.cells[0]?.outputs, clean.cells[0]?.metadata, metadata]);
  for (const secret of ["visitor-17", homedir(), uuid, "01:23:45", "10.20.30", "K123456", "99887766"])
    assert.not(shown.includes(secret), secret);
  assert.is(clean.cells[0]?.source, "'visitor-17'");
  assert.equal(tellingCells(notebook, ["visitor-17"]), ["cell-1"]);
  assert.equal(tellingCells(notebook, ["another"]), []);
  assert.match(renderReport(notebook, "x.ipynb", { redact: false }), new RegExp(uuid));
  assert.not.match(renderReport(notebook, "x.ipynb"), new RegExp(uuid));
});

report(
  "HTML of an output ends where it began, runs and leads nowhere, and passes for nothing of the report",
  () => {
    const same = '<table class="t"><tbody><tr><td style="color: red">汉 &amp; 1</td></tr></tbody></table>';
    assert.is(contained(same), same);
    const pairs: [string, string][] = [
      ["a<!-- b", "a"],
      ["<div><textarea>x", "<div><textarea>x</textarea></div>"],
      ["</div></main><b>x", "<b>x</b>"],
      ["<script>1</script><ScRiPt src=x></sCrIpT>x", "x"],
      ["<meta http-equiv=refresh content='0;url=http://x'><link rel=y><base href=z>x", "x"],
      ["<svg onload=x><script>1</script><a xlink:href='java\tscript:1'>y</a></svg>", "<svg><a>y</a></svg>"],
      ["<a href=' JavaScript:1' onclick=1>y</a>", "<a>y</a>"],
      ["<iframe srcdoc='<script>1</script>'></iframe><plaintext>z", ""],
      [
        '<div class="origin measured" id="p2plab-figures">MEASURED</div>',
        '<div class="measured">MEASURED</div>',
      ],
      ['<div class="figure"></div>', '<div class=""></div>'],
    ];
    for (const [html, want] of pairs) assert.is(contained(html), want, html);
    assert.match(
      contained("<style>.origin{display:none}</style>"),
      /^<div><template shadowrootmode="open"><style>[^<]*<\/style><\/template><\/div>$/,
    );
    assert.ok(contained("<b>".repeat(20_000)).length < 10_000);
  },
);

report(
  "a notebook that p2plab did not execute is of unknown origin, and its failed cells are counted",
  () => {
    const html = renderReport(sample(), "x.ipynb");
    assert.match(html, /<div class="origin unknown"><strong>来源不明：未由p2plab执行/);
    assert.match(html, /<div class="origin failed"><strong>有1个单元出错/);
  },
);

report(
  "an executed notebook says whose it is, what was predicted, claimed and run, and can be run again",
  async () => {
    await inFolder(async (folder) => {
      const cells = [
        "const machine = await lab.open();\nconst row = await lab.sweep(machine, { from: 0, to: 1, bytes: 8 });",
        'lab.predict("guess", "4 us").against(8, row);\nlab.predict("open", "1 us");',
        'lab.claim("range", { says: "in range | here", column: "total_us", between: [0, 1e6] }, row);',
        'lab.claim("other", { says: "no", holds: false, because: "because" }, row);\nlab.check("exercise", 1, { two: (x) => x === 2 });',
      ];
      const source = { ...notebookOf(...cells) };
      source.metadata = { ...source.metadata, authors: [{ name: "王某" }] };
      const file = write(folder, "n.ipynb", source);
      const out = join(folder, "out");
      const { notebook } = await runNotebook(file, { out, machine: "sim:hgx-h100-8" });
      const html = renderReport(notebook, file);
      assert.match(html, /<div class="origin simulated"><strong>模拟，不是实测 SIMULATED, NOT A MEASUREMENT/);
      assert.not.match(html, /class="origin measured"/);
      assert.match(html, /<th scope="row">作者 Author<\/th><td>王某<\/td>/);
      assert.match(renderReport(notebook, file, { author: "李某" }), /<td>李某<\/td>/);
      assert.match(html, /<td>guess<\/td><td>4<\/td><td>8<\/td><td>× 2<\/td><td>us<\/td>/);
      assert.match(html, /<td>open<\/td><td>1<\/td><td>未测 open<\/td>/);
      assert.match(html, /<td>range<\/td><td>in range \| here<\/td><td>✔ 支持 supported<\/td>/);
      assert.match(html, /<td>other<\/td><td>no<\/td><td>✘ 不支持 refuted<\/td><td>because<\/td>/);
      assert.match(html, /<td>exercise<\/td><td>✘ 未通过 failed<\/td><td>two<\/td>/);
      assert.ok(html.includes(lab.transfer({ from: 0, to: 1, bytes: 8 }).hash), "the hash of the program");
      assert.match(html, new RegExp(`Node\\.js</td><td>${process.versions.node}`));
      assert.not(html.includes(`<td>${hostname()}</td>`));
      assert.ok(
        renderReport(notebook, file, { redact: false, executedHere: true }).includes(
          `<td>${hostname()}</td>`,
        ),
      );

      const page = join(folder, "report.html");
      writeFileAtomic(page, html);
      const inside = readNotebook(page);
      assert.equal(
        inside.cells.map((cell) => [cell.source, cell.outputs]),
        cells.map((text) => [text, []]),
      );
      assert.is(inside.metadata.p2plab, undefined);

      const markdown = renderMarkdown(reportParts(notebook, file), file, []);
      assert.match(
        markdown.text,
        /^> \*\*模拟，不是实测 SIMULATED, NOT A MEASUREMENT · .*\n\n# n\n\n\| 报告 report/,
      );
      assert.match(markdown.text, /\| range \| in range \\\| here \| ✔ 支持 supported \|/);

      (notebook.cells[0] as { source: string }).source += " ";
      const changed = renderReport(notebook, file);
      assert.match(changed, /<div class="origin unknown"><strong>来源不明：p2plab执行之后又被改动/);
      assert.not.match(changed, /class="origin simulated"/);
      assert.not.match(changed, /id="p2plab-claims"/);
    });
  },
);

report("a page without a notebook inside is refused", () => {
  for (const [text, why] of [
    ["<!doctype html><p>hello</p>", /page without a notebook inside/],
    [renderReport(notebookOf("1"), "x.ipynb").replace(/(id="p2plab-notebook">.{20}).{9}/, "$1"), /damaged/],
  ] as const) {
    try {
      parseNotebook(text, "r.html");
      assert.unreachable();
    } catch (error) {
      assert.is((error as P2pError).code, "notebook");
      assert.match((error as P2pError).message, why);
    }
  }
});

report("Markdown keeps text as it is, pictures beside it, and says which figures are missing", () => {
  const notebook = sample();
  const { text, files } = renderMarkdown(reportParts(notebook, "x.ipynb"), "x.ipynb", ["<svg>one</svg>"]);
  assert.match(text, /^> \*\*来源不明.*\n>\n> \*\*有1个单元出错/);
  assert.match(text, /# 标题 `code` 与 \*\*重点\*\*/);
  assert.match(text, /```typescript\nconst a: number = 1;\n```/);
  assert.match(text, /!\[.*\]\(x_files\/figure-1\.svg\)/);
  assert.equal([...files.keys()], ["x_files/figure-1.svg", "x_files/picture-1.svg"]);
  const bare = renderMarkdown(reportParts(notebook, "x.ipynb"), "x.ipynb", []);
  assert.match(bare.text, /> 图没有画出来 figure not drawn/);
  assert.equal([...bare.files.keys()], ["x_files/picture-1.svg"]);
});

function whyNoNbconvert(): string | null {
  try {
    requireNbconvert();
    return null;
  } catch (error) {
    assert.is((error as P2pError).code, "not-available");
    return (error as P2pError).message;
  }
}

const nbconvert = whyNoNbconvert();
if (nbconvert !== null) report.skip(`skipped: ${nbconvert}`, () => {});
else {
  report("nbconvert makes the same page with the template", () => {
    const notebook = sample();
    notebook.cells.push(markdownCell("$x^2$", "formula"));
    const hostile = codeCell("0", "hostile");
    hostile.outputs = ["text/html", "text/markdown", "image/svg+xml"].map((mime) => ({
      output_type: "display_data" as const,
      data: { [mime]: '<meta http-equiv="refresh" content="0">' },
      metadata: {},
    }));
    notebook.cells.push(hostile);
    const html = reportByNbconvert(notebook, "x.ipynb");
    assert.not.match(html, /<meta http-equiv="refresh"/);
    assert.match(html, /class="origin unknown"/);
    assert.match(html, /<h1 id="标题[^"]*">/);
    assert.match(html, /<msup>/);
    assert.is(html.match(/class="p2plab-figure"/g)?.length, 1);
    assert.match(html, /red<\/span> &lt;b&gt;/);
    assert.is(html.match(/id="p2plab-plotly"/g)?.length, 1);
    assert.is(parseNotebook(html, "r.html").cells.length, 5);
  });

  report(
    "a bare nbconvert finds the template that was installed, and says that nobody checked the origin",
    async () => {
      await inFolder((folder) => {
        const { template } = installKernel({ prefix: folder });
        const notebook = sample();
        const refresh = '<META\nhttp-equiv="refresh" content="0;url=http://x">';
        const hostile = codeCell("0", "hostile");
        hostile.outputs = ["text/html", "text/markdown", "image/svg+xml"].map((mime) => ({
          output_type: "display_data" as const,
          data: { [mime]: refresh },
          metadata: {},
        }));
        notebook.cells.push(hostile, markdownCell(refresh, "hostile-text"));
        const { status, stderr } = spawnSync(
          requireNbconvert(),
          ["-m", "nbconvert", "--to", "html", "--template", "p2plab", write(folder, "bare.ipynb", notebook)],
          { encoding: "utf8", env: { ...process.env, JUPYTER_PATH: join(folder, "share/jupyter") } },
        );
        assert.is(status, 0, stderr);
        const html = readFileSync(join(folder, "bare.html"), "utf8");
        assert.match(html, /ORIGIN NOT CHECKED by p2plab/);
        assert.not.match(html, /<meta\s+http-equiv=["']?refresh/i);
        assert.match(html, /&lt;META/);
        assert.is(html.match(/class="p2plab-figure"/g)?.length, 1);
        assert.ok(existsSync(template));
      });
    },
  );
}

report("without a browser PDF is refused before anything runs, with what to do", () => {
  assert.is(findChromium({ PATH: "/nowhere", P2PLAB_CHROMIUM: "/nowhere/chromium" }), null);
  const before = process.env.P2PLAB_CHROMIUM;
  process.env.P2PLAB_CHROMIUM = "/nowhere/chromium";
  try {
    requireChromium("PDF");
    assert.unreachable();
  } catch (error) {
    assert.is((error as P2pError).code, "not-available");
    assert.match((error as P2pError).message, /P2PLAB_CHROMIUM names \/nowhere\/chromium/);
    assert.match((error as P2pError).hint, /apt install chromium/);
  } finally {
    if (before === undefined) delete process.env.P2PLAB_CHROMIUM;
    else process.env.P2PLAB_CHROMIUM = before;
  }
});

report.run();
