/** What `lab.doctor()` found, as one HTML file. */
import { existsSync } from "node:fs";
import { escapeHtml, lab, plot } from "../../lab/index.js";
import { provenanceLine } from "./origin.js";
import { htmlPage, plotlyFile } from "./page.js";

const TITLES = { en: "GPU server check", zh: "GPU服务器体检" } as const;

/** Without the figure where plotly.js has not been built: the topology stands in the text too. */
export function renderDoctorReport(diagnosis: lab.Diagnosis, lang: "en" | "zh"): string {
  const { topology } = diagnosis;
  const drawn = topology !== null && existsSync(plotlyFile());
  const figure = drawn ? plot.topology(topology, { lang }) : null;
  const place = figure ? `<div class="figure" id="p2plab-figure-0" style="min-height:480px"></div>` : "";
  return htmlPage({
    lang: lang === "zh" ? "zh-CN" : "en",
    title: TITLES[lang],
    band: provenanceLine(diagnosis.facts.provenance),
    contents: "<nav></nav>",
    body: `<h1>${escapeHtml(TITLES[lang])}</h1>\n${lab.diagnosisHtml(diagnosis, { lang, open: true, figure: place })}`,
    figures: figure ? [figure] : [],
  });
}
