import type { MimeBundle } from "../lab/index.js";

/** What a cell shows, in the terms of the notebook format. */
export type CellOutput =
  | { type: "stream"; name: "stdout" | "stderr"; text: string }
  | { type: "display_data"; data: MimeBundle; metadata: Record<string, unknown>; displayId?: string }
  | { type: "update_display_data"; data: MimeBundle; metadata: Record<string, unknown>; displayId: string }
  | { type: "execute_result"; data: MimeBundle; metadata: Record<string, unknown>; executionCount: number }
  | { type: "error"; ename: string; evalue: string; traceback: string[] }
  | { type: "clear_output"; wait: boolean };

export type OutputSink = (output: CellOutput) => void;
