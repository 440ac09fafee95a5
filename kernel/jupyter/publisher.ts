/** A request's outputs on their way to the front ends: streams gathered, everything in order. */
// A cell may replace the globals.
import { clearTimeout, setTimeout } from "node:timers";
import type { CellOutput, CommOutgoing } from "../session/index.js";
import { jsonOf } from "./content.js";
import type { ToSockets } from "./link.js";
import type { Header } from "./wire.js";

const FLUSH_MS = 20;
const FLUSH_CHARACTERS = 32_768;
/** Front ends and servers limit how long a message may be. */
const MESSAGE_CHARACTERS = 1_048_576;

export class OutputPublisher {
  readonly #parent: Header;
  readonly #send: (message: ToSockets) => void;
  #name: "stdout" | "stderr" = "stdout";
  #text = "";
  #timer: NodeJS.Timeout | null = null;
  #flushed = 0;

  constructor(parent: Header, send: (message: ToSockets) => void) {
    this.#parent = parent;
    this.#send = send;
  }

  /** @throws TypeError for content that JSON cannot hold; nothing is sent then. */
  publish(
    type: string,
    content: Record<string, unknown>,
    extras: { metadata?: Record<string, unknown>; buffers?: Uint8Array[] } = {},
  ): void {
    const json = jsonOf(content);
    this.flush();
    this.#send({ kind: "publish", type, json, parent: this.#parent, ...extras });
  }

  /** Nothing that a cell has changed keeps the front end from learning that it is over. */
  status(state: "busy" | "idle"): void {
    this.flush();
    const json = `{"execution_state":"${state}"}`;
    this.#send({ kind: "publish", type: "status", json, parent: this.#parent });
  }

  comm({ type, content, metadata, buffers }: CommOutgoing): void {
    this.publish(type, content, { metadata, buffers: [...buffers] });
  }

  output(output: CellOutput): void {
    switch (output.type) {
      case "stream":
        return this.#stream(output.name, output.text);
      case "display_data":
        return this.publish("display_data", {
          data: output.data,
          metadata: output.metadata,
          transient: output.displayId ? { display_id: output.displayId } : {},
        });
      case "update_display_data":
        return this.publish("update_display_data", {
          data: output.data,
          metadata: output.metadata,
          transient: { display_id: output.displayId },
        });
      case "execute_result":
        return this.publish("execute_result", {
          data: output.data,
          metadata: output.metadata,
          execution_count: output.executionCount,
        });
      case "error":
        return this.publish("error", {
          ename: output.ename,
          evalue: output.evalue,
          traceback: output.traceback,
        });
      case "clear_output":
        return this.publish("clear_output", { wait: output.wait });
    }
  }

  #stream(name: "stdout" | "stderr", text: string): void {
    if (name !== this.#name) this.flush();
    this.#name = name;
    this.#text += text;
    // The clock is asked too: no timer fires while a cell loops.
    if (this.#text.length >= FLUSH_CHARACTERS || performance.now() - this.#flushed >= FLUSH_MS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  /** Sends what is gathered. */
  flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#text === "") return;
    const whole = this.#text;
    this.#text = "";
    this.#flushed = performance.now();
    for (const text of piecesOf(whole)) {
      const json = jsonOf({ name: this.#name, text });
      this.#send({ kind: "publish", type: "stream", json, parent: this.#parent });
    }
  }
}

/** Pieces that fit into a message; no pair of surrogates is taken apart. */
function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + MESSAGE_CHARACTERS);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1] as string)) end--;
    yield text.slice(start, end);
    start = end;
  }
}
