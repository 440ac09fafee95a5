/** Answers the requests that need the session, in the thread of user code. */
import type { CellOutput, ExecuteResult, Session } from "../session/index.js";
import { complete, inspect } from "./assistance.js";
import { type Content, jsonOf, textOf } from "./content.js";
import { historyOf } from "./history.js";
import type { Request, ToSockets } from "./link.js";
import { OutputPublisher } from "./publisher.js";
import type { Reader } from "./reader.js";

/** So much of a value is kept for the history. */
const HISTORY_CHARACTERS = 2000;
// A cell may take the global away.
const { load } = Atomics;

export class Server {
  readonly #session: Promise<Session>;
  readonly #send: (message: ToSockets) => void;
  readonly #arrived: Int32Array;
  readonly #reader: Reader;
  /** Texts of the values that counted cells had, by execution count. */
  readonly #results = new Map<number, string>();
  /** Execute requests up to this arrival are aborted: they were queued when a cell failed. */
  #abortUpTo = 0;
  #queue: Promise<void> = Promise.resolve();

  /**
   * @param session being created; requests wait for it.
   * @param arrived one Int32, how many execute requests the sockets have taken so far.
   */
  constructor(
    session: Promise<Session>,
    arrived: Int32Array,
    reader: Reader,
    send: (message: ToSockets) => void,
  ) {
    this.#session = session;
    this.#arrived = arrived;
    this.#reader = reader;
    this.#send = send;
    session.catch(() => undefined);
  }

  /** Execute requests take their turn; the others are answered while a cell awaits. */
  handle(request: Request): void {
    if (request.header.msg_type === "execute_request") {
      this.#queue = this.#inTurn(this.#queue, request);
    } else {
      void this.#answer(request);
    }
  }

  // A cell may have replaced `then`, which waiting does not use.
  async #inTurn(before: Promise<void>, request: Request): Promise<void> {
    await before;
    await this.#answer(request);
  }

  async #answer(request: Request): Promise<void> {
    const outputs = new OutputPublisher(request.header, this.#send);
    outputs.status("busy");
    const { identities, header, channel } = request;
    let type = header.msg_type;
    let json: string;
    try {
      type = replyTypeOf(type);
      json = jsonOf(await this.#contentOf(request, await this.#session, outputs));
      outputs.flush();
    } catch (error) {
      await this.#repair();
      type = replyTypeOf(header.msg_type);
      json = failed(error, type, outputs);
    }
    // A comm's messages are answered by none.
    if (type.endsWith("_reply"))
      this.#send({ kind: "reply", channel, type, json, parent: header, identities });
    outputs.status("idle");
  }

  /** The kernel has failed at a request: what it stands on may not be as it was. */
  async #repair(): Promise<void> {
    try {
      (await this.#session).repair();
    } catch {
      // It could not be opened: the request's own failure says so.
    }
  }

  #contentOf(request: Request, session: Session, outputs: OutputPublisher): Content | Promise<Content> {
    switch (request.header.msg_type) {
      case "execute_request":
        return this.#execute(request, session, outputs);
      case "complete_request":
        return complete(request.content, session);
      case "inspect_request":
        return inspect(request.content, session);
      case "is_complete_request": {
        const { status, indent } = session.isComplete(textOf(request.content.code));
        return status === "incomplete" ? { status, indent } : { status };
      }
      case "history_request":
        return { status: "ok", history: historyOf(request.content, [...session.history], this.#results) };
      case "comm_info_request": {
        const { target_name: target } = request.content;
        return { status: "ok", comms: session.openComms(typeof target === "string" ? target : undefined) };
      }
      case "comm_open":
      case "comm_msg":
      case "comm_close": {
        const { header, content, metadata, buffers } = request;
        session.receiveComm(
          header.msg_type,
          content,
          { metadata, buffers },
          (output) => outputs.output(output),
          { onComm: (message) => outputs.comm(message) },
        );
        return {};
      }
      default:
        throw new Error(`${request.header.msg_type} is not answered here`);
    }
  }

  async #execute(request: Request, session: Session, outputs: OutputPublisher): Promise<Content> {
    if (request.arrival <= this.#abortUpTo)
      return { status: "aborted", execution_count: session.executionCount };
    const { content } = request;
    const code = textOf(content.code);
    const silent = content.silent === true;
    const storeHistory = content.store_history !== false && !silent;
    if (!silent) {
      outputs.publish("execute_input", {
        code,
        execution_count: session.executionCount + (storeHistory ? 1 : 0),
      });
    }
    const payload: Content[] = [];
    const result = await session.execute(code, {
      silent,
      storeHistory,
      onOutput: (output) => {
        outputs.output(output);
        if (output.type === "execute_result" && storeHistory)
          this.#results.set(
            output.executionCount,
            String(output.data["text/plain"]).slice(0, HISTORY_CHARACTERS),
          );
      },
      onComm: (message) => outputs.comm(message),
      onPage: (data) => payload.push({ source: "page", data, start: 0 }),
      ...(content.allow_stdin === true && {
        askReader: (question: string, hidden: boolean) => {
          outputs.flush();
          return this.#reader.ask(question, hidden, request);
        },
      }),
    });
    if (storeHistory) publishRecord(session, code, outputs);
    if (result.error) {
      if (content.stop_on_error !== false) this.#abortUpTo = load(this.#arrived, 0);
      return { status: "error", execution_count: result.executionCount, ...result.error };
    }
    const user_expressions = await evaluated(content.user_expressions, session);
    return { status: "ok", execution_count: result.executionCount, payload, user_expressions };
  }
}

function replyTypeOf(request: string): string {
  return request.replace(/request$/, "reply");
}

/**
 * An output that no front end shows, and every one keeps: its metadata say what the cell did. Cells that neither opened a
 * machine, ran a program, nor entered anything have none.
 */
function publishRecord(session: Session, code: string, outputs: OutputPublisher): void {
  try {
    const metadata = session.takeRecord(code);
    if (metadata) outputs.publish("display_data", { data: {}, metadata, transient: {} });
  } catch {
    // A cell has changed what JavaScript itself is made of: what it did is not known, and it is no failure of the cell.
  }
}

/** Content of the reply to a request that the kernel itself failed at. */
function failed(error: unknown, type: string, outputs: OutputPublisher): string {
  try {
    const failure = failureOf(error);
    if (type === "execute_reply") outputs.output({ type: "error", ...failure });
    return jsonOf({ status: "error", execution_count: 0, ...failure });
  } catch {
    return SPOILT;
  }
}

/** Written out, since nothing of JavaScript can be relied on any more. */
const SPOILT =
  '{"status":"error","execution_count":0,"ename":"Error","evalue":"a cell has changed what JavaScript itself is made of: restart the kernel","traceback":[]}';

/** What the kernel itself failed with: the session could not be opened, or a request is not as it should be. */
function failureOf(error: unknown): { ename: string; evalue: string; traceback: string[] } {
  if (!(error instanceof Error)) return { ename: "Error", evalue: String(error), traceback: [String(error)] };
  const hint = "hint" in error && typeof error.hint === "string" ? [`→ ${error.hint}`] : [];
  const traceback = [...`${error.name}: ${error.message}`.split("\n"), ...hint];
  return { ename: error.name, evalue: error.message, traceback };
}

/** Each expression's bundle, or its error; nothing of it shows in the cell. */
async function evaluated(expressions: unknown, session: Session): Promise<Content> {
  if (typeof expressions !== "object" || expressions === null) return {};
  const values: Content = {};
  for (const [name, code] of Object.entries(expressions)) {
    let shown: CellOutput | null = null;
    const onOutput = (output: CellOutput) => {
      if (output.type === "execute_result") shown = output;
    };
    const result: ExecuteResult = await session.execute(textOf(code), { storeHistory: false, onOutput });
    const bundle = shown as { data: Content; metadata: Content } | null;
    values[name] = result.error
      ? { status: "error", ...result.error }
      : { status: "ok", data: bundle?.data ?? {}, metadata: bundle?.metadata ?? {} };
  }
  return values;
}
