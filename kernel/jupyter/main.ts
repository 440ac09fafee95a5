/**
 * The kernel's process: `node dist/kernel/jupyter/main.js CONNECTION_FILE`. Imports nothing of the library before the sockets
 * run: they answer while TypeScript is loaded, and say why when the library cannot be.
 */
import { readFileSync, writeSync } from "node:fs";
import { MessageChannel, Worker } from "node:worker_threads";
import type { Session } from "../session/index.js";
import { leadAway } from "./descriptors.js";
import type { Connection, SocketsData, ToMain, ToSockets } from "./link.js";
import { Reader } from "./reader.js";
import { Server } from "./server.js";

// A session takes process.exit away from cells.
const exit = process.exit.bind(process);

// The server's log: file descriptor 2 until the streams are led away.
let log = 2;

function fail(code: number, text: string): never {
  writeSync(log, `p2plab kernel: ${text}\n`);
  return exit(code);
}

function connectionOf(file: string | undefined): Connection {
  if (file === undefined)
    fail(2, "usage: main.js CONNECTION_FILE (Jupyter writes the file and starts the kernel)");
  let connection: Connection;
  try {
    connection = JSON.parse(readFileSync(file, "utf8")) as Connection;
  } catch (error) {
    fail(1, `cannot read the connection file ${file}: ${error instanceof Error ? error.message : error}`);
  }
  const needed = [
    "shell_port",
    "control_port",
    "stdin_port",
    "iopub_port",
    "hb_port",
    "transport",
    "ip",
    "key",
  ];
  const missing = needed.filter((name) => !(name in connection));
  if (missing.length > 0) fail(1, `the connection file ${file} lacks ${missing.join(", ")}`);
  return connection;
}

async function openSession(): Promise<Session> {
  try {
    const { Session } = await import("../session/index.js");
    return await Session.create({ stopping: data.stopping });
  } catch (error) {
    const why = error instanceof Error ? error : new Error(String(error));
    throw Object.assign(why, { hint: "Run npm run setup in the folder of p2plab, then restart the kernel." });
  }
}

const answers = new MessageChannel();
const data: SocketsData = {
  connection: connectionOf(process.argv[2]),
  descriptors: leadAway(),
  arrived: new SharedArrayBuffer(4),
  input: new SharedArrayBuffer(4),
  stopping: new SharedArrayBuffer(4),
  answers: answers.port1,
};
log = data.descriptors.log;
const sockets = new Worker(new URL("./sockets.js", import.meta.url), {
  workerData: data,
  transferList: [answers.port1],
});
const tell = (message: ToSockets) => sockets.postMessage(message);
sockets.on("error", (error) => fail(1, error.stack ?? error.message));
const opened = new Promise<Session>((resolve, reject) => {
  sockets.once("online", () => setImmediate(() => openSession().then(resolve, reject)));
});
const reader = new Reader(new Int32Array(data.input), answers.port2, tell);
const server = new Server(opened, new Int32Array(data.arrived), reader, tell);

function interrupt(): void {
  opened.then(
    (session) => session.interrupt(),
    () => undefined,
  );
}

sockets.on("message", (message: ToMain) => {
  switch (message.kind) {
    case "request":
      return server.handle(message.request);
    case "interrupt":
      return interrupt();
    case "ping":
      return tell({ kind: "pong", number: message.number });
    case "exit":
      // The sockets are closed by now; user code's timers do not keep a kernel alive that was told to end.
      exit(0);
  }
});
process.on("SIGINT", interrupt);
