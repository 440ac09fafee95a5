import { spawnSync } from "node:child_process";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { plotlyFile, readNotebook, reportParts } from "../../kernel/notebook/index.js";
import { browser, launch } from "../notebook/browser.js";
import { NotebookPage, until } from "./notebook-page.js";
import { jupyterProgram, type LabServer, missingJupyterLab, startJupyterLab } from "./server.js";

export const TIME_LIMIT_S = 480;

const ui = suite("the kernel in JupyterLab");
const CHAPTER = "01-introduction.ipynb";

/** Cells of a notebook of our own, each for one test. */
const CELLS = {
  machine: 'const machine = await lab.open("sim:hgx-h100-8"); let kept = 41;',
  failing: 'const before = 1;\nfunction deep() { throw new RangeError("planted"); }\ndeep();',
  long: 'await lab.sweep(machine, { from: 0, to: 1, path: ["peer", "staged", "driver-staged"],\n  bytes: lab.sizes("8 B", "1 GiB", { factor: 1.002 }) });',
  after: "kept + 1",
  complete: "lab.s",
  inspect: "lab.sweep",
};
const at = (name: keyof typeof CELLS) => Object.keys(CELLS).indexOf(name);

let server: LabServer;
let opened: Browser;
let page: Page;
let notebook: NotebookPage;
const errors: string[] = [];

/** What a restart must bring back: names of the cell before, and a figure. */
const AGAIN = {
  first: "const counted = (globalThis as any).seen = ((globalThis as any).seen ?? 0) + 1;",
  second: "plot.paths();\ncounted",
};

function ownNotebook(sources: Record<string, string>): string {
  const cells = Object.entries(sources).map(([id, source]) => ({
    cell_type: "code",
    execution_count: null,
    id,
    metadata: {},
    outputs: [],
    source,
  }));
  const kernelspec = { display_name: "P2P Lab (TypeScript)", language: "typescript", name: "p2plab" };
  return JSON.stringify({ cells, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 });
}

ui.before(async () => {
  server = await startJupyterLab({ P2PLAB_MACHINE: "recorded:h200x2", P2PLAB_LEDGER: "ledger.jsonl" });
  copyFileSync(packagePath(`notebooks/${CHAPTER}`), join(server.folder, CHAPTER));
  writeFileSync(join(server.folder, "own.ipynb"), ownNotebook(CELLS));
  writeFileSync(join(server.folder, "again.ipynb"), ownNotebook(AGAIN));
  opened = await launch();
  page = await (await opened.newContext({ viewport: { width: 1400, height: 1000 } })).newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  notebook = new NotebookPage(page, server);
});

ui.after(async () => {
  await opened?.close();
  await server?.stop();
});

function register(): void {
  ui("the launcher shows the kernel with its logo", async () => {
    await page.goto(server.address("/lab"));
    const card = page.locator('.jp-LauncherCard[data-category="Notebook"]', { hasText: "P2P Lab" });
    await card.waitFor({ timeout: 90_000 });
    const logo = card.locator("img");
    assert.ok(await logo.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth));
  });

  ui("chapter 01 runs to its end: figures drawn and interactive, tables rendered", async () => {
    await notebook.open(CHAPTER);
    await notebook.menu("Run", "Run All Cells");
    const cells = await chapterEnded();
    assert.ok(cells.reduce((sum, cell) => sum + cell.figures, 0) >= 4);
    assert.ok(cells.reduce((sum, cell) => sum + cell.tables, 0) >= 3);
    const plot = page.locator(".js-plotly-plot").first();
    await plot.scrollIntoViewIfNeeded();
    const point = plot.locator(".scatterlayer .point").first();
    await point.hover({ force: true });
    await page.waitForSelector(".js-plotly-plot .hoverlayer .hovertext", { timeout: 20_000 });
  });

  ui("after a reload the figures are there without running anything", async () => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+s");
    await until("the notebook is saved", async () =>
      (await page.locator(".jp-mod-dirty").count()) === 0 ? true : null,
    );
    await page.reload();
    const cells = await chapterEnded();
    assert.ok(cells.every((cell) => cell.prompt !== "[ ]:"));
    await until("the figures are there", async () =>
      (await notebook.cells()).reduce((sum, cell) => sum + cell.figures + cell.pictures, 0) >= 4
        ? true
        : null,
    );
    await page.locator(".jp-RenderedPlotly").first().hover();
    await until("a figure is interactive again", async () =>
      (await notebook.cells()).some((cell) => cell.figures > 0) ? true : null,
    );
  });

  ui(
    "nbconvert's page of the saved notebook draws the figures with plotly.js beside it, offline",
    async () => {
      const { status, stderr } = spawnSync(
        jupyterProgram("jupyter-nbconvert") as string,
        ["--to", "html", CHAPTER],
        { cwd: server.folder, env: server.env, encoding: "utf8" },
      );
      assert.is(status, 0, stderr);
      copyFileSync(plotlyFile(), join(server.folder, "plotly.min.js"));
      const converted = await (await opened.newContext({ offline: true })).newPage();
      await converted.goto(`file://${join(server.folder, CHAPTER.replace("ipynb", "html"))}`);
      await converted.waitForFunction("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 4");
      await converted.close();
    },
  );

  ui("a report of the saved notebook knows what its cells did, of which the page shows nothing", async () => {
    const { sections } = reportParts(readNotebook(join(server.folder, CHAPTER)), CHAPTER);
    const rows = (anchor: string) => sections.find((section) => section.anchor === anchor)?.rows.length ?? 0;
    assert.ok(rows("p2plab-programs") > 10);
    assert.ok(rows("p2plab-claims") > 0);
    assert.ok(rows("p2plab-machine-1") > 3);
    const heights = await page
      .locator(".jp-OutputArea-child:not(:has(.jp-OutputArea-output > *)):not(:has(pre))")
      .evaluateAll((places) =>
        places.map((place) => (place as unknown as { offsetHeight: number }).offsetHeight),
      );
    assert.equal(
      heights.filter((height) => height > 0),
      [],
    );
  });

  ui("a failing cell shows its traceback with the line, and its variables stay", async () => {
    await notebook.open("own.ipynb");
    await notebook.run(at("machine"));
    await notebook.ended(at("machine"));
    await notebook.run(at("failing"));
    const { text } = await notebook.ended(at("failing"));
    assert.match(text, /RangeError: planted/);
    assert.match(text, /Cell In\[2\], line 2/);
  });

  ui("a long measurement shows how far it is, and ends when it is interrupted", async () => {
    await notebook.run(at("long"));
    const first = await notebook.text(at("long"), /\d+\/\d+/);
    await until("the progress moves", async () => {
      const text = (await notebook.cells())[at("long")]?.text ?? "";
      return /\d+\/\d+/.test(text) && text !== first ? true : null;
    });
    await page.locator('.jp-NotebookPanel:not(.lm-mod-hidden) [data-jp-item-name="interrupt"]').click();
    const { text } = await notebook.ended(at("long"));
    assert.match(text, /Interrupted|Cancelled/);
    await notebook.run(at("after"));
    assert.match((await notebook.ended(at("after"))).text, /42/);
  });

  ui("Tab completes a name, Shift-Tab tells what it is", async () => {
    await notebook.focus(at("complete"));
    await page.keyboard.press("End");
    // JupyterLab waits one second for a kernel's answer and then shows none: on a busy computer one asks again, as a reader does.
    await until("the completer shows names", async () => {
      await page.keyboard.press("Tab");
      const item = page.locator('.jp-Completer-item:has-text("sweep")').first();
      return item.waitFor({ timeout: 3000 }).then(
        () => true,
        () => null,
      );
    });
    await page.keyboard.press("Escape");
    await notebook.focus(at("inspect"));
    await page.keyboard.press("End");
    await page.keyboard.press("Shift+Tab");
    const tooltip = page.locator(".jp-Tooltip");
    await tooltip.waitFor({ timeout: 30_000 });
    assert.match((await tooltip.textContent()) ?? "", /Times a transfer/);
    await page.keyboard.press("Escape");
  });

  ui("restarting and running all gives the same cells anew, in a kernel that knows nothing", async () => {
    await notebook.open("again.ipynb");
    await notebook.run(0);
    await notebook.ended(0);
    await notebook.menu("Kernel", "Restart Kernel and Run All Cells");
    await page.click(".jp-Dialog button.jp-mod-accept");
    assert.match(await notebook.text(1, /\d/), /^1$/m);
    await notebook.ended(1);
    assert.equal(
      (await notebook.cells()).map((cell) => cell.prompt),
      ["[1]:", "[2]:"],
    );
    assert.equal(
      // JupyterLab 4.6 says so here: the kernel has no debugger, and declares none.
      errors.filter((error) => !error.includes("No active debugger session")),
      [],
    );
  });
}

/** Waits until every code cell of the chapter has its number; none may have failed. */
async function chapterEnded() {
  const cells = await until("every cell has run", async () => {
    const shown = await notebook.cells();
    return shown.length > 0 && shown.every((cell) => /\[\d+\]/.test(cell.prompt)) ? shown : null;
  });
  assert.not.ok(cells.some((cell) => /Cell In\[\d+\], line/.test(cell.text)));
  return cells;
}

const reason = missingJupyterLab() ?? (await browser.missing());
if (reason) ui.skip(`skipped: ${reason}`, () => {});
else register();

ui.run();
