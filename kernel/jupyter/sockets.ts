/**
 * The thread of the sockets: heartbeat, control and everything that must be answered while user code runs; the rest goes to the
 * main thread. All sends of a socket go through one awaited queue, since ZeroMQ drops what is sent faster than it takes.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { Publisher, Reply, Router } from "zeromq";
import type { SocketsData, ToMain, ToSockets } from "./link.js";
import { type Message, PROTOCOL_VERSION, Wire } from "./wire.js";

const { connection, arrived } = workerData as SocketsData;
const wire = new Wire(connection.key, connection.signature_scheme);
const arrivals = new Int32Array(arrived);
const main = parentPort;
if (!main) throw new Error("this file runs as a worker thread");

const shell = new Router();
const control = new Router();
const stdin = new Router();
// No high-water mark: a cell that prints faster than a front end reads must lose nothing.
const iopub = new Publisher({ sendHighWaterMark: 0, sendTimeout: 0 });
const heartbeat = new Reply();
const sockets = [shell, control, stdin, iopub, heartbeat];

/** Sends one after the other, in the order of the calls. */
class Outbox {
  readonly #socket: Router | Publisher;
  #last: Promise<void> = Promise.resolve();

  constructor(socket: Router | Publisher) {
    this.#socket = socket;
  }

  send(message: Message): void {
    const frames = wire.encode(message);
    this.#last = this.#last.then(() => this.#socket.send(frames)).catch(complain);
  }

  /** Resolves when all sent so far has left. */
  flushed(): Promise<void> {
    return this.#last;
  }
}

const shellOut = new Outbox(shell);
const controlOut = new Outbox(control);
const iopubOut = new Outbox(iopub);

/** Straight to the log of the server: a cell must not see it, and nobody may see more than that it happened. */
function complain(error: unknown): void {
  process.stderr.write(`p2plab kernel: ${error instanceof Error ? error.message : String(error)}\n`);
}

function address(port: number): string {
  return connection.transport === "ipc"
    ? `ipc://${connection.ip}-${port}`
    : `${connection.transport}://${connection.ip}:${port}`;
}

function publish(
  type: string,
  content: Record<string, unknown>,
  parent: Message["parent"],
  metadata = {},
): void {
  iopubOut.send(wire.message(type, content, parent, { metadata }));
}

/** Answers a request in this thread, with the busy and idle that belong to it. */
function answer(out: Outbox, request: Message, type: string, content: Record<string, unknown>): void {
  publish("status", { execution_state: "busy" }, request.header);
  out.send(wire.message(type, content, request.header, { identities: request.identities }));
  publish("status", { execution_state: "idle" }, request.header);
}

const FORWARDED = new Set([
  "execute_request",
  "complete_request",
  "inspect_request",
  "is_complete_request",
  "history_request",
]);

async function receive(socket: Router, out: Outbox): Promise<void> {
  for await (const frames of socket) {
    const message = wire.decode(frames);
    if (!message) {
      complain("a message was ignored: it is not signed with this kernel's key, or malformed");
      continue;
    }
    try {
      await dispatch(message, out);
    } catch (error) {
      complain(error);
    }
  }
}

async function dispatch(message: Message, out: Outbox): Promise<void> {
  const type = message.header.msg_type;
  if (FORWARDED.has(type)) {
    const arrival = type === "execute_request" ? Atomics.add(arrivals, 0, 1) + 1 : 0;
    const { identities, header, content } = message;
    return tell({ kind: "request", request: { identities, header, content, arrival } });
  }
  switch (type) {
    case "kernel_info_request":
      return answer(out, message, "kernel_info_reply", kernelInfo());
    case "comm_info_request":
      return answer(out, message, "comm_info_reply", { status: "ok", comms: {} });
    case "comm_open":
      // No comm target exists: by the protocol the opening is answered by closing.
      publish("status", { execution_state: "busy" }, message.header);
      publish("comm_close", { comm_id: message.content.comm_id ?? "", data: {} }, message.header);
      return publish("status", { execution_state: "idle" }, message.header);
    case "comm_msg":
    case "comm_close":
      publish("status", { execution_state: "busy" }, message.header);
      return publish("status", { execution_state: "idle" }, message.header);
    case "interrupt_request":
      // Breaks a loop in user code; otherwise the main thread's handler ends what the cell awaits.
      process.kill(process.pid, "SIGINT");
      return answer(out, message, "interrupt_reply", { status: "ok" });
    case "shutdown_request":
      answer(out, message, "shutdown_reply", { status: "ok", restart: message.content.restart === true });
      return await shutDown();
    default:
      complain(`a message of type ${JSON.stringify(type).slice(0, 60)} was ignored`);
  }
}

function tell(message: ToMain): void {
  main?.postMessage(message);
}

async function shutDown(): Promise<void> {
  await Promise.all([shellOut.flushed(), controlOut.flushed(), iopubOut.flushed()]);
  // Time for the last bytes to leave; closing at once would drop them.
  await new Promise((resolve) => setTimeout(resolve, 50));
  for (const socket of sockets) socket.close();
  tell({ kind: "exit" });
  // User code may hold the main thread for ever.
  setTimeout(() => process.kill(process.pid, "SIGKILL"), 1000).unref();
}

async function beat(): Promise<void> {
  for await (const frames of heartbeat) await heartbeat.send(frames);
}

function kernelInfo(): Record<string, unknown> {
  const require = createRequire(import.meta.url);
  const own = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const tslab = createRequire(require.resolve("tslab/package.json"));
  const { version } = tslab("@tslab/typescript-for-tslab/package.json") as { version: string };
  return {
    status: "ok",
    protocol_version: PROTOCOL_VERSION,
    implementation: "p2plab",
    implementation_version: own.version,
    language_info: {
      name: "typescript",
      version,
      mimetype: "application/typescript",
      file_extension: ".ts",
      pygments_lexer: "typescript",
      codemirror_mode: { name: "javascript", typescript: true },
      nbconvert_exporter: "script",
    },
    banner: `p2plab ${own.version}: GPU peer-to-peer transfers measured in TypeScript ${version}, Node.js ${process.versions.node}`,
    debugger: false,
    supported_features: [],
    help_links: [],
  };
}

main.on("message", (message: ToSockets) => {
  if (message.kind === "publish")
    return publish(message.type, message.content, message.parent, message.metadata);
  const { type, content, parent, identities } = message;
  shellOut.send(wire.message(type, content, parent, { identities }));
});

await shell.bind(address(connection.shell_port));
await control.bind(address(connection.control_port));
await stdin.bind(address(connection.stdin_port));
await iopub.bind(address(connection.iopub_port));
await heartbeat.bind(address(connection.hb_port));
publish("status", { execution_state: "starting" }, {});
for (const loop of [receive(shell, shellOut), receive(control, controlOut), beat()]) loop.catch(complain);
