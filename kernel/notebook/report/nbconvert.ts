/** The report by Python's nbconvert with the template of this package, for whoever goes on from there with nbconvert's own ways. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { P2pError, packagePath } from "../../lab/index.js";
import { formatNotebook } from "../canonical.js";
import { temporaryFolder } from "../folder.js";
import type { Notebook, NotebookOutput } from "../nbformat.js";
import { CellRenderer } from "./cells.js";
import { containedBundle } from "./foreign.js";
import { type ReportOptions, reportFragments, withTitleBlock } from "./html.js";
import { pageScripts, policy, TOOLS } from "./page.js";
import { REPORT_CSS } from "./style.js";

const NAME = "p2plab";
const DEADLINE_MS = 300_000;

/** Colours of code as Pygments names its parts. */
const PYGMENTS_CSS =
  ".highlight { padding: 2px 12px 10px; } .highlight .k, .highlight .kd, .highlight .kr, .highlight .kc { color: var(--keyword); } .highlight .s, .highlight .s1, .highlight .s2, .highlight .sb { color: var(--string); } .highlight .m, .highlight .mi, .highlight .mf { color: var(--number); } .highlight .c1, .highlight .cm { color: var(--comment); }";

/** Files of the template, by name: nbconvert finds them in a folder `p2plab` of a template path. */
export function templateFiles(): Map<string, string> {
  const raw = (text: string) => `{% raw %}${text}{% endraw %}`;
  return new Map([
    [
      "conf.json",
      `${JSON.stringify({ base_template: "classic", mimetypes: { "text/html": true } }, null, 1)}\n`,
    ],
    ["index.html.j2", readFileSync(packagePath("kernel/notebook/template/index.html.j2"), "utf8")],
    ["p2plab-policy.html", raw(policy("inside"))],
    ["p2plab.css", raw(`${REPORT_CSS}\n${PYGMENTS_CSS}`)],
    ["p2plab-folds.html", raw(TOOLS)],
    ["p2plab-script.html", raw(pageScripts())],
  ]);
}

/**
 * Renders a notebook by nbconvert. Formulas and pictures of its text, and all that p2plab adds, are the same as without.
 * @throws P2pError `not-available` when no Python with nbconvert is found, or it fails.
 */
export function reportByNbconvert(whole: Notebook, file: string, options: ReportOptions = {}): string {
  const python = requireNbconvert();
  const folder = temporaryFolder("p2plab-nbconvert-");
  try {
    const template = join(folder, "templates", NAME);
    mkdirSync(template, { recursive: true });
    for (const [name, text] of templateFiles()) writeFileSync(join(template, name), text);
    writeFileSync(join(folder, "report.ipynb"), formatNotebook(prepared(whole, file, options)));
    const { status, stderr } = spawnSync(
      python,
      [
        ...["-m", "nbconvert", "--to", "html", "--template", NAME, "--log-level", "ERROR"],
        `--TemplateExporter.extra_template_basedirs=${join(folder, "templates")}`,
        ...["--output-dir", folder, join(folder, "report.ipynb")],
      ],
      { encoding: "utf8", timeout: DEADLINE_MS, maxBuffer: 2 ** 26 },
    );
    const page = join(folder, "report.html");
    if (status !== 0 || !existsSync(page)) {
      throw new P2pError(
        "not-available",
        `nbconvert did not make a page: ${reasonIn(stderr) ?? `exit code ${status}`}`,
        "Leave --via nbconvert away: p2plab writes HTML without Python.",
      );
    }
    return readFileSync(page, "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The error that Python ends with, which may go on over further lines; or the last line. */
function reasonIn(stderr: string | null): string | null {
  const lines = (stderr ?? "").trim().split("\n");
  return lines.findLast((line) => /^[\w.]*(?:Error|Exception): /.test(line)) ?? (lines.at(-1) || null);
}

/** The notebook with what the template puts around and into its cells. */
function prepared(whole: Notebook, file: string, options: ReportOptions): Notebook {
  const { notebook, name, renderer, band, block, sections, contents } = reportFragments(whole, file, options);
  let html: string[] = notebook.cells.map((cell) =>
    cell.cell_type === "markdown" ? renderer.prose(cell) : "",
  );
  const { headings } = renderer;
  const titled = headings[0]?.level === 1 && html[0]?.includes("</h1>") === true;
  if (titled) html = [withTitleBlock(html[0] as string, headings, name, block), ...html.slice(1)];
  return {
    ...notebook,
    metadata: {
      ...notebook.metadata,
      p2plab_report: {
        title: headings[0]?.text ?? name,
        band,
        contents: contents(headings),
        block: titled ? "" : withTitleBlock("", [], name, block),
        sections,
      },
    },
    cells: notebook.cells.map((cell, at) =>
      cell.cell_type === "markdown"
        ? { ...cell, metadata: { ...cell.metadata, p2plab_html: html[at] } }
        : { ...cell, ...(cell.outputs ? { outputs: cell.outputs.map(withContainedBundle) } : {}) },
    ),
  };
}

/** Nothing is left for nbconvert to take as HTML: it lets Markdown bring its own. */
function withContainedBundle(output: NotebookOutput): NotebookOutput {
  if (!("data" in output)) return output;
  const { "text/markdown": prose, ...data } = containedBundle(output.data);
  if (typeof prose === "string" && !("text/html" in data)) {
    const cell = { cell_type: "markdown" as const, metadata: {}, source: prose };
    data["text/html"] = new CellRenderer("").prose(cell);
  }
  return { ...output, data };
}

/** The Python that set-up filled, or the one that is active. @throws P2pError `not-available` when none has nbconvert. */
export function requireNbconvert(): string {
  const { CONDA_PREFIX, VIRTUAL_ENV } = process.env;
  const own = process.platform === "win32" ? "Scripts/python.exe" : "bin/python";
  const places = [
    packagePath(".venv"),
    ...[VIRTUAL_ENV, CONDA_PREFIX].filter((folder) => folder !== undefined && folder !== ""),
  ].map((folder) => join(folder as string, own));
  const pythons = [...places.filter((place) => existsSync(place)), "python3", "python"];
  const found = pythons.find(
    (python) => spawnSync(python, ["-m", "nbconvert", "--version"], { timeout: DEADLINE_MS }).status === 0,
  );
  if (found) return found;
  throw new P2pError(
    "not-available",
    "no Python with nbconvert was found",
    "Run npm run setup (or pip install nbconvert), or leave --via nbconvert away: p2plab writes HTML without Python.",
  );
}
