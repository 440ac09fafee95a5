import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath, writeFileAtomic } from "../../kernel/lab/index.js";
import {
  figurePictures,
  plotlyFile,
  printedPdf,
  readCourse,
  renderReport,
  renderSite,
  runNotebook,
  SITE_PLOTLY,
} from "../../kernel/notebook/index.js";
import { browser, openOffline } from "./browser.js";
import { FIGURE, sample } from "./sample.js";
import { codeCell, inFolder } from "./temporary.js";

export const TIME_LIMIT_S = 360;

const report = suite("reports in a browser");

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

  report(
    "a page of the course's site draws its figures with plotly.js beside it, without network",
    async () => {
      await inFolder(async (folder) => {
        const pages = renderSite(readCourse(), [{ number: "01", file: "01-a.ipynb", notebook: sample() }]);
        writeFileAtomic(join(folder, SITE_PLOTLY), readFileSync(plotlyFile()));
        const file = join(folder, "01-a.html");
        writeFileAtomic(file, pages.get("01-a.html") as string);
        const page = await openOffline(file);
        assert.equal(page.figures, [{ drawn: true, traces: 1, height: 440 }]);
        assert.equal(page.requests, [pathToFileURL(join(folder, SITE_PLOTLY)).href]);
      });
    },
  );

  report("chapter 01 as executed here draws every figure and has no error on its console", async () => {
    await inFolder(async (folder) => {
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
      assert.ok(statSync(file).size <= 2_500_000, `${statSync(file).size} bytes of HTML`);

      const html = renderReport(notebook, source);
      const pdf = (await printedPdf(html, "at the foot")).toString("latin1");
      assert.ok(pdf.startsWith("%PDF-") && pdf.length <= 3_000_000, `${pdf.length} bytes of PDF`);
      assert.not.match(pdf, /\/Subtype ?\/Image/);
      assert.match(pdf, /\/FontFile|\/Type3/);
      const pictures = await figurePictures(html);
      assert.is(pictures.length, page.figures.length);
      for (const picture of pictures) assert.match(String(picture), /^<svg[\s\S]*录制的实测[\s\S]*<\/svg>$/);
    });
  });
}

report.run();
