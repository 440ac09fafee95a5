/** What the thread of the sockets and the thread of user code tell each other. */
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
  /** One Int32: how many execute requests have arrived so far. */
  arrived: SharedArrayBuffer;
}

/** A request that user code's thread answers. `arrival` numbers execute requests from 1. */
export interface Request {
  identities: Uint8Array[];
  header: Header;
  content: Record<string, unknown>;
  arrival: number;
}

export type ToMain = { kind: "request"; request: Request } | { kind: "exit" };

export type ToSockets =
  | {
      kind: "publish";
      type: string;
      content: Record<string, unknown>;
      parent: Message["parent"];
      metadata?: Record<string, unknown>;
    }
  | {
      kind: "reply";
      type: string;
      content: Record<string, unknown>;
      parent: Header;
      identities: Uint8Array[];
    };
