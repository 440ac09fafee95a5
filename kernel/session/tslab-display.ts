/** tslab's own `display`, for notebooks that import it from "tslab": what it shows goes to the cell that asks. */
import { createRequire } from "node:module";
import { completed } from "./bundle.js";
import { currentCell } from "./cell.js";

/** What tslab hands over. */
interface Shown {
  readonly data: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
  readonly transient: { readonly display_id?: string };
}

let connected = false;

/** Called before a cell runs; only a cell that names tslab loads it, since it brings its server along. */
export function connectTslab(source: string): void {
  if (connected || !/["']tslab["']/.test(source)) return;
  connected = true;
  createRequire(import.meta.url)("tslab/dist/jupyter.js").lastWriteDisplayData = show;
}

function show({ data: shown, metadata, transient }: Shown, update: boolean): void {
  const cell = currentCell();
  const data = completed(shown);
  const displayId = transient.display_id;
  if (update && displayId) cell?.emit({ type: "update_display_data", data, metadata, displayId });
  else cell?.emit({ type: "display_data", data, metadata, ...(displayId ? { displayId } : {}) });
}
