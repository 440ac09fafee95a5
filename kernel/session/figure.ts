/** A Plotly figure as HTML, for front ends without a Plotly renderer and for exported pages. */

export const PLOTLY_MIME = "application/vnd.plotly.v1+json";

let figures = 0;

/**
 * Draws with a Plotly that is already on the page, otherwise loads the one that the kernelspec brings. Asks nothing of any
 * other server.
 * @param figure data, layout and config, as plain JSON.
 */
export function plotlyHtml(figure: unknown): string {
  const id = `p2plab-figure-${process.pid}-${Date.now().toString(36)}-${figures++}`;
  const json = JSON.stringify(figure).replace(/</g, "\\u003c");
  return `<div id="${id}" class="p2plab-figure" style="min-height:320px"></div>
<script type="application/json" id="${id}-data">${json}</script>
<script>(function () {
  var draw = function () {
    var figure = JSON.parse(document.getElementById("${id}-data").textContent);
    window.Plotly.newPlot("${id}", figure.data, figure.layout, figure.config);
  };
  if (window.Plotly) return draw();
  var config = document.getElementById("jupyter-config-data");
  var base = config ? JSON.parse(config.textContent).baseUrl : "/";
  var script = document.createElement("script");
  script.src = base + "kernelspecs/p2plab/plotly.min.js";
  script.onload = draw;
  script.onerror = function () { document.getElementById("${id}").textContent = "Plotly could not be loaded: run npm run setup."; };
  document.head.appendChild(script);
})();</script>`;
}
