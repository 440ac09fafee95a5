import { copies, health, launches, summary, waits } from "../analyze/timeline/index.js";
import type { Table } from "../measure/table.js";
import type { Timeline } from "../timeline.js";

/** The tables that every import with a timeline has; further analyses are in `lab.timeline`. */
export function timelineTables(timeline: Timeline): Record<string, Table> {
  return {
    summary: summary(timeline),
    copies: copies(timeline),
    launches: launches(timeline),
    waits: waits(timeline),
    health: health(timeline),
  };
}
