import { lab } from "../lab/index.js";
import { gridOf } from "./table-text.js";

/** The analyses that answer the first questions about transfers, in the order in which they are asked. */
const SHOWN = ["health", "copies", "launches", "waits", "firsts", "staged", "communication"] as const;

/** What a profiler's file holds, as text. */
export async function profileText(file: string): Promise<string> {
  const imported = await lab.import(file);
  const tables: Readonly<Record<(typeof SHOWN)[number], lab.Table>> = {
    health: lab.timeline.health(imported),
    copies: lab.timeline.copies(imported),
    launches: lab.timeline.launches(imported),
    waits: lab.timeline.waits(imported),
    firsts: lab.timeline.firsts(imported),
    staged: lab.timeline.staged(imported),
    communication: lab.timeline.communication(imported),
  };
  return [
    imported.heading,
    ...SHOWN.map((name) => `\n${name}\n${gridOf(tables[name])}`),
    `\nMore: p2plab import ${file}; in a notebook lab.timeline.…(await lab.import("${file}")).`,
  ].join("\n");
}
