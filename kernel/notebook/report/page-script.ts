/**
 * What runs in a page: unpacks plotly.js and the figures, draws them, changes the theme, opens and closes code. Written for
 * browsers of 2017, so that an older one than the figures need can still say what it lacks.
 */
import { deflateSync } from "node:zlib";
import { plot } from "../../lab/index.js";

/** Bytes as text for {@link PAGE_SCRIPT}: zlib's format, then base64. */
export function packed(text: string): string {
  return deflateSync(text, { level: 9 }).toString("base64");
}

/** `figures` and, unless the page loads it beside itself, `plotly` stand packed in elements `p2plab-figures`, `p2plab-plotly`. */
export const PAGE_SCRIPT = `(function () {
var THEMES = ${JSON.stringify(plot.THEMES)};
var root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)"), paper = false, figures = [];
function remember(theme) { try { localStorage.setItem("p2plab-theme", theme); } catch (error) { /* a page from disk may have no storage */ } }
function remembered() { try { return localStorage.getItem("p2plab-theme"); } catch (error) { return null; } }
function theme() { return paper ? "light" : root.dataset.theme || (dark.matches ? "dark" : "light"); }
function all(selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); }

async function unpack(id) {
  var text = atob(document.getElementById(id).textContent.trim()), bytes = new Uint8Array(text.length);
  for (var i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

/* A figure made for the light theme, in the colours of the other. Colours that the themes do not share stay as they are. */
function themed(value, name, isLayout) {
  if (typeof value === "string") {
    if (!/#[0-9a-f]{6}/i.test(value)) return value;
    return value.replace(/#[0-9a-f]{6}/gi, function (colour) {
      for (var key in THEMES.light) {
        if (THEMES.light[key].toLowerCase() !== colour.toLowerCase()) continue;
        if (key !== "paper" || /bgcolor$/.test(name)) return THEMES.dark[key];
      }
      return colour;
    });
  }
  if (Array.isArray(value)) return value.map(function (item) { return themed(item, name, isLayout); });
  if (typeof value !== "object" || value === null) return value;
  var copy = {};
  Object.keys(value).forEach(function (key) { copy[key] = isLayout || key !== "marker" ? themed(value[key], key, isLayout) : value[key]; });
  return copy;
}
function isOurs(figure) {
  var template = ((figure.layout || {}).template || {}).layout || {};
  return template.paper_bgcolor === THEMES.light.paper && (template.font || {}).color === THEMES.light.ink;
}
/* Paper wants vectors, and a printer of PDF makes pictures of patterns. */
function plain(trace) {
  if (!paper || !trace.marker || !trace.marker.pattern) return trace;
  var marker = Object.assign({}, trace.marker);
  delete marker.pattern;
  return Object.assign({}, trace, { marker: marker });
}
function rgb(colour) {
  var context = document.createElement("canvas").getContext("2d");
  context.fillStyle = colour;
  var hex = parseInt(context.fillStyle.slice(1), 16);
  return [hex >> 16, (hex >> 8) & 255, hex & 255];
}
/* A heatmap's cells, which plotly.js paints as one picture, as rectangles: a cell's colour by the trace's own scale. */
function cellsAsVectors(graph) {
  (graph._fullData || []).forEach(function (trace, index) {
    var cells = (graph.calcdata[index] || [])[0];
    if (trace.type !== "heatmap" || trace.zsmooth || !cells || !cells.z || cells.z.length * cells.z[0].length > 16384) return;
    var plot = graph._fullLayout._plots[trace.xaxis + trace.yaxis];
    var images = graph.querySelectorAll(".hm image"), image = images[0];
    if (!plot || images.length !== 1) return;
    var scale = trace.colorscale.map(function (stop) { return [stop[0], rgb(stop[1])]; });
    var colour = function (value) {
      var at = Math.min(1, Math.max(0, (value - trace.zmin) / (trace.zmax - trace.zmin || 1)));
      var next = scale.findIndex(function (stop) { return stop[0] >= at; }), low = scale[Math.max(0, next - 1)], high = scale[Math.max(0, next)];
      var share = high[0] === low[0] ? 0 : (at - low[0]) / (high[0] - low[0]);
      return "rgb(" + low[1].map(function (part, channel) { return Math.round(part + share * (high[1][channel] - part)); }) + ")";
    };
    cells.z.forEach(function (row, r) {
      row.forEach(function (value, c) {
        if (typeof value !== "number" || !isFinite(value)) return;
        var x = [plot.xaxis.c2p(cells.x[c]), plot.xaxis.c2p(cells.x[c + 1])], y = [plot.yaxis.c2p(cells.y[r]), plot.yaxis.c2p(cells.y[r + 1])];
        var rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        rect.setAttribute("x", Math.min(x[0], x[1]) + (trace.xgap || 0) / 2);
        rect.setAttribute("y", Math.min(y[0], y[1]) + (trace.ygap || 0) / 2);
        rect.setAttribute("width", Math.max(0, Math.abs(x[1] - x[0]) - (trace.xgap || 0)));
        rect.setAttribute("height", Math.max(0, Math.abs(y[1] - y[0]) - (trace.ygap || 0)));
        rect.setAttribute("fill", colour(value));
        image.parentNode.appendChild(rect);
      });
    });
    image.remove();
  });
}
function shown(figure) {
  if (paper) return { data: (figure.data || []).map(plain), layout: figure.layout };
  if (theme() === "light" || !isOurs(figure)) return { data: figure.data, layout: figure.layout };
  return { data: themed(figure.data, "", false), layout: themed(figure.layout, "", true) };
}
function place(index) { return document.getElementById("p2plab-figure-" + index); }
function excuse(index, why) { var where = place(index); if (where) { where.textContent = "图没有画出来 figure not drawn: " + why; where.classList.add("undrawn"); } }
function draw(how) {
  return Promise.all(figures.map(function (figure, index) {
    var now = JSON.parse(JSON.stringify(shown(figure)));
    return Promise.resolve().then(function () {
      return window.Plotly[how](place(index), now.data, now.layout, figure.config);
    }).then(function (graph) {
      if (paper) cellsAsVectors(graph);
    }).catch(function (error) { console.error(error); excuse(index, error); });
  }));
}

async function start() {
  var holder = document.getElementById("p2plab-figures"), places = all(".figure");
  if (places.length === 0) return;
  /* By nbconvert each figure's data stand behind its place. */
  places.forEach(function (where, index) { where.id = "p2plab-figure-" + index; });
  if (typeof DecompressionStream === "undefined") {
    places.forEach(function (_, index) {
      excuse(index, "浏览器太旧，需要 Chrome 80、Firefox 113、Safari 16.4 或更新的版本 this browser is too old: it takes Chrome 80, Firefox 113, Safari 16.4 or later");
    });
    return;
  }
  figures = holder ? JSON.parse(await unpack("p2plab-figures")) : all("script.p2plab-figure").map(function (data) { return JSON.parse(data.textContent); });
  if (document.getElementById("p2plab-plotly")) {
    var script = document.createElement("script");
    script.textContent = await unpack("p2plab-plotly");
    document.head.appendChild(script);
  }
  if (!window.Plotly) { places.forEach(function (_, index) { excuse(index, "缺少 plotly.js plotly.js is missing"); }); return; }
  await draw("newPlot");
}

/* Drawn anew: what became vectors for paper is no picture that plotly.js would know again. */
function redraw() { return figures.length > 0 && window.Plotly ? draw("newPlot") : Promise.resolve(); }
function openAll(open) { all("details.code, details.fold").forEach(function (fold) { fold.open = open; }); }
/* On paper the contents come under the title block; on a screen they stand beside the text. */
function moveContents(toPaper) {
  var contents = document.querySelector("nav"), block = document.querySelector("table.facts"), text = document.querySelector("main");
  if (!contents || !block || !text) return;
  if (toPaper) block.after(contents);
  else text.before(contents);
}
var folded = [];
async function toPaper() {
  if (paper) return;
  folded = all("details:not([open])");
  folded.forEach(function (fold) { fold.open = true; });
  paper = true;
  moveContents(true);
  await redraw();
}
function toScreen() {
  if (!paper) return;
  folded.forEach(function (fold) { fold.open = false; });
  paper = false;
  moveContents(false);
  redraw();
}

if (remembered()) root.dataset.theme = remembered();
document.addEventListener("click", function (event) {
  var does = event.target.dataset && event.target.dataset.does;
  if (does === "theme") { root.dataset.theme = theme() === "dark" ? "light" : "dark"; remember(root.dataset.theme); redraw(); }
  if (does === "open") openAll(true);
  if (does === "close") openAll(false);
});
dark.addEventListener && dark.addEventListener("change", redraw);
addEventListener("beforeprint", toPaper);
addEventListener("afterprint", toScreen);
window.p2plab = {
  ready: start().catch(function (error) { console.error(error); all(".figure").forEach(function (_, index) { excuse(index, error); }); }),
  toPaper: toPaper,
};
})();`;
