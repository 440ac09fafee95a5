import { parseArgs } from "node:util";
import { lab, onProgress, P2pError } from "../lab/index.js";
import { type Command, INTERRUPTED, interruptible, progress } from "./command.js";
import { showRounds } from "./record.js";

const WORSE = 1;
const NOT_MEASURED = 3;

export const check: Command = {
  name: "check",
  usage: "check BASELINE [--machine M] [--tolerance PERCENT] [--json]",
  describes:
    "runs the programs of a baseline again and compares; exit code 1 when some became slower by more than the tolerance " +
    "(default 3 %), 3 when some could not be measured",
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        machine: { type: "string" },
        tolerance: { type: "string" },
        json: { type: "boolean", default: false },
      },
    });
    const [file] = positionals;
    if (file === undefined || positionals.length > 1) {
      throw new P2pError("usage", "check takes one baseline", "Make one with p2plab record --out FILE.");
    }
    const tolerance = values.tolerance === undefined ? {} : { tolerance: Number(values.tolerance) / 100 };
    const print = (found: lab.Regressions) =>
      process.stdout.write(values.json ? `${JSON.stringify(jsonOf(found), null, 1)}\n` : `${found}\n`);
    try {
      const found = await compare(file, values.machine, tolerance);
      print(found);
      return found.worse.length > 0 ? WORSE : found.notMeasured.length > 0 ? NOT_MEASURED : 0;
    } catch (error) {
      // Exit code 1 says that something became slower, and nothing else.
      if (!(error instanceof P2pError) || error.code === "usage") throw error;
      if (error instanceof lab.StoppedError && error.partial instanceof lab.Regressions) {
        print(error.partial);
        progress(`p2plab check: ${error.message}; this is what it had found by then`);
        return INTERRUPTED;
      }
      progress(`p2plab check: ${error.message}\n  → ${error.hint}`);
      return error.code === "cancelled" ? INTERRUPTED : NOT_MEASURED;
    }
  },
};

async function compare(
  file: string,
  spec: string | undefined,
  options: lab.RegressionOptions,
): Promise<lab.Regressions> {
  const baseline = lab.readBaseline(file);
  await using machine = await lab.open(spec);
  progress(String(machine));
  onProgress(showRounds());
  return await interruptible((signal) => lab.regressions(machine, baseline, { ...options, signal }));
}

function jsonOf(found: lab.Regressions): Record<string, unknown> {
  const { now, baseline } = found.provenances;
  return {
    schema: "p2plab-check/1",
    machine: now.machine,
    provenance: now.kind,
    date: now.date,
    baseline: { machine: baseline.machine, provenance: baseline.kind, date: baseline.date },
    tolerance_pct: found.tolerance * 100,
    programs: found.cells.length,
    worse: found.worse.length,
    not_measured: found.notMeasured.length,
    cells: found.table().objects(),
  };
}
