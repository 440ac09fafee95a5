/**
 * Draws the pictures of both READMEs, of the recording and of a preset, so that they can be drawn again:
 *
 *     node dist/test/lab/plot-pictures.js
 */
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { lab, P2pError, packagePath, plot } from "../../kernel/lab/index.js";
import { TOPOLOGIES } from "../../kernel/lab/topology/presets.js";
import { browser, launch } from "../notebook/browser.js";

const FOLDER = packagePath(".github/pictures");
const MOST_BYTES = 300_000;

const missing = await browser.missing();
if (missing) throw new P2pError("not-available", missing, "Pictures are drawn in a browser.");
mkdirSync(FOLDER, { recursive: true });

const machine = await lab.open("recorded:h200x2");
const pair = { from: 0, to: 1, path: ["peer", "staged"] as lab.Path[] };
const curve = await lab.sweep(machine, { ...pair, bytes: lab.sizes("8 B", "64 MiB") });
const parts = await lab.breakdown(machine, { ...pair, bytes: ["8 B", "64 MiB"] });
const preset = TOPOLOGIES.find(({ name }) => name === "dgx1-v100-8") as object;

const opened = await launch();
try {
  const page = await opened.newPage({ viewport: { width: 800, height: 900 }, deviceScaleFactor: 1.5 });
  await page.setContent('<!doctype html><body style="margin:0"><div id="figure"></div></body>');
  await page.addScriptTag({ content: readFileSync(packagePath("dist/assets/plotly.min.js"), "utf8") });
  for (const lang of ["en", "zh"] as const) {
    const figures = {
      latency: plot.latency(curve, { lang }),
      breakdown: plot.breakdown(parts, { lang }),
      topology: plot.topology(preset, { lang }),
    };
    for (const [name, figure] of Object.entries(figures)) {
      const path = join(FOLDER, `${name}.${lang}.png`);
      await page.evaluate(
        `(async () => {
          const place = document.getElementById("figure");
          Plotly.purge(place);
          const { data, layout, config } = ${JSON.stringify(figure)};
          await Plotly.newPlot(place, data, layout, { ...config, staticPlot: true });
        })()`,
      );
      await page.locator("#figure").screenshot({ path });
      const { size } = statSync(path);
      if (size > MOST_BYTES) {
        throw new P2pError("output", `${path} has ${size} bytes`, `A picture has at most ${MOST_BYTES}.`);
      }
    }
  }
} finally {
  await opened.close();
  await machine.close();
}
