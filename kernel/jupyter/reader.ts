/** Asks the reader for a line of text on behalf of a cell; the thread of user code sleeps until the answer is there. */
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { jsonOf } from "./content.js";
import { InputState, type Request, type ToSockets } from "./link.js";

// A cell may take the global away.
const { store, wait } = Atomics;

export class Reader {
  readonly #state: Int32Array;
  readonly #answers: MessagePort;
  readonly #send: (message: ToSockets) => void;

  /**
   * @param state one Int32, an {@link InputState}, shared with the thread of the sockets.
   * @param answers what the reader typed arrives here.
   */
  constructor(state: Int32Array, answers: MessagePort, send: (message: ToSockets) => void) {
    this.#state = state;
    this.#answers = answers;
    this.#send = send;
    // It must not keep a process alive that was told to end.
    answers.unref();
  }

  /**
   * @param hidden the answer is not shown while it is typed.
   * @throws Error named `Interrupted` when the cell is stopped instead of answered.
   */
  ask(question: string, hidden: boolean, request: Request): string {
    // What came for an earlier question is no answer to this one.
    while (receiveMessageOnPort(this.#answers));
    store(this.#state, 0, InputState.waiting);
    const json = jsonOf({ prompt: question, password: hidden });
    this.#send({ kind: "ask", json, parent: request.header, identities: request.identities });
    wait(this.#state, 0, InputState.waiting);
    const answer = receiveMessageOnPort(this.#answers);
    if (answer) return String(answer.message);
    throw Object.assign(new Error("the cell was interrupted while it asked"), { name: "Interrupted" });
  }
}
