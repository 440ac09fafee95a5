/**
 * The thread of the sockets: heartbeat, control and everything that must be answered while user code runs; the rest goes to the
 * main thread. All sends of a socket go through one awaited queue, since ZeroMQ drops what is sent faster than it takes.
 */
import { readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { Router, XPublisher } from "zeromq";
import { interruptChildren } from "./children.js";
import { DescriptorReader } from "./descriptors.js";
import { InputState, type Request, type SocketsData, type ToMain, type ToSockets } from "./link.js";
import { type Message, type Outgoing, PROTOCOL_VERSION, Wire } from "./wire.js";

const { connection, descriptors, arrived, input, answers, stopping } = workerData as SocketsData;
const wire = new Wire(connection.key, connection.signature_scheme);
const arrivals = new Int32Array(arrived);
const inputState = new Int32Array(input);
const stoppingNumber = new Int32Array(stopping);
const main = parentPort;
if (!main) throw new Error("this file runs as a worker thread");

const shell = new Router();
const control = new Router();
const stdin = new Router();
// No high-water mark: a cell that prints faster than a front end reads must lose nothing.
const iopub = new XPublisher({ sendHighWaterMark: 0, sendTimeout: 0 });
iopub.verbosity = "allSubs";
// No Reply: that one stays stuck where the asker has gone before its answer.
const heartbeat = new Router();
const sockets = [shell, control, stdin, iopub, heartbeat];

/** Sends one after the other, in the order of the calls. */
class Outbox {
  readonly #socket: Router | XPublisher;
  #last: Promise<void> = Promise.resolve();

  constructor(socket: Router | XPublisher) {
    this.#socket = socket;
  }

  send(message: Outgoing): void {
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
const stdinOut = new Outbox(stdin);
const iopubOut = new Outbox(iopub);

/** To the server's log: process.stderr of a thread goes through the main thread's, where the session would show it in a cell. */
function complain(error: unknown): void {
  note(`p2plab kernel: ${error instanceof Error ? error.message : String(error)}\n`);
}

function note(text: string): void {
  try {
    writeSync(descriptors.log, text);
  } catch {
    // Nobody reads the log, or it is full.
  }
}

function address(port: number): string {
  return connection.transport === "ipc"
    ? `ipc://${connection.ip}-${port}`
    : `${connection.transport}://${connection.ip}:${port}`;
}

function publish(
  type: string,
  content: Outgoing["content"],
  parent: Message["parent"],
  more: { metadata?: Record<string, unknown>; buffers?: Uint8Array[] } = {},
): void {
  // The topic comes first: a front end may subscribe to some kinds of messages only.
  const identities = [Buffer.from(`kernel.${wire.session}.${type}`)];
  iopubOut.send(wire.message(type, content, parent, { identities, ...more }));
}

/** Tells each new subscriber that it is heard from now on. */
async function welcome(): Promise<void> {
  for await (const [frame] of iopub) {
    if (frame?.[0] !== 1) continue;
    const topic = frame.subarray(1);
    const message = wire.message(
      "iopub_welcome",
      { subscription: topic.toString() },
      {},
      { identities: [topic] },
    );
    iopubOut.send(message);
  }
}

/** Answers a request in this thread, with the busy and idle that belong to it. */
function answer(out: Outbox, request: Message, type: string, content: Record<string, unknown>): void {
  publish("status", { execution_state: "busy" }, request.header);
  out.send(wire.message(type, content, request.header, { identities: request.identities }));
  publish("status", { execution_state: "idle" }, request.header);
}

// Node.js cannot be stopped there without ending the process: V8's termination aborts it where async hooks are in use.
const DOES_NOT_STOP = `\nThe cell was interrupted but does not stop: after an await, and in a callback, a package's loop and a native call
can only be ended with the kernel. Wait, or restart it.\n`;
const PATIENCE_MS = 2000;
/** A main thread that runs no user code hears within this. */
const HEARS_MS = 30;
/** One that does not hear for so long waits for a child, as `execSync` does, if the signal can help at all. */
const WAITS_MS = 100;
/** A cell waits for what the reader types. */
let asking = false;
let pings = 0;
let pongs = 0;
/** Header of the execute request that shows its output now, or did last. */
let running: Message["parent"] | null = null;
let ending = false;

const FORWARDED = new Set([
  "execute_request",
  "complete_request",
  "inspect_request",
  "is_complete_request",
  "history_request",
  "comm_info_request",
  "comm_open",
  "comm_msg",
  "comm_close",
]);

async function receive(socket: Router, take: (message: Message) => void | Promise<void>): Promise<void> {
  for await (const frames of socket) {
    const message = wire.decode(frames);
    if (!message) {
      complain("a message was ignored: it is not signed with this kernel's key, or malformed");
      continue;
    }
    try {
      await take(message);
    } catch (error) {
      complain(error);
    }
  }
}

async function dispatch(message: Message, channel: Request["channel"]): Promise<void> {
  const type = message.header.msg_type;
  const out = channel === "shell" ? shellOut : controlOut;
  if (FORWARDED.has(type)) {
    const arrival = type === "execute_request" ? Atomics.add(arrivals, 0, 1) + 1 : 0;
    const { identities, header, metadata, content, buffers } = message;
    const request = { channel, identities, header, metadata, content, buffers, arrival };
    return tell({ kind: "request", request });
  }
  switch (type) {
    case "kernel_info_request":
      return answer(out, message, "kernel_info_reply", kernelInfo());
    case "connect_request": {
      const { shell_port: shell, iopub_port: iopub, stdin_port: stdin, hb_port: hb } = connection;
      return answer(out, message, "connect_reply", {
        status: "ok",
        shell,
        iopub,
        stdin,
        hb,
        control: connection.control_port,
      });
    }
    case "interrupt_request":
      interrupt();
      return answer(out, message, "interrupt_reply", { status: "ok" });
    case "shutdown_request":
      answer(out, message, "shutdown_reply", { status: "ok", restart: message.content.restart === true });
      return await shutDown();
    default:
      return refuse(message, out);
  }
}

/** A request that this kernel has no answer to, such as a debugger's, is told so; anything else is noted in the log. */
function refuse(message: Message, out: Outbox): void {
  const type = message.header.msg_type;
  const request = /^([a-z_]{1,60})_request$/.exec(type);
  if (!request) return complain(`a message of type ${JSON.stringify(type).slice(0, 60)} was ignored`);
  const evalue = `this kernel does not answer ${type}`;
  answer(out, message, `${request[1]}_reply`, {
    status: "error",
    ename: "NotSupported",
    evalue,
    traceback: [evalue],
  });
}

/** The reader's answer to what a cell asked: the cell's thread sleeps until it is there. */
function takeInput({ header, content }: Message): void {
  if (header.msg_type !== "input_reply") return;
  asking = false;
  answers.postMessage(typeof content.value === "string" ? content.value : "");
  Atomics.store(inputState, 0, InputState.answered);
  Atomics.notify(inputState, 0);
}

/**
 * A loop in a cell's code stops by itself; the main thread ends what the cell awaits. Where it does not hear, it is woken from a
 * question, or else by SIGINT, which breaks what runs, and then ends the children that it waits for: only then, since the signal's end can hit the kernel's own code when the cell is over at that moment.
 */
function interrupt(): void {
  Atomics.or(stoppingNumber, 0, 1);
  tell({ kind: "interrupt" });
  const number = ++pings;
  tell({ kind: "ping", number });
  if (asking) {
    asking = false;
    Atomics.store(inputState, 0, InputState.interrupted);
    Atomics.notify(inputState, 0);
  }
  // On Windows the signal would end the process.
  else if (process.platform !== "win32") {
    setTimeout(() => {
      if (pongs < number) process.kill(process.pid, "SIGINT");
    }, HEARS_MS).unref();
    const told = new Set<number>();
    const looks = setInterval(() => {
      if (pongs < number) interruptChildren(told);
      else clearInterval(looks);
    }, WAITS_MS).unref();
    setTimeout(() => clearInterval(looks), PATIENCE_MS).unref();
  }
  setTimeout(() => {
    if (pongs < number && running) publish("stream", { name: "stderr", text: DOES_NOT_STOP }, running);
  }, PATIENCE_MS).unref();
}

/** What native code, or a child, wrote to the process's own streams goes to the cell that runs or ran last. */
const readers = (["stdout", "stderr"] as const).flatMap((name) => {
  const descriptor = descriptors[name];
  const take = (text: string) => {
    if (running) publish("stream", { name, text }, running);
    else note(text);
  };
  return descriptor === null ? [] : [new DescriptorReader(descriptor, take)];
});

function tell(message: ToMain): void {
  main?.postMessage(message);
}

async function shutDown(): Promise<void> {
  if (ending) return;
  ending = true;
  await Promise.all([shellOut.flushed(), controlOut.flushed(), iopubOut.flushed()]);
  // Time for the last bytes to leave; closing at once would drop them.
  await new Promise((resolve) => setTimeout(resolve, 50));
  for (const socket of sockets) socket.close();
  tell({ kind: "exit" });
  // User code may hold the main thread for ever.
  setTimeout(() => process.kill(process.pid, "SIGKILL"), 1000).unref();
}

async function beat(): Promise<void> {
  for await (const frames of heartbeat) await heartbeat.send(frames).catch(complain);
}

function kernelInfo(): Record<string, unknown> {
  const require = createRequire(import.meta.url);
  const own = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const { version } = require("typescript/package.json") as { version: string };
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
  switch (message.kind) {
    case "publish":
      // Before a cell begins, and before it is said to be over, all that was written belongs to the one before, or to it.
      if (message.type === "execute_input" || message.type === "status") {
        for (const reader of readers) reader.drain();
      }
      if (message.type === "execute_input") running = message.parent;
      return publish(message.type, message.json, message.parent, message);
    case "reply": {
      const { identities, channel } = message;
      const out = channel === "control" ? controlOut : shellOut;
      return out.send(wire.message(message.type, message.json, message.parent, { identities }));
    }
    case "ask": {
      const { identities } = message;
      asking = true;
      return stdinOut.send(wire.message("input_request", message.json, message.parent, { identities }));
    }
    case "pong":
      pongs = message.number;
  }
});

/** Each look wakes the thread, which is felt in what else is measured on the machine. */
const LOOKS_MS = 5000;

/** A server that was killed can tell nobody to shut down: the kernel that it started ends with it. */
function endWithParent(): void {
  const parent = process.ppid;
  if (Number(process.env.JPY_PARENT_PID) !== parent) return;
  setInterval(() => {
    if (process.ppid !== parent) void shutDown();
  }, LOOKS_MS);
}

async function start(): Promise<void> {
  const wanted = [
    [shell, connection.shell_port],
    [control, connection.control_port],
    [stdin, connection.stdin_port],
    [iopub, connection.iopub_port],
    [heartbeat, connection.hb_port],
  ] as const;
  // Each is waited for: a socket that is being bound cannot be closed.
  const bound = await Promise.allSettled(wanted.map(([socket, port]) => socket.bind(address(port))));
  for (const [i, one] of bound.entries()) {
    const [, port] = wanted[i] as (typeof wanted)[number];
    if (one.status === "rejected") throw new Error(`${address(port)}: ${(one.reason as Error).message}`);
  }
  publish("status", { execution_state: "starting" }, {});
  const loops = [
    receive(shell, (message) => dispatch(message, "shell")),
    receive(control, (message) => dispatch(message, "control")),
    receive(stdin, takeInput),
    welcome(),
    beat(),
  ];
  for (const loop of loops) loop.catch(complain);
  endWithParent();
}

// What cannot be bound ends the kernel with its error; with sockets that are still open, ZeroMQ's addon would end the process first.
start().catch((error: unknown) => {
  for (const socket of sockets) socket.close();
  setTimeout(() => {
    throw error;
  }, 100);
});
