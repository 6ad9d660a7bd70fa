/* Draws the charts of the page. Expressions are interpreted, never compiled; nothing is loaded from anywhere. */
"use strict";
(() => {
  const {el} = globalThis.steelyard, {vega, vegaLite, vegaInterpreter} = globalThis;
  const source = document.getElementById("chart-specs"), section = document.getElementById("charts");
  if (!source || !section || !vega || !vegaLite || !vegaInterpreter) return;
  const charts = JSON.parse(source.textContent);
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  const config = {
    background: null, font: FONT, aria: false, view: {stroke: null}, rule: {color: "var(--ink)"}, text: {fontSize: 12},
    axis: {labelColor: "var(--soft)", titleColor: "var(--soft)", titleFontWeight: 400, labelFontSize: 12, titleFontSize: 12,
      gridColor: "var(--line)", tickColor: "var(--line)", domainColor: "var(--line)", labelPadding: 8},
    axisX: {labelSeparation: 8, labelOverlap: "greedy"},
    axisY: {labelColor: "var(--ink)", grid: false, labelAlign: "right", labelLineHeight: 15},
    legend: {labelColor: "var(--ink)", labelFontSize: 12, symbolSize: 120, columnPadding: 16},
  };
  const refused = () => Promise.reject(new Error("a report loads nothing"));
  const loader = {load: refused, sanitize: refused, http: refused, file: refused};

  section.setAttribute("aria-labelledby", "charts-title");
  section.append(el("h2", {id: "charts-title"}, "Charts"),
    el("p", {class: "quiet"}, "The run as recorded; a what-if does not change them."));
  const figures = charts.map((chart) => {
    const canvas = el("div", {class: "chart-canvas"});
    const cells = (kind, texts) => texts.map((text, n) => n || kind === "th" ? el(kind, kind === "th" ? {scope: "col"} : {class: "number"}, text)
      : el("th", {scope: "row"}, text));
    const table = el("details", {}, el("summary", {}, "the same as a table"), el("div", {class: "wide"}, el("table", {},
      el("thead", {}, el("tr", {}, ...cells("th", chart.columns))), el("tbody", {}, ...chart.rows.map((row) => el("tr", {}, ...cells("td", row)))))));
    section.append(el("figure", {class: "chart", id: chart.id, "aria-labelledby": `${chart.id}-title`},
      el("h3", {id: `${chart.id}-title`}, chart.title), canvas, el("figcaption", {class: "quiet"}, chart.description), table));
    return {chart, canvas, view: null, width: 0};
  });
  const parts = document.querySelector("nav.parts ul"), before = parts && parts.querySelector('a[href="#tasks"]');
  if (before) before.parentElement.before(el("li", {}, el("a", {href: "#charts"}, "Charts")));

  async function draw(figure) {
    const width = Math.floor(figure.canvas.clientWidth);
    if (!width || width === figure.width) return;
    figure.width = width;
    const own = {...config, axisY: {...config.axisY, labelLimit: Math.max(110, Math.floor(width * 0.38))}};
    const spec = {...figure.chart.spec, width, autosize: {type: "fit-x", contains: "padding"}, padding: {left: 0, right: 8, top: 4, bottom: 4}};
    const runtime = vega.parse(vegaLite.compile(spec, {config: own}).spec, null, {ast: true});
    if (figure.view) figure.view.finalize();
    figure.view = new vega.View(runtime, {expr: vegaInterpreter, renderer: "svg", container: figure.canvas, loader, hover: false});
    await figure.view.runAsync();
    const svg = figure.canvas.querySelector("svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${figure.chart.title}. ${figure.chart.description}`);
  }

  async function drawAll() {
    const start = performance.now();
    for (const figure of figures) {
      await draw(figure);
      await new Promise((resolve) => setTimeout(resolve));               // the page stays at hand in between
    }
    section.dataset.drawn = String(Math.round(performance.now() - start));
  }

  let waiting = 0;
  globalThis.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
  drawAll();
})();
