/** A report on paper: the HTML page as a browser prints it, figures as vectors, fonts embedded. */
import { escapeHtml, P2pError } from "../../lab/index.js";
import { withPage } from "./chromium.js";
import { SANS } from "./style.js";

/**
 * @param html of the report.
 * @param footer stands at the foot of every page, so that one that is handed on alone still says where its numbers come from.
 * @throws P2pError `not-available` when there is no browser, or no font for the report's Chinese.
 */
export async function printedPdf(html: string, footer: string): Promise<Buffer> {
  return await withPage(html, "PDF", async (page) => {
    if ((await page.evaluate(MISSING_GLYPHS)) === true) {
      throw new P2pError(
        "not-available",
        "no font here has Chinese characters, so the PDF would show boxes in their place",
        "Install one (apt install fonts-noto-cjk, dnf install google-noto-sans-cjk-fonts), or write HTML and print it where there is one.",
      );
    }
    await page.evaluate("window.p2plab.toPaper()");
    return await page.pdf({
      format: "A4",
      preferCSSPageSize: true,
      printBackground: true,
      tagged: true,
      outline: true,
      displayHeaderFooter: true,
      headerTemplate: "<span></span>",
      footerTemplate: `<div style="width:100%;margin:0 14mm;font:7px ${SANS.replaceAll('"', "'")};color:#52606d;display:flex;justify-content:space-between;gap:12px"><span>${escapeHtml(footer)}</span><span style="white-space:nowrap"><span class="pageNumber"></span> / <span class="totalPages"></span></span></div>`,
    });
  });
}

/** True where the page has Chinese and two different characters look the same: as the box that stands for a missing one. */
const MISSING_GLYPHS = `(() => {
  if (!/[\\u4e00-\\u9fff]/.test(document.body.textContent)) return false;
  const picture = (text) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 40;
    const context = canvas.getContext("2d");
    context.font = "30px " + getComputedStyle(document.body).fontFamily;
    context.fillText(text, 4, 32);
    return canvas.toDataURL();
  };
  return picture("延") === picture("测") && picture("测") === picture("量");
})()`;

/** Every figure of a report's page as SVG text, in the order of their places; null for one that could not be drawn. */
export async function figurePictures(html: string): Promise<(string | null)[]> {
  return await withPage(
    html,
    "pictures of figures",
    async (page) => (await page.evaluate(PICTURES)) as (string | null)[],
  );
}

const PICTURES = `Promise.all([...document.querySelectorAll(".figure")].map(async (place) => {
  if (!place.data) return null;
  const height = Math.round(place.getBoundingClientRect().height);
  const url = await Plotly.toImage(place, { format: "svg", width: 800, height });
  return decodeURIComponent(url.slice(url.indexOf(",") + 1));
}))`;
