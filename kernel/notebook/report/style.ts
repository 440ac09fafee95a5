/** The report's style sheet: readable on screen in a light and a dark theme, on a telephone and on paper, without any outside font. */
const LIGHT =
  "--ink: #1f2933; --faint: #52606d; --line: #e4e7eb; --code: #f6f8fa; --paper: #fff; --link: #0067a3; --alarm: #b00020; --alarm-paper: #fdecea; --warn-paper: #fff4f0; --keyword: #7a35d6; --string: #0b6b3a; --number: #9c4f00; --comment: #64717e; --name: #005cc5; --jp-success-color1: #0b6b3a; --jp-warn-color1: #7a5b00; --jp-error-color1: #b00020; --jp-content-font-color2: #52606d;";
const DARK =
  "--ink: #e6eaef; --faint: #a3adb8; --line: #333b45; --code: #1c2229; --paper: #14181d; --link: #66b8ee; --alarm: #ff7a85; --alarm-paper: #3a1d22; --warn-paper: #33251d; --keyword: #c4a2ff; --string: #7fd6a4; --number: #f0b070; --comment: #93a0ad; --name: #8cc0ff; --jp-success-color1: #7fd6a4; --jp-warn-color1: #e8c15a; --jp-error-color1: #ff7a85; --jp-content-font-color2: #a3adb8;";

/** Families with Chinese first, for whatever prints or shows a report. */
export const SANS = `"Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei", system-ui, sans-serif`;
const MONO = `ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "Noto Sans Mono CJK SC", monospace`;

export const REPORT_CSS = `
:root { color-scheme: light; ${LIGHT} }
:root[data-theme="dark"] { color-scheme: dark; ${DARK} }
@media screen and (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { color-scheme: dark; ${DARK} } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 16px/1.75 ${SANS}; }
header { position: sticky; top: 0; z-index: 5; }
.origin { display: flex; flex-wrap: wrap; gap: 0 1.2em; padding: 6px 24px; color: #fff; font-size: 14px; }
.origin.measured { background: #0b6b3a; }
.origin.recorded { background: #7a5b00; }
.origin.simulated { background: #b00020; }
.origin.unknown { background: #52606d; }
.origin.failed { background: #1f2933; border-left: 10px solid #b00020; }
.tools { display: flex; flex-wrap: wrap; gap: 6px; justify-content: flex-end; align-items: center; max-width: 1180px; margin: 0 auto; padding: 8px 24px 0; font-size: 13px; }
.tools .ways { display: flex; flex-wrap: wrap; gap: 4px 14px; margin-right: auto; }
button { font: inherit; color: var(--ink); background: var(--code); border: 1px solid var(--line); border-radius: 6px; padding: 2px 10px; cursor: pointer; }
.page { display: grid; grid-template-columns: 210px minmax(0, 920px); gap: 32px; max-width: 1200px; margin: 0 auto; padding: 0 24px 60px; }
nav { position: sticky; top: 84px; align-self: start; max-height: calc(100vh - 92px); overflow-y: auto; font-size: 14px; }
nav ol { list-style: none; margin: 24px 0; padding: 0; border-left: 2px solid var(--line); }
nav a { display: block; padding: 2px 12px; color: var(--faint); text-decoration: none; }
nav .level-3 a { padding-left: 26px; font-size: 13px; }
nav a:hover { color: var(--link); }
h1 { font-size: 28px; line-height: 1.35; margin: 20px 0 12px; }
h2 { font-size: 21px; margin: 36px 0 8px; padding-top: 10px; border-top: 1px solid var(--line); }
h2, h3 { scroll-margin-top: 92px; }
h3 { font-size: 17px; margin: 22px 0 4px; }
a { color: var(--link); overflow-wrap: anywhere; }
img { max-width: 100%; }
math { font-size: 1.08em; } math[display="block"] { margin: 10px 0; overflow-x: auto; }
code { font: 0.88em/1.6 ${MONO}; background: var(--code); padding: 1px 4px; border-radius: 4px; }
pre { margin: 0; overflow-x: auto; font: 13px/1.6 ${MONO}; }
pre code { font: inherit; background: none; padding: 0; }
section.code { margin: 14px 0; }
details.code { background: var(--code); border: 1px solid var(--line); border-radius: 6px; }
details.code > summary { display: flex; align-items: center; gap: 8px; padding: 3px 10px; cursor: pointer; color: var(--faint); list-style: none; overflow: hidden; }
details.code > summary::-webkit-details-marker { display: none; }
details.code > summary::after { content: "▸"; margin-left: auto; }
details.code[open] > summary::after { content: "▾"; }
details.code > summary code { background: none; padding: 0; white-space: pre; overflow: hidden; text-overflow: ellipsis; min-width: 0; font-size: 12px; }
details.code[open] > summary code { visibility: hidden; }
details.code > pre { padding: 2px 12px 10px; }
.count { color: var(--faint); font: 12px/1.7 ${MONO}; flex: none; }
.outputs { padding: 8px 0 4px 14px; border-left: 2px solid transparent; }
.outputs > * { margin: 6px 0; }
.figure { width: 100%; }
.undrawn { min-height: 0 !important; padding: 10px 12px; color: var(--alarm); background: var(--alarm-paper); border-radius: 6px; }
.svg { background: #fff; border-radius: 6px; } .svg svg { max-width: 100%; height: auto; display: block; }
.outputs pre.stderr { background: var(--warn-paper); padding: 6px 8px; }
.outputs pre.error { background: var(--alarm-paper); border-left: 3px solid var(--alarm); padding: 8px 10px; white-space: pre-wrap; }
.html, .svg { contain: layout; } .svg { overflow: auto; } .html, .wide { overflow-x: auto; font-size: 14px; line-height: 1.5; }
table { border-collapse: collapse; margin: 6px 0; font-size: 14px; line-height: 1.5; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--faint); font-weight: 600; }
td { overflow-wrap: anywhere; }
table.facts { margin: 10px 0 18px; } table.facts th { white-space: nowrap; font-weight: 400; padding-left: 0; }
.html td, .html th { overflow-wrap: normal; white-space: nowrap; }
.added .wide table { min-width: 620px; } .added td { white-space: pre-line; min-width: 7em; }
.note { color: var(--faint); font-size: 14px; }
.map { list-style: none; padding: 0; } .map li { display: flex; flex-wrap: wrap; gap: 0 16px; justify-content: space-between; padding: 4px 0; border-bottom: 1px solid var(--line); } .map span { color: var(--faint); font-size: 13px; } .missing { color: var(--faint); }
summary { cursor: pointer; }
.hljs-keyword, .hljs-literal { color: var(--keyword); } .hljs-string { color: var(--string); } .hljs-number { color: var(--number); }
.hljs-comment { color: var(--comment); } .hljs-title, .hljs-built_in { color: var(--name); } .hljs-type { color: var(--number); }
@media screen and (max-width: 820px) {
  body { font-size: 15px; } .page { display: block; padding: 0 14px 40px; } .tools, .origin { padding-left: 14px; padding-right: 14px; }
  nav { position: static; max-height: none; } nav ol { margin: 8px 0; } nav .level-3 { display: none; } .outputs { padding-left: 0; }
  table.facts, table.facts tbody, table.facts tr { display: block; } table.facts th, table.facts td { display: block; padding: 1px 0; } table.facts th { border: 0; }
}
@page { size: A4; margin: 16mm 14mm; }
@media print {
  body { font-size: 10.5pt; line-height: 1.6; } .tools { display: none; }
  nav { position: static; max-height: none; font-size: 9.5pt; } nav ol { columns: 2; margin: 10px 0; } nav .level-3 { display: none; } nav a { padding: 0 10px; } .page { display: block; padding: 0; max-width: none; }
  header { position: static; } .origin { print-color-adjust: exact; -webkit-print-color-adjust: exact; padding: 4px 10px; font-size: 9.5pt; }
  h1 { font-size: 19pt; } h2 { font-size: 14pt; margin-top: 20px; } h3 { font-size: 12pt; } h1, h2, h3 { break-after: avoid; }
  pre, details.code > pre { font-size: 8.5pt; white-space: pre-wrap; overflow-wrap: anywhere; } table, .html, .wide { font-size: 8.5pt; }
  .added .wide table { min-width: 0; } .html td, .html th { white-space: normal; padding: 2px 5px; } td, th { padding: 2px 6px; }
  details > summary { display: none !important; } details.code > pre { padding-top: 8px; }
  .figure, .svg, tr, details.code { break-inside: avoid; } details.code { break-after: avoid; } section.added > .wide thead { break-after: avoid; } .html, .svg, .wide, pre { overflow: visible; } a { color: inherit; text-decoration: none; }
  .outputs { padding-left: 0; } .modebar { display: none !important; }
}
`;
