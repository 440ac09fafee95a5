import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { P2pError, writeFileAtomic } from "../lab/index.js";
import { makeWritableFolder, type Notebook, readNotebook, renderReport } from "../notebook/index.js";
import { type Command, notebooksOf, timeoutOf } from "./command.js";
import { execute } from "./execute.js";

export const report: Command = {
  name: "report",
  usage: "report NOTEBOOK… [--machine M] [--format html] [--out DIR] [--no-execute] [--timeout SECONDS]",
  describes:
    "executes notebooks and writes each as one HTML file that opens offline into DIR (default reports)",
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        machine: { type: "string" },
        format: { type: "string", default: "html" },
        out: { type: "string", default: "reports" },
        "no-execute": { type: "boolean", default: false },
        timeout: { type: "string" },
      },
    });
    if (values.format !== "html") {
      throw new P2pError(
        "usage",
        `no report format "${values.format}"`,
        "The format is html; a browser prints it to PDF.",
      );
    }
    const limit = timeoutOf(values.timeout);
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
        failed ||= executed.failures.length > 0;
        notebook = executed.notebook;
      }
      const target = join(values.out, `${basename(file, ".ipynb")}.html`);
      writeFileAtomic(target, renderReport(notebook, file));
      process.stdout.write(`${target}\n`);
    }
    return failed ? 1 : 0;
  },
};
