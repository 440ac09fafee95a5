/** Answers the requests that need the session, in the thread of user code. */
import type { CellOutput, ExecuteResult, Session } from "../session/index.js";
import type { Request, ToSockets } from "./link.js";
import { OutputPublisher } from "./publisher.js";
import { toCodePoints, toUtf16 } from "./text-positions.js";

type Content = Record<string, unknown>;

export class Server {
  readonly #session: Promise<Session>;
  readonly #send: (message: ToSockets) => void;
  readonly #arrived: Int32Array;
  /** Execute requests up to this arrival are aborted: they were queued when a cell failed. */
  #abortUpTo = 0;
  #queue: Promise<void> = Promise.resolve();

  /**
   * @param session being created; requests wait for it.
   * @param arrived one Int32, how many execute requests the sockets have taken so far.
   */
  constructor(session: Promise<Session>, arrived: Int32Array, send: (message: ToSockets) => void) {
    this.#session = session;
    this.#arrived = arrived;
    this.#send = send;
    session.catch(() => undefined);
  }

  /** Execute requests take their turn; the others are answered while a cell awaits. */
  handle(request: Request): void {
    if (request.header.msg_type === "execute_request") {
      this.#queue = this.#queue.then(() => this.#answer(request));
    } else {
      void this.#answer(request);
    }
  }

  async #answer(request: Request): Promise<void> {
    const outputs = new OutputPublisher(request.header, this.#send);
    outputs.publish("status", { execution_state: "busy" });
    const type = request.header.msg_type.replace(/request$/, "reply");
    let json: string;
    try {
      json = JSON.stringify(await this.#contentOf(request, await this.#session, outputs));
    } catch (error) {
      const failure = failureOf(error);
      if (type === "execute_reply") outputs.output({ type: "error", ...failure });
      json = JSON.stringify({ status: "error", execution_count: 0, ...failure });
    }
    outputs.flush();
    const { identities, header } = request;
    this.#send({ kind: "reply", type, json, parent: header, identities });
    outputs.publish("status", { execution_state: "idle" });
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
        return { status: "ok", history: historyOf(request.content, session) };
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
    const result = await session.execute(code, {
      silent,
      storeHistory,
      onOutput: (output) => outputs.output(output),
    });
    if (result.error) {
      if (content.stop_on_error !== false) this.#abortUpTo = Atomics.load(this.#arrived, 0);
      return { status: "error", execution_count: result.executionCount, ...result.error };
    }
    const user_expressions = await evaluated(content.user_expressions, session);
    return { status: "ok", execution_count: result.executionCount, payload: [], user_expressions };
  }
}

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

function complete(content: Content, session: Session): Content {
  const code = textOf(content.code);
  const found = session.complete(code, toUtf16(code, cursorOf(content, code)));
  const start = toCodePoints(code, found.start);
  const end = toCodePoints(code, found.end);
  const kinds = new Map(found.original?.entries.map((entry) => [entry.name, entry.kind]));
  const types = found.candidates.map((text) => ({ text, type: kinds.get(text) ?? "", start, end }));
  return {
    status: "ok",
    matches: found.candidates,
    cursor_start: start,
    cursor_end: end,
    metadata: { _jupyter_types_experimental: types },
  };
}

function inspect(content: Content, session: Session): Content {
  const code = textOf(content.code);
  const info = session.inspect(code, toUtf16(code, cursorOf(content, code)));
  if (!info) return { status: "ok", found: false, data: {}, metadata: {} };
  const joined = (parts: readonly { text: string }[] | undefined) =>
    (parts ?? []).map((part) => part.text).join("");
  const signature = joined(info.displayParts);
  const documentation = joined(info.documentation);
  const tags = (info.tags ?? []).map((tag) => `@${tag.name} ${joined(tag.text)}`).join("\n");
  const plain = [signature, documentation, tags].filter((part) => part !== "").join("\n\n");
  const markdown = [`\`\`\`typescript\n${signature}\n\`\`\``, documentation, tags]
    .filter((part) => part !== "")
    .join("\n\n");
  return {
    status: "ok",
    found: true,
    data: { "text/plain": plain, "text/markdown": markdown },
    metadata: {},
  };
}

/** Rows of [session 0, line, source], as the request's access type asks. */
function historyOf(content: Content, session: Session): [number, number, unknown][] {
  const row = ([line, source]: [number, string]): [number, number, unknown] => [
    0,
    line,
    content.output === true ? [source, null] : source,
  ];
  let entries = [...session.history];
  if (content.hist_access_type === "range") {
    const start = Number(content.start ?? 1);
    const stop = Number(content.stop ?? Number.POSITIVE_INFINITY);
    return entries.filter(([line]) => line >= start && line < stop).map(row);
  }
  if (content.hist_access_type === "search") {
    const glob = textOf(content.pattern ?? "*").replace(/[.+^${}()|[\]\\]/g, "\\$&");
    const pattern = new RegExp(`^${glob.replace(/\*/g, "[\\s\\S]*").replace(/\?/g, "[\\s\\S]")}$`);
    entries = entries.filter(([, source]) => pattern.test(source));
    if (content.unique === true)
      entries = [
        ...new Map(entries.map(([line, source]) => [source, [line, source] as [number, string]])).values(),
      ];
  }
  const n = Number(content.n ?? entries.length);
  return entries.slice(Math.max(0, entries.length - n)).map(row);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function cursorOf(content: Content, code: string): number {
  return typeof content.cursor_pos === "number" ? content.cursor_pos : [...code].length;
}
