/** What the thread of the sockets and the thread of user code tell each other. */
import type { MessagePort } from "node:worker_threads";
import type { Descriptors } from "./descriptors.js";
import type { Header, Message } from "./wire.js";

/** The connection file, as Jupyter writes it. */
export interface Connection {
  transport: string;
  ip: string;
  shell_port: number;
  control_port: number;
  stdin_port: number;
  iopub_port: number;
  hb_port: number;
  key: string;
  signature_scheme: string;
}

export interface SocketsData {
  connection: Connection;
  descriptors: Descriptors;
  /** One Int32: how many execute requests have arrived so far. */
  arrived: SharedArrayBuffer;
  /** One Int32, an {@link InputState}: user code's thread sleeps on it while the reader types. */
  input: SharedArrayBuffer;
  /** One Int32: set to 1, it stops a loop in a cell's code. */
  stopping: SharedArrayBuffer;
  /** Where the reader's answers are put, before the sleeping thread is woken. */
  answers: MessagePort;
}

/** What the thread of user code waits for while a cell asks the reader. */
export const InputState = { waiting: 0, answered: 1, interrupted: 2 } as const;

/** A request that user code's thread answers, on the channel it came by. `arrival` numbers execute requests from 1. */
export interface Request {
  channel: "shell" | "control";
  identities: Uint8Array[];
  header: Header;
  metadata: Record<string, unknown>;
  content: Record<string, unknown>;
  buffers: Uint8Array[];
  arrival: number;
}

/** `ping` is answered by `pong` as soon as user code lets the event loop turn. */
export type ToMain =
  | { kind: "request"; request: Request }
  | { kind: "interrupt" }
  | { kind: "ping"; number: number }
  | { kind: "exit" };

/** Contents travel as JSON text, so that what cannot be sent fails where it was made. */
export type ToSockets =
  | {
      kind: "publish";
      type: string;
      json: string;
      parent: Message["parent"];
      metadata?: Record<string, unknown>;
      buffers?: Uint8Array[];
    }
  | {
      kind: "reply";
      channel: Request["channel"];
      type: string;
      json: string;
      parent: Header;
      identities: Uint8Array[];
    }
  | { kind: "ask"; json: string; parent: Header; identities: Uint8Array[] }
  | { kind: "pong"; number: number };
