import { join } from "node:path";
import { parseArgs } from "node:util";
import { P2pError, writeFileAtomic } from "../lab/index.js";
import {
  figurePictures,
  makeWritableFolder,
  type Notebook,
  nameOfNotebook,
  printedPdf,
  type ReportOptions,
  readNotebook,
  renderMarkdown,
  renderReport,
  reportByNbconvert,
  reportFooter,
  reportParts,
  requireChromium,
  requireNbconvert,
  tellingCells,
} from "../notebook/index.js";
import { type Command, notebooksOf, progress, timeoutOf } from "./command.js";
import { execute, statusOf } from "./execute.js";

const FORMATS = ["html", "pdf", "md"] as const;
type Format = (typeof FORMATS)[number];

export const report: Command = {
  name: "report",
  usage:
    "report NOTEBOOK… [--machine M] [--format html|pdf|md] [--out DIR] [--author NAME] [--no-execute] [--no-redact] [--via nbconvert] [--timeout SECONDS]",
  describes:
    "executes notebooks and writes each as one HTML file that opens offline, as PDF, or as Markdown with pictures, into DIR (default reports)",
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        machine: { type: "string" },
        format: { type: "string", default: "html" },
        out: { type: "string", default: "reports" },
        author: { type: "string" },
        "no-execute": { type: "boolean", default: false },
        "no-redact": { type: "boolean", default: false },
        timeout: { type: "string" },
        via: { type: "string" },
      },
    });
    const format = formatOf(values.format);
    const limit = timeoutOf(values.timeout);
    // Before the cells take their minutes.
    if (format === "pdf") requireChromium("PDF");
    const render = rendererOf(values.via, format);
    let failed = false;
    for (const file of notebooksOf(positionals)) {
      let notebook: Notebook;
      if (values["no-execute"]) {
        notebook = readNotebook(file);
        makeWritableFolder(values.out);
      } else {
        const executed = await execute(file, {
          out: values.out,
          machine: values.machine,
          ...limit,
        });
        if (executed.stoppedBy) {
          progress("  no report is made; p2plab report --no-execute makes one of what is kept");
          return statusOf(executed.stoppedBy);
        }
        failed ||= executed.failures.length > 0;
        notebook = executed.notebook;
      }
      if (!values["no-redact"]) tellOfSources(notebook);
      const target = await write(format, render, notebook, file, values.out, {
        author: values.author,
        redact: !values["no-redact"],
        executedHere: !values["no-execute"],
        onOmission: (line) => progress(`  ${line}`),
      });
      process.stdout.write(`${target}\n`);
    }
    return failed ? 1 : 0;
  },
};

/** Redaction leaves what cells say themselves, so that the report can be run again; its reader may want to know. */
function tellOfSources(notebook: Notebook): void {
  const cells = tellingCells(notebook);
  if (cells.length === 0) return;
  progress(
    `  not redacted, for cells stand as they were written: a name, home folder, serial number or address in ${cells.join(", ")}`,
  );
}

function formatOf(text: string): Format {
  const format = FORMATS.find((known) => known === text);
  if (format) return format;
  throw new P2pError("usage", `no report format "${text}"`, `Choose one of: ${FORMATS.join(", ")}.`);
}

type Renderer = typeof renderReport;

/** Who makes the page; looked for before the cells take their minutes. */
function rendererOf(via: string | undefined, format: Format): Renderer {
  if (via === undefined) return renderReport;
  if (via !== "nbconvert" || format === "md") {
    throw new P2pError(
      "usage",
      `no way to ${format} by --via ${via}`,
      "--via nbconvert makes html and pdf; without --via p2plab makes all formats itself.",
    );
  }
  requireNbconvert();
  return reportByNbconvert;
}

/** @returns the written file. */
async function write(
  format: Format,
  render: Renderer,
  notebook: Notebook,
  file: string,
  out: string,
  options: ReportOptions,
): Promise<string> {
  const target = join(out, `${nameOfNotebook(file)}.${format}`);
  const html = render(notebook, file, options);
  if (format === "html") {
    writeFileAtomic(target, html);
  } else if (format === "pdf") {
    writeFileAtomic(target, await printedPdf(html, reportFooter(reportParts(notebook, file, options))));
  } else {
    const { text, files } = renderMarkdown(reportParts(notebook, file, options), file, await pictures(html));
    for (const [path, content] of files) writeFileAtomic(join(out, path), content);
    writeFileAtomic(target, text);
  }
  return target;
}

/** Markdown goes on without a browser: it says which figures are missing. */
async function pictures(html: string): Promise<readonly (string | null)[]> {
  if (!html.includes('class="figure"')) return [];
  try {
    return await figurePictures(html);
  } catch (error) {
    if (!(error instanceof P2pError && error.code === "not-available")) throw error;
    progress(`  figures are not drawn: ${error.message}`);
    progress(`    → ${error.hint}`);
    return [];
  }
}
