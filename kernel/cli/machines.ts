import { parseArgs } from "node:util";
import { lab } from "../lab/index.js";
import type { Command } from "./command.js";

export const machines: Command = {
  name: "machines",
  usage: "machines [--json]",
  describes: "lists what lab.open() and --machine can open here, and what they open by default",
  async run(args) {
    const { values } = parseArgs({ args, options: { json: { type: "boolean", default: false } } });
    const list = lab.machines();
    const machine = await lab.open();
    const { provenance } = machine;
    const text = machine.toString();
    await machine.close();
    if (values.json) {
      const json = {
        schema: "p2plab-machines/1",
        date: new Date().toISOString(),
        default: provenance,
        machines: list,
      };
      process.stdout.write(`${JSON.stringify(json, null, 1)}\n`);
      return 0;
    }
    const width = Math.max(...list.map((entry) => entry.spec.length));
    for (const { spec, describes } of list) process.stdout.write(`${spec.padEnd(width)}  ${describes}\n`);
    process.stdout.write(`default: ${text}\n`);
    return 0;
  },
};
