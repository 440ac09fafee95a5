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
  var place = document.getElementById("${id}");
  var load = function (from) {
    return new Promise(function (done, failed) {
      var script = document.createElement("script");
      script.src = from;
      script.onload = done;
      script.onerror = failed;
      document.head.appendChild(script);
    });
  };
  var config = document.getElementById("jupyter-config-data");
  var from = config ? JSON.parse(config.textContent).baseUrl + "kernelspecs/p2plab/plotly.min.js" : "plotly.min.js";
  window.p2plabPlotly = window.p2plabPlotly || (window.Plotly ? Promise.resolve() : load(from));
  window.p2plabPlotly.then(function () {
    var figure = JSON.parse(document.getElementById("${id}-data").textContent);
    return window.Plotly.newPlot(place, figure.data, figure.layout, figure.config);
  }, function () {
    place.textContent = config
      ? "The figure is not drawn: plotly.js is missing in the kernelspec. Run npm run setup."
      : "The figure is not drawn: it needs plotly.js. Put the kernelspec's plotly.min.js beside this page, or make the page by p2plab report.";
  });
})();</script>`;
}
