import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { writeFileAtomic } from "../../kernel/lab/index.js";
import { type Notebook, renderReport, runNotebook } from "../../kernel/notebook/index.js";
import { browser, openOffline } from "./browser.js";
import { codeCell, inFolder, markdownCell, notebookOf, write } from "./temporary.js";

export const TIME_LIMIT_S = 240;

const report = suite("reports");

const FIGURE = "application/vnd.plotly.v1+json";

/** A notebook with everything a report shows; nothing in it was executed. */
function sample(): Notebook {
  const notebook = notebookOf();
  const shown = codeCell("const a: number = 1;", "code");
  shown.execution_count = 7;
  shown.outputs = [
    { output_type: "stream", name: "stdout", text: "\u001b[31mred\u001b[0m <b>\n10%\r100%\n" },
    {
      output_type: "display_data",
      data: { [FIGURE]: { data: [{ x: [1, 2], y: [3, 4] }], layout: { title: "</script><img>" } } },
      metadata: {},
    },
    {
      output_type: "display_data",
      data: { "image/svg+xml": '<svg id="drawing"><circle r="3"/></svg>' },
      metadata: {},
    },
    {
      output_type: "display_data",
      data: { "text/html": "<table><tr><td>cell of a table</td></tr></table>" },
      metadata: {},
    },
    {
      output_type: "display_data",
      data: { "text/html": '<img src="https://example.org/tracker.png">' },
      metadata: {},
    },
    {
      output_type: "error",
      ename: "E",
      evalue: "v",
      traceback: ["\u001b[1mE: v\u001b[0m", "  at Cell In[7], line 1"],
    },
  ];
  notebook.cells = [
    markdownCell("# 标题 `code` 与 **重点**\n\n<script>alert(1)</script>", "title"),
    markdownCell("## 测量\n\n![图](picture.svg)\n\n## 测量", "text"),
    shown,
  ];
  return notebook;
}

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
    assert.ok(html.includes('<svg id="drawing"><circle r="3"/></svg>'));
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

report("plotly.js stands in it once, and not at all without figures", () => {
  const version = /plotly\.js v\d/g;
  const two = sample();
  two.cells.push(structuredClone(two.cells[2] as Notebook["cells"][number]));
  const html = renderReport(two, "x.ipynb");
  assert.is(html.match(/MIT License, https:\/\/github\.com\/plotly/g)?.length, 1);
  const plain = renderReport(notebookOf("1"), "x.ipynb");
  assert.ok(plain.length < 20_000, `${plain.length} characters`);
  assert.not.match(plain, version);
});

report(
  "a notebook that p2plab did not execute is of unknown origin, and its failed cells are counted",
  () => {
    const html = renderReport(sample(), "x.ipynb");
    assert.match(html, /<div class="origin unknown"><strong>来源不明：未由p2plab执行/);
    assert.match(html, /<div class="origin failed"><strong>有1个单元出错/);
  },
);

report("the band says simulated, until the notebook is changed", async () => {
  await inFolder(async (folder) => {
    const file = write(folder, "n.ipynb", notebookOf("const machine = await lab.open();\n1"));
    const { notebook } = await runNotebook(file, { out: join(folder, "out"), machine: "sim:hgx-h100-8" });
    const html = renderReport(notebook, file);
    assert.match(html, /<div class="origin simulated"><strong>模拟，不是实测 SIMULATED, NOT A MEASUREMENT/);
    assert.not.match(html, /class="origin measured"/);
    (notebook.cells[0] as { source: string }).source += " ";
    const changed = renderReport(notebook, file);
    assert.match(changed, /<div class="origin unknown"><strong>来源不明：p2plab执行之后又被改动/);
    assert.not.match(changed, /class="origin simulated"/);
  });
});

const reason = await browser.missing();
if (reason) {
  report.skip(`skipped: ${reason}`, () => {});
} else {
  report(
    "opened in a browser without network: figures drawn, pictures shown, nothing asked of anyone",
    async () => {
      await inFolder(async (folder) => {
        writeFileSync(
          join(folder, "picture.svg"),
          '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30"/></svg>',
        );
        const notebook = sample();
        notebook.cells.push(codeCell("", "second"));
        (notebook.cells[3] as { outputs: unknown[] }).outputs = [
          {
            output_type: "execute_result",
            data: {
              [FIGURE]: {
                data: [
                  {
                    type: "heatmap",
                    z: [
                      [1, 2],
                      [3, 4],
                    ],
                  },
                ],
                layout: {},
              },
            },
            metadata: {},
            execution_count: 8,
          },
        ];
        const file = join(folder, "sample.html");
        writeFileAtomic(file, renderReport(notebook, join(folder, "sample.ipynb")));
        const page = await openOffline(file);
        assert.equal(page.figures, [
          { drawn: true, traces: 1, height: 440 },
          { drawn: true, traces: 1, height: 440 },
        ]);
        assert.equal(page.pictures, [{ alt: "图", width: 40 }]);
        assert.equal(page.requests, []);
        // The picture of a tracker is refused by the page's own policy, and that alone is said on the console.
        assert.equal(
          page.errors.filter((text) => !/violates the following Content Security Policy/.test(text)),
          [],
        );
        assert.is(page.errors.length, 1);
      });
    },
  );

  report("chapter 01 as executed here draws every figure and has no error on its console", async () => {
    await inFolder(async (folder) => {
      const { packagePath } = await import("../../kernel/lab/index.js");
      const source = packagePath("notebooks/01-introduction.ipynb");
      const { notebook } = await runNotebook(source, { out: folder, machine: "recorded:h200x2" });
      const file = join(folder, "01.html");
      writeFileAtomic(file, renderReport(notebook, source));
      const page = await openOffline(file);
      assert.ok(page.figures.length >= 3, `${page.figures.length} figures`);
      for (const figure of page.figures) assert.ok(figure.drawn && figure.traces > 0, JSON.stringify(figure));
      assert.equal(page.requests, []);
      assert.equal(page.errors, []);
      assert.match(page.band, /录制的实测 RECORDED/);
    });
  });
}

report.run();
