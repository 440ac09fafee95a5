import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { packagePath } from "../lab/index.js";
import { type Command, notebooksOf, timeoutOf } from "./command.js";
import { execute, statusOf } from "./execute.js";
import { type Profiler, profiled, profilerOf } from "./profile.js";
import { profileText } from "./profile-text.js";

export const run: Command = {
  name: "run",
  usage:
    "run NOTEBOOK… [--machine M] [--out DIR] [--allow-errors] [--timeout SECONDS] [--profile nsys|nvprof]",
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
        profile: { type: "string" },
      },
    });
    const profiler = profilerOf(values.profile);
    const limit = timeoutOf(values.timeout);
    let failed = false;
    for (const file of notebooksOf(positionals)) {
      if (profiler) {
        const options = [
          ...["--out", values.out],
          ...(values.machine === undefined ? [] : ["--machine", values.machine]),
          ...(values.timeout === undefined ? [] : ["--timeout", values.timeout]),
          ...(values["allow-errors"] ? ["--allow-errors"] : []),
        ];
        failed = (await underProfiler(profiler, file, values.out, options)) !== 0 || failed;
        continue;
      }
      const executed = await execute(file, {
        out: values.out,
        machine: values.machine,
        allowErrors: values["allow-errors"],
        ...limit,
      });
      failed ||= executed.failures.length > 0;
      process.stdout.write(`${executed.file}\n`);
      if (executed.stoppedBy) return statusOf(executed.stoppedBy);
    }
    return failed ? 1 : 0;
  },
};

/** Prints the paths of the executed notebook and of the profile, then what the profile holds. */
async function underProfiler(
  profiler: Profiler,
  notebook: string,
  out: string,
  options: readonly string[],
): Promise<number> {
  const command = [process.execPath, packagePath("dist/kernel/cli/main.js"), "run", notebook, ...options];
  const name = basename(notebook);
  const { status, file } = await profiled(profiler, command, join(out, name.replace(/\.ipynb$/, "")));
  process.stdout.write(`${join(out, name)}\n${file}\n\n${await profileText(file)}\n`);
  return status;
}
