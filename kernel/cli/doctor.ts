import { parseArgs } from "node:util";
import { lab, P2pError, requireWritable, writeFileAtomic } from "../lab/index.js";
import { renderDoctorReport } from "../notebook/index.js";
import { type Command, interruptible, progress } from "./command.js";

/** Neither healthy nor ill: it could not be looked at. */
const COULD_NOT_LOOK = 3;

export const doctor: Command = {
  name: "doctor",
  usage:
    "doctor [--json | --html FILE] [--lang en|zh] [--all] [--[no-]redact] [--no-ladder] [--deadline SECONDS] [--machine M | --snapshot FOLDER | --save FOLDER]",
  describes:
    "what this machine is, what is wrong with it for transfers between GPUs, and how to mend it; exit code 0 healthy, " +
    "1 warnings, 2 failures, 3 could not look",
  async run(args) {
    try {
      return await examine(args);
    } catch (error) {
      // Exit code 2 says that something is broken, and nothing else.
      const parsing = (error as NodeJS.ErrnoException)?.code?.startsWith("ERR_PARSE_ARGS") ?? false;
      if (!(error instanceof P2pError) && !parsing) throw error;
      const { message } = error as Error;
      const hint = error instanceof P2pError ? error.hint : `Usage: p2plab ${doctor.usage}`;
      progress(`p2plab doctor: ${message}\n  → ${hint}`);
      return error instanceof P2pError && error.code === "cancelled" ? 130 : COULD_NOT_LOOK;
    }
  },
};

async function examine(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      json: { type: "boolean", default: false },
      lang: { type: "string", default: "en" },
      all: { type: "boolean", default: false },
      html: { type: "string" },
      redact: { type: "boolean", default: false },
      "no-redact": { type: "boolean", default: false },
      "no-ladder": { type: "boolean", default: false },
      deadline: { type: "string" },
      machine: { type: "string" },
      snapshot: { type: "string" },
      save: { type: "string" },
    },
  });
  const { lang } = values;
  if (lang !== "en" && lang !== "zh") {
    throw new P2pError("usage", `no language "${lang}"`, "Use en or zh.");
  }
  if (values.json && values.html !== undefined) {
    throw new P2pError("usage", "both --json and --html", "Choose one of them.");
  }
  if (values.html !== undefined) requireWritable(values.html);
  const options = {
    ladder: !values["no-ladder"],
    ...(values.save === undefined ? {} : { save: values.save }),
    ...(values.snapshot === undefined ? {} : { snapshot: values.snapshot }),
    ...(values.deadline === undefined ? {} : { deadlineS: Number(values.deadline) }),
  };
  const found = await interruptible((signal) => lookAt(values.machine, { ...options, signal }));
  // A report is made to be passed on.
  const redact = values.redact || (values.html !== undefined && !values["no-redact"]);
  const shown = redact ? lab.redacted(found) : found;
  if (values.html !== undefined) {
    writeFileAtomic(values.html, renderDoctorReport(shown, lang));
    process.stdout.write(`${values.html}\n`);
  } else if (values.json) {
    process.stdout.write(`${JSON.stringify(shown.json(), null, 1)}\n`);
  } else {
    const width = process.stdout.columns ?? 100;
    process.stdout.write(`${shown.text({ lang, all: values.all, width, colour: colours() })}\n`);
  }
  return found.exitStatus;
}

async function lookAt(spec: string | undefined, options: lab.DoctorOptions): Promise<lab.Diagnosis> {
  if (spec === undefined) return await lab.doctor(options);
  await using machine = await lab.open(spec);
  return await lab.doctor(machine, options);
}

/** See no-color.org. */
function colours(): boolean {
  return process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== "dumb";
}
