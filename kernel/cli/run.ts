import { parseArgs } from "node:util";
import { type Command, notebooksOf, timeoutOf } from "./command.js";
import { execute } from "./execute.js";

export const run: Command = {
  name: "run",
  usage: "run NOTEBOOK… [--machine M] [--out DIR] [--allow-errors] [--timeout SECONDS]",
  describes: "executes notebooks without Jupyter into DIR (default reports); exit code 1 when a cell fails",
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        machine: { type: "string" },
        out: { type: "string", default: "reports" },
        "allow-errors": { type: "boolean", default: false },
        timeout: { type: "string" },
      },
    });
    const limit = timeoutOf(values.timeout);
    let failed = false;
    for (const file of notebooksOf(positionals)) {
      const executed = await execute(file, {
        out: values.out,
        machine: values.machine,
        allowErrors: values["allow-errors"],
        ...limit,
      });
      failed ||= executed.failures.length > 0;
      process.stdout.write(`${executed.file}\n`);
    }
    return failed ? 1 : 0;
  },
};
