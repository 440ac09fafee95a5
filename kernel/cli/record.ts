import { rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { lab, onProgress, P2pError, requireWritable } from "../lab/index.js";
import { temporaryFolder } from "../notebook/index.js";
import { type Command, INTERRUPTED, interruptible, notebooksOf, progress, timeoutOf } from "./command.js";
import { execute, statusOf } from "./execute.js";

export const record: Command = {
  name: "record",
  usage: `record [NOTEBOOK…] --out FILE [--run-out DIR] [--timeout SECONDS] | [--machine M] [--programs ${lab.PROGRAM_SETS.join(",")}] [--rounds N]`,
  describes:
    "executes notebooks on this machine's GPUs and keeps every program's samples in FILE; without a notebook, measures a " +
    "suite of programs in rounds, as a baseline for p2plab check",
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        out: { type: "string" },
        "run-out": { type: "string" },
        timeout: { type: "string" },
        machine: { type: "string" },
        programs: { type: "string" },
        rounds: { type: "string" },
      },
    });
    const { out, machine, programs, rounds } = values;
    if (out === undefined) {
      throw new P2pError(
        "usage",
        "record takes notebooks, or none, and --out FILE",
        "p2plab record NOTEBOOK… --out NAME-YYYY-MM-DD.arrow, or p2plab record --out FILE for a baseline.",
      );
    }
    const ofNotebook = positionals.length > 0;
    const [wrong] = Object.entries(
      ofNotebook ? { machine, programs, rounds } : { "run-out": values["run-out"], timeout: values.timeout },
    ).filter(([, value]) => value !== undefined);
    if (wrong) {
      throw new P2pError(
        "usage",
        `--${wrong[0]} has no meaning when a ${ofNotebook ? "notebook" : "baseline"} is recorded`,
        ofNotebook ? "A notebook is recorded on this machine's GPUs: leave it out." : "Leave it out.",
      );
    }
    requireWritable(out);
    return ofNotebook
      ? await recordNotebooks(notebooksOf(positionals), out, {
          out: values["run-out"] ?? "reports",
          ...timeoutOf(values.timeout),
        })
      : await recordBaseline(out, machine, {
          ...(programs !== undefined && { programs: programs.split(",") as lab.ProgramSet[] }),
          ...(rounds !== undefined && { rounds: Number(rounds) }),
        });
  },
};

/** Each notebook is recorded by itself, and all are put together at the end. */
async function recordNotebooks(
  notebooks: readonly string[],
  file: string,
  options: { out: string; timeoutS?: number },
): Promise<number> {
  const folder = temporaryFolder("p2plab-record-");
  try {
    const parts: string[] = [];
    for (const notebook of notebooks) {
      const record = join(folder, `${parts.length}.arrow`);
      const { recorded, stoppedBy } = await execute(notebook, { ...options, machine: "cuda", record });
      if (stoppedBy) {
        progress("p2plab record: stopped on request: of notebooks that did not end nothing is recorded");
        return statusOf(stoppedBy);
      }
      if (recorded === null) {
        progress(`nothing was recorded, since a cell of ${notebook} failed`);
        return 1;
      }
      parts.push(record);
    }
    progress(`${lab.mergeRecordings(parts, file)} programs recorded`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${file}\n`);
  return 0;
}

async function recordBaseline(
  file: string,
  spec: string | undefined,
  options: lab.BaselineOptions,
): Promise<number> {
  await using machine = await lab.open(spec);
  progress(String(machine));
  onProgress(showRounds());
  let made: lab.Baseline;
  let stopped: P2pError | null = null;
  try {
    made = await interruptible((signal) => lab.baseline(machine, { ...options, signal }));
  } catch (error) {
    if (!(error instanceof lab.StoppedError) || error.partial === null) throw error;
    made = error.partial as lab.Baseline;
    stopped = error;
  }
  for (const reason of new Set(made.missing.map((entry) => entry.reason))) {
    const names = made.missing.filter((entry) => entry.reason === reason).map((entry) => entry.name);
    progress(`left out: ${names.length} programs such as ${names[0]}: ${reason}`);
  }
  lab.saveBaseline(file, made);
  const rounds = made.recording.runs[0]?.rounds?.length ?? 0;
  progress(`${made.recording.runs.length} programs recorded in ${rounds} rounds`);
  if (stopped) progress(`p2plab record: ${stopped.message}; the rounds that were complete are kept`);
  process.stdout.write(`${file}\n`);
  return stopped ? INTERRUPTED : 0;
}

/** A line on stderr a second at the most. */
export function showRounds(): lab.ProgressListener {
  let shownMs = Number.NEGATIVE_INFINITY;
  return ({ label, done, total }) => {
    if (performance.now() - shownMs < 1000) return;
    shownMs = performance.now();
    progress(`  ${Math.floor((100 * done) / total)} % ${label}`);
  };
}
