import { parseArgs } from "node:util";
import { P2pError } from "../lab/index.js";
import { type Command, notebooksOf, progress, timeoutOf } from "./command.js";
import { execute } from "./execute.js";

export const record: Command = {
  name: "record",
  usage: "record NOTEBOOK --out FILE [--run-out DIR] [--timeout SECONDS]",
  describes: "executes a notebook on this machine's GPUs and keeps every program's samples in FILE",
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        out: { type: "string" },
        "run-out": { type: "string", default: "reports" },
        timeout: { type: "string" },
      },
    });
    const [file, ...more] = notebooksOf(positionals);
    if (values.out === undefined || more.length > 0) {
      throw new P2pError(
        "usage",
        "record takes one notebook and --out FILE",
        "p2plab record NOTEBOOK --out NAME-YYYY-MM-DD.arrow",
      );
    }
    const executed = await execute(file as string, {
      out: values["run-out"],
      machine: "cuda",
      record: values.out,
      ...timeoutOf(values.timeout),
    });
    if (executed.recorded === null) {
      progress("nothing was recorded, since a cell failed");
      return 1;
    }
    progress(`${executed.recorded} programs recorded`);
    process.stdout.write(`${values.out}\n`);
    return 0;
  },
};
