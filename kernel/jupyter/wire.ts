/** Jupyter's wire messages (protocol 5.4): frames, signed. Nothing of a message is looked at before its signature is right. */
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";

export const PROTOCOL_VERSION = "5.4";

export interface Header {
  msg_id: string;
  msg_type: string;
  session: string;
  username: string;
  date: string;
  version: string;
}

export interface Message {
  /** Routing frames before the delimiter; empty when published. */
  identities: Uint8Array[];
  header: Header;
  /** Header of the request this answers; empty object for none. */
  parent: Header | Record<string, never>;
  metadata: Record<string, unknown>;
  content: Record<string, unknown>;
  /** Binary parts after the four JSON parts; the signature does not cover them. */
  buffers: Uint8Array[];
}

/** A message to send; its content may be JSON text already. */
export interface Outgoing extends Omit<Message, "content"> {
  content: Record<string, unknown> | string;
}

const DELIMITER = "<IDS|MSG>";
const DELIMITER_BYTES = Buffer.from(DELIMITER);
/** Characters of a signature. */
const SIGNED = 64;
/** So many signatures are remembered; a message with one of them is a copy that someone sent again. */
const REMEMBERED = 65_536;

/** Signs and checks with the key of the connection file; an empty key means that messages are not signed. */
export class Wire {
  readonly #key: string;
  /** The kernel's own, in every header it sends. */
  readonly session: string = randomUUID();
  /** In the order of arrival. */
  readonly #seen = new Set<string>();

  /** @throws Error for a signature scheme other than hmac-sha256. */
  constructor(key: string, scheme: string) {
    if (key !== "" && scheme !== "hmac-sha256")
      throw new Error(`signature scheme ${scheme} is not hmac-sha256`);
    this.#key = key;
  }

  /** A message of this kernel. */
  message(
    type: string,
    content: Outgoing["content"],
    parent: Message["parent"] = {},
    more: { identities?: Uint8Array[]; metadata?: Record<string, unknown>; buffers?: Uint8Array[] } = {},
  ): Outgoing {
    const header: Header = {
      msg_id: randomUUID(),
      msg_type: type,
      session: this.session,
      username: "kernel",
      date: new Date().toISOString(),
      version: PROTOCOL_VERSION,
    };
    const { identities = [], metadata = {}, buffers = [] } = more;
    return { identities, header, parent, metadata, content, buffers };
  }

  encode(message: Outgoing): Buffer[] {
    const parts = [message.header, message.parent, message.metadata, message.content].map((part) =>
      Buffer.from(typeof part === "string" ? part : JSON.stringify(part)),
    );
    return [
      ...message.identities.map((identity) => Buffer.from(identity)),
      Buffer.from(DELIMITER),
      Buffer.from(this.#signature(parts)),
      ...parts,
      ...message.buffers.map(viewOf),
    ];
  }

  /**
   * @returns the message, or null for anything that is not one: wrong frames, wrong signature, a signed message sent
   * a second time, parts that are no JSON objects. What was wrong is not told to the sender.
   */
  decode(frames: readonly Uint8Array[]): Message | null {
    const delimiter = frames.findIndex((frame) => DELIMITER_BYTES.equals(frame));
    if (delimiter < 0 || frames.length < delimiter + 6) return null;
    const parts = frames.slice(delimiter + 2, delimiter + 6).map(viewOf);
    if (!this.#isSigned(parts, viewOf(frames[delimiter + 1] as Uint8Array))) return null;
    const [header, parent, metadata, content] = parts.map(objectOf);
    if (!header || !parent || !metadata || !content) return null;
    if (typeof header.msg_type !== "string" || typeof header.msg_id !== "string") return null;
    return {
      identities: frames.slice(0, delimiter).map((frame) => new Uint8Array(frame)),
      header: header as unknown as Header,
      parent: parent as Message["parent"],
      metadata,
      content,
      buffers: frames.slice(delimiter + 6).map((frame) => new Uint8Array(frame)),
    };
  }

  #signature(parts: readonly Buffer[]): string {
    if (this.#key === "") return "";
    const hmac = createHmac("sha256", this.#key);
    for (const part of parts) hmac.update(part);
    return hmac.digest("hex");
  }

  #isSigned(parts: readonly Buffer[], signature: Buffer): boolean {
    if (this.#key === "") return true;
    // Nothing is worked out, of a message that may be large, for what cannot be one.
    if (signature.length !== SIGNED) return false;
    const text = this.#signature(parts);
    const expected = Buffer.from(text);
    if (!timingSafeEqual(expected, signature)) return false;
    if (this.#seen.has(text)) return false;
    this.#seen.add(text);
    if (this.#seen.size > REMEMBERED) this.#seen.delete(this.#seen.values().next().value as string);
    return true;
  }
}

/** The same bytes, not copied: a message may be large. */
function viewOf(frame: Uint8Array): Buffer {
  return Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
}

function objectOf(part: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(part.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
