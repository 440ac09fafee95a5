/** Comms: messages with binary parts to and from code that runs in the front end, such as a widget. */
import { randomUUID } from "node:crypto";
import { P2pError, shown } from "../lab/index.js";
import { noJson, objectOf } from "./arguments.js";
import { currentCell } from "./cell.js";
import type { CommOutgoing } from "./outputs.js";

type Json = Record<string, unknown>;

/** What travels beside the data of a comm's message. */
export interface CommExtras {
  /** Free for the two ends; front ends add nothing to it. */
  metadata?: Record<string, unknown>;
  /** Binary parts, sent as they are. */
  buffers?: readonly Uint8Array[];
}

/** A message that arrived over a comm. */
export interface CommMessage {
  readonly data: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly buffers: readonly Uint8Array[];
}

/** One open channel to a front end. */
export interface Comm {
  readonly id: string;
  readonly target: string;
  /** False after `close`, or after the front end has closed it. */
  readonly isOpen: boolean;
  /** Takes what the front end sends; what it throws is shown in the front end that sent it. */
  onMessage: ((message: CommMessage) => void) | null;
  /** Told once that the front end has closed the comm. */
  onClose: ((message: CommMessage) => void) | null;
  /** Sends data; @throws P2pError `usage` when the comm is closed. */
  send(data: Record<string, unknown>, extras?: CommExtras): void;
  /** Closes the comm; safe to call twice. */
  close(data?: Record<string, unknown>): void;
}

/** What a notebook calls `comms`. */
export interface Comms {
  /** Lets a front end open comms to a target of this name; a second target of the same name takes its place. */
  register(target: string, onOpen: (comm: Comm, message: CommMessage) => void): void;
  /** Takes a target away; comms that are open stay so. */
  unregister(target: string): void;
  /** Opens a comm to a target that the front end has. */
  open(target: string, data?: Record<string, unknown>, extras?: CommExtras): Comm;
}

const targets = new Map<string, (comm: Comm, message: CommMessage) => void>();
const open = new Map<string, OpenComm>();

class OpenComm implements Comm {
  readonly id: string;
  readonly target: string;
  onMessage: Comm["onMessage"] = null;
  onClose: Comm["onClose"] = null;

  constructor(id: string, target: string) {
    this.id = id;
    this.target = target;
    open.set(id, this);
  }

  get isOpen(): boolean {
    return open.get(this.id) === this;
  }

  send(data: Json, extras: CommExtras = {}): void {
    if (!this.isOpen) {
      throw new P2pError(
        "usage",
        `the comm to ${this.target} is closed`,
        "Open another: comms.open(target).",
      );
    }
    sendOut("comm_msg", { comm_id: this.id, data }, extras);
  }

  close(data: Json = {}): void {
    if (!this.isOpen) return;
    open.delete(this.id);
    sendOut("comm_close", { comm_id: this.id, data }, {});
  }
}

function sendOut(type: CommOutgoing["type"], content: Json, extras: CommExtras): void {
  objectOf(content.data, "the data of a comm message");
  const { metadata = {}, buffers = [] } = objectOf(extras, "what goes with a comm message") as CommExtras;
  objectOf(metadata, "the metadata of a comm message");
  if (!Array.isArray(buffers) || buffers.some((buffer) => !(buffer instanceof Uint8Array))) {
    throw new P2pError(
      "usage",
      `the buffers of a comm message are ${shown(buffers)}`,
      "Give a list of Uint8Array: [new Uint8Array(…)].",
    );
  }
  // Without a front end, as in a headless run, nobody is at the other end.
  try {
    currentCell()?.sendComm?.({ type, content, metadata, buffers });
  } catch (cause) {
    throw noJson("a comm message", cause);
  }
}

function textOf(value: unknown, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new P2pError("usage", `${what} is ${shown(value)}`, "Give a text that is not empty.");
}

export const comms: Comms = {
  register(target, onOpen) {
    if (typeof onOpen !== "function")
      throw new P2pError("usage", "a target without a function that takes its comms", "Give a function.");
    targets.set(textOf(target, "the name of a comm target"), onOpen);
  },
  unregister(target) {
    targets.delete(target);
  },
  open(target, data = {}, extras = {}) {
    const comm = new OpenComm(randomUUID(), textOf(target, "the name of a comm target"));
    try {
      sendOut("comm_open", { comm_id: comm.id, target_name: comm.target, data }, extras);
    } catch (error) {
      // Nobody has heard of it.
      open.delete(comm.id);
      throw error;
    }
    return comm;
  },
};

/** Comms that are open, as a front end asks for them; `target` keeps those of one name. */
export function openComms(target?: string): Record<string, { target_name: string }> {
  const chosen = [...open.values()].filter((comm) => target === undefined || comm.target === target);
  return Object.fromEntries(chosen.map((comm) => [comm.id, { target_name: comm.target }]));
}

/** Hands a front end's comm message to the cell code that waits for it; an opening that nobody takes is closed. */
export function receiveComm(type: string, content: Json, message: Omit<CommMessage, "data">): void {
  const id = String(content.comm_id ?? "");
  const given = content.data;
  const data = typeof given === "object" && given !== null ? (given as Json) : {};
  const whole = { ...message, data };
  if (type === "comm_open") {
    const onOpen = targets.get(String(content.target_name));
    if (!onOpen) return sendOut("comm_close", { comm_id: id, data: {} }, {});
    const comm = new OpenComm(id, String(content.target_name));
    try {
      onOpen(comm, whole);
    } catch (error) {
      comm.close();
      throw error;
    }
    return;
  }
  const comm = open.get(id);
  if (type === "comm_msg") comm?.onMessage?.(whole);
  if (type === "comm_close" && comm) {
    open.delete(id);
    comm.onClose?.(whole);
  }
}

/** Forgets comms and targets, with the session that made them. */
export function forgetComms(): void {
  targets.clear();
  open.clear();
}
