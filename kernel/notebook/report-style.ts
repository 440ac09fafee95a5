/** The report's style sheet: readable on screen and on paper, without any outside font. */
export const REPORT_CSS = `
:root { --ink: #1f2933; --faint: #5a6673; --line: #e4e7eb; --code: #f6f8fa; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; font: 16px/1.75 "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", system-ui, sans-serif; }
header { position: sticky; top: 0; z-index: 5; }
.origin { display: flex; flex-wrap: wrap; gap: 0 1.2em; padding: 6px 24px; color: #fff; font-size: 14px; }
.origin.measured { background: #0b6b3a; }
.origin.recorded { background: #7a5b00; }
.origin.simulated { background: #b00020; }
.origin.unknown { background: #52606d; }
.origin.failed { background: #1f2933; border-left: 10px solid #b00020; }
.page { display: grid; grid-template-columns: 190px minmax(0, 920px); gap: 32px; max-width: 1180px; margin: 0 auto; padding: 12px 24px 60px; }
nav { position: sticky; top: 52px; align-self: start; font-size: 14px; }
nav ol { list-style: none; margin: 24px 0; padding: 0; border-left: 2px solid var(--line); }
nav a { display: block; padding: 2px 12px; color: var(--faint); text-decoration: none; }
nav .level-3 a { padding-left: 26px; font-size: 13px; }
nav a:hover { color: #0072b2; }
h1 { font-size: 28px; line-height: 1.35; margin: 28px 0 12px; }
h2 { font-size: 21px; margin: 36px 0 8px; padding-top: 10px; border-top: 1px solid var(--line); scroll-margin-top: 48px; }
h3 { font-size: 17px; margin: 22px 0 4px; }
a { color: #0072b2; overflow-wrap: anywhere; }
code { font: 0.88em/1.6 ui-monospace, "SF Mono", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace; background: var(--code); padding: 1px 4px; border-radius: 4px; }
pre { margin: 0; overflow-x: auto; font: 13px/1.6 ui-monospace, "SF Mono", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace; }
pre code { font: inherit; background: none; padding: 0; }
section.code { margin: 14px 0; }
.input { display: flex; background: var(--code); border: 1px solid var(--line); border-radius: 6px; padding: 8px 10px; }
.input pre { flex: 1; min-width: 0; }
.count { color: #9aa5b1; font: 12px/1.7 ui-monospace, Menlo, Consolas, monospace; min-width: 3em; }
.outputs { padding: 8px 0 4px 3.2em; }
.outputs > * { margin: 6px 0; }
.figure { width: 100%; }
.svg svg { max-width: 100%; height: auto; }
.outputs pre.stderr { background: #fff4f0; padding: 6px 8px; }
.outputs pre.error { background: #fdecea; border-left: 3px solid #b00020; padding: 8px 10px; white-space: pre-wrap; }
.html { overflow-x: auto; font-size: 14px; line-height: 1.5; }
table { border-collapse: collapse; margin: 6px 0; font-size: 14px; line-height: 1.5; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 600; }
.hljs-keyword, .hljs-literal { color: #8a3ffc; } .hljs-string { color: #0b6b3a; } .hljs-number { color: #b35900; }
.hljs-comment { color: #7b8794; } .hljs-title, .hljs-built_in { color: #005cc5; } .hljs-type { color: #b35900; }
@media (max-width: 820px) { .page { display: block; } nav { display: none; } .outputs { padding-left: 0; } }
@media print { nav { display: none; } .page { display: block; padding: 0; } header { position: static; } .origin { print-color-adjust: exact; -webkit-print-color-adjust: exact; } .input { border-color: #ccc; } section.code, .figure { break-inside: avoid; } }
`;
