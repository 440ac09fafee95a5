/** The `p2plab` command's work: finds the subcommand, and turns errors into messages and exit codes. */
import { readFileSync } from "node:fs";
import { P2pError, packagePath } from "../lab/index.js";
import { check } from "./check.js";
import { type Command, INTERRUPTED } from "./command.js";
import { doctor } from "./doctor.js";
import { importCommand } from "./import.js";
import { kernel } from "./kernel.js";
import { lab } from "./lab.js";
import { machines } from "./machines.js";
import { matrix } from "./matrix.js";
import { record } from "./record.js";
import { report } from "./report.js";
import { run } from "./run.js";
import { site } from "./site.js";

const COMMANDS: readonly Command[] = [
  doctor,
  matrix,
  run,
  report,
  site,
  record,
  check,
  importCommand,
  machines,
  kernel,
  lab,
];

function help(): string {
  const lines = COMMANDS.flatMap((command) => [`  p2plab ${command.usage}`, `      ${command.describes}`]);
  return [
    "p2plab measures, explains and improves GPU peer-to-peer transfers.",
    "",
    ...lines,
    "",
    "  p2plab help [COMMAND] · p2plab version",
  ].join("\n");
}

function helpOf(command: Command): string {
  return `p2plab ${command.usage}\n  ${command.describes}`;
}

/** 0 done · 1 a stated failure · 2 not understood · 130 stopped by Ctrl-C · 70 a bug · 74 its output cannot be written. */
async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) {
    process.stderr.write(`${help()}\n`);
    return 2;
  }
  if (name === "help" || name === "--help" || name === "-h") {
    const about = COMMANDS.find((command) => command.name === rest[0]);
    process.stdout.write(`${about ? helpOf(about) : help()}\n`);
    return 0;
  }
  if (name === "version" || name === "--version") {
    const { version } = JSON.parse(readFileSync(packagePath("package.json"), "utf8")) as { version: string };
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (!command) {
    process.stderr.write(`p2plab: no command "${name}"\n\n${help()}\n`);
    return 2;
  }
  if (rest.includes("--help") || rest.includes("-h")) {
    process.stdout.write(`${helpOf(command)}\n`);
    return 0;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    if (error instanceof P2pError) {
      process.stderr.write(`p2plab ${name}: ${error.message}\n  → ${error.hint}\n`);
      return error.code === "usage" ? 2 : error.code === "cancelled" ? INTERRUPTED : 1;
    }
    if (error instanceof TypeError && (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS")) {
      process.stderr.write(`p2plab ${name}: ${error.message}\n  usage: p2plab ${command.usage}\n`);
      return 2;
    }
    process.stderr.write(`p2plab ${name}: ${error instanceof Error ? error.stack : String(error)}\n`);
    return 70;
  }
}

/** EX_IOERR of sysexits.h: none of the statuses that a result has. */
const OUTPUT_LOST = 74;

/** Runs the command of this process's arguments. */
export async function runCommand(): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that has seen enough, such as head, closes the pipe: that is no failure.
    if (error.code === "EPIPE") process.exit();
    process.stderr.write(
      `p2plab: cannot write the output: ${error.message}\n  → Free the disk, or write it elsewhere.\n`,
    );
    process.exit(OUTPUT_LOST);
  });
  // A message that cannot be read is no reason to end.
  process.stderr.on("error", () => undefined);
  // Not process.exit: a pipe that reads slowly still gets everything.
  process.exitCode = await main(process.argv.slice(2));
}
