/** Every kind of figure drawn by plotly.js in a browser, and looked at: nothing fails, no text is cut off or lies on another. */
import { existsSync, readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import type { Figure } from "../../kernel/lab/plot/index.js";
import { browser, launch } from "../notebook/browser.js";
import { figuresOf, hardFigures } from "./plot-figures.js";

export const TIME_LIMIT_S = 300;

const render = suite("plot rendered");

const PLOTLY = packagePath("dist/assets/plotly.min.js");

interface Seen {
  /** Pairs of texts that lie on each other. */
  readonly overlapping: readonly string[];
  /** Texts that reach out of the figure. */
  readonly cut: readonly string[];
  readonly texts: number;
  /** Marks that were drawn: lines, points, bars, cells. */
  readonly marks: number;
}

/** Runs in the page: where each text of the figure lies. */
const LOOK = `(() => {
  const figure = document.getElementById("figure").getBoundingClientRect();
  const boxes = [...document.querySelectorAll("#figure svg text")]
    .filter((text) => text.textContent.trim() !== "" && !text.closest('[data-watermark], .hoverlayer, .modebar'))
    .map((text) => {
      const lines = [...text.querySelectorAll("tspan.line")];
      const shown = text.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      return { text: text.textContent, lines: lines.length, shown, box: text.getBoundingClientRect() };
    })
    .filter(({ text, shown, box }) => shown && box.width > 1 && box.height > 1 && !/^(模拟 )?SIMULATED$/.test(text));
  const overlapping = [];
  for (const [i, a] of boxes.entries()) {
    for (const b of boxes.slice(i + 1)) {
      const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      // Boxes hold the leading above and below the letters.
      if (across > 2 && down > 5) overlapping.push(a.text + " | " + b.text);
    }
  }
  const cut = boxes
    .filter(({ box }) => box.left < figure.left - 1 || box.right > figure.right + 1 || box.top < figure.top - 1 || box.bottom > figure.bottom + 1)
    .map(({ text, box }) => text + " " + [box.left, box.right, box.top, box.bottom].map(Math.round).join(" "));
  const marks = document.querySelectorAll("#figure .js-line, #figure .point, #figure .points path, #figure .hm image, #figure .scatterlayer .textpoint").length;
  return { overlapping, cut, texts: boxes.length, marks };
})()`;

/** One browser for the suite: starting it and reading plotly.js takes longer than drawing. */
let started: Promise<{ browser: Browser; page: Page; errors: string[] }> | null = null;

async function start() {
  const opened = await launch();
  const page = await opened.newPage();
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.setContent('<!doctype html><body style="margin:0"><div id="figure"></div></body>');
  await page.addScriptTag({ content: readFileSync(PLOTLY, "utf8") });
  return { browser: opened, page, errors };
}

/** Draws figures at a width, one after the other. */
async function look(
  figures: Readonly<Record<string, Figure>>,
  width: number,
  check: (name: string, seen: Seen, errors: readonly string[]) => void,
): Promise<void> {
  started ??= start();
  const { page, errors } = await started;
  await page.setViewportSize({ width, height: 900 });
  for (const [name, figure] of Object.entries(figures)) {
    errors.length = 0;
    await page.evaluate(
      `(async () => {
        const place = document.getElementById("figure");
        Plotly.purge(place);
        const { data, layout, config } = ${JSON.stringify(figure)};
        await Plotly.newPlot(place, data, layout, config);
      })()`,
    );
    check(name, (await page.evaluate(LOOK)) as Seen, errors);
  }
}

const reason = (await browser.missing()) ?? (existsSync(PLOTLY) ? null : `${PLOTLY} is not built`);
if (reason) {
  render.skip(`skipped: ${reason}`, () => {});
} else {
  for (const [theme, lang] of [
    ["light", "zh"],
    ["dark", "en"],
  ] as const) {
    render(`at 800 px, ${theme}, ${lang}: no error, no text cut off, none on another`, async () => {
      const figures = {
        ...(await figuresOf("simulated", { theme, lang })),
        ...(await hardFigures({ theme, lang })),
      };
      const found: string[] = [];
      await look(figures, 800, (name, { overlapping, cut, texts, marks }, errors) => {
        assert.equal(errors, [], name);
        assert.ok(texts >= 3, `${name}: ${texts} texts`);
        assert.ok(marks > 0, `${name}: nothing drawn`);
        for (const pair of overlapping.slice(0, 3)) found.push(`${name}: overlapping: ${pair}`);
        for (const text of cut.slice(0, 3)) found.push(`${name}: cut off: ${text}`);
      });
      assert.equal(found, []);
    });
  }

  render("in a narrow cell of 560 px no text is cut off either", async () => {
    const found: string[] = [];
    await look(await figuresOf("recorded"), 560, (name, { cut }, errors) => {
      assert.equal(errors, [], name);
      for (const text of cut) found.push(`${name}: ${text}`);
    });
    assert.equal(found, []);
  });

  render("the look finds a text that lies on another and one that is cut off", async () => {
    const figure = (await figuresOf("measured")).latency as Figure;
    const annotation = (text: string, x: number) => ({
      text,
      x,
      y: 0.5,
      xref: "paper",
      yref: "paper",
      showarrow: false,
    });
    const layout = {
      ...figure.layout,
      annotations: [
        annotation("under", 0.5),
        annotation("over", 0.5),
        annotation("a text that is cut off", 1.05),
      ],
    };
    const spoilt = { data: figure.data, layout, config: figure.config } as unknown as Figure;
    await look({ spoilt }, 800, (_, { overlapping, cut }) => {
      assert.ok(
        overlapping.some((pair) => /under \| over/.test(pair)),
        overlapping.join(),
      );
      assert.ok(
        cut.some((text) => /cut off/.test(text)),
        cut.join(),
      );
    });
  });
}

render.after(async () => {
  await (await started)?.browser.close();
});

render.run();
