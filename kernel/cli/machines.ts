import { parseArgs } from "node:util";
import { lab, P2pError } from "../lab/index.js";
import type { Command } from "./command.js";

export const machines: Command = {
  name: "machines",
  usage: "machines [--json]",
  describes: "lists what lab.open() and --machine can open here, and what they open by default",
  async run(args) {
    const { values } = parseArgs({ args, options: { json: { type: "boolean", default: false } } });
    const list = lab.machines();
    const standard = await defaultMachine();
    if (values.json) {
      const json = {
        schema: "p2plab-machines/1",
        date: new Date().toISOString(),
        default: standard.provenance,
        reason: standard.reason,
        machines: list,
      };
      process.stdout.write(`${JSON.stringify(json, null, 1)}\n`);
      return 0;
    }
    const width = Math.max(...list.map((entry) => entry.spec.length));
    for (const { spec, describes, unavailable } of list) {
      process.stdout.write(`${spec.padEnd(width)}  ${describes}\n`);
      if (unavailable) process.stdout.write(`${" ".repeat(width)}  not here: ${unavailable}\n`);
    }
    process.stdout.write(`default: ${standard.text}\n`);
    return 0;
  },
};

/** What `lab.open()` opens, or why it opens nothing: the list is wanted just then. */
async function defaultMachine(): Promise<{
  provenance: lab.Provenance | null;
  reason: string | null;
  text: string;
}> {
  try {
    const machine = await lab.open();
    await machine.close();
    return { provenance: machine.provenance, reason: null, text: machine.toString() };
  } catch (error) {
    if (!(error instanceof P2pError)) throw error;
    return { provenance: null, reason: error.message, text: `none: ${error.message}\n  → ${error.hint}` };
  }
}
