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

/** A comm message on its way to the front ends, in the protocol's terms. */
export interface CommOutgoing {
  readonly type: "comm_open" | "comm_msg" | "comm_close";
  readonly content: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
  readonly buffers: readonly Uint8Array[];
}

/** What a cell can reach beside its outputs, where a front end is there for it. */
export interface FrontEnd {
  /** Takes comm messages. */
  onComm?: (message: CommOutgoing) => void;
  /** Asks the reader for a line, waiting for it; `hidden` while it is typed. */
  askReader?: (question: string, hidden: boolean) => string;
  /** Shows a bundle beside the notebook instead of in the cell. */
  onPage?: (data: MimeBundle) => void;
}
