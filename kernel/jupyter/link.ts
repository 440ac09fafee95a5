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

/** `ping` is answered by `pong` as soon as user code lets the event loop turn. */
export type ToMain =
  | { kind: "request"; request: Request }
  | { kind: "interrupt" }
  | { kind: "ping"; number: number }
  | { kind: "exit" };

/** Contents travel as JSON text, so that what cannot be sent fails where it was made. */
export type ToSockets =
  | { kind: "publish"; type: string; json: string; parent: Message["parent"] }
  | { kind: "reply"; type: string; json: string; parent: Header; identities: Uint8Array[] }
  | { kind: "pong"; number: number };
