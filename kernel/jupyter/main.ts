/** The kernel's process: `node dist/kernel/jupyter/main.js CONNECTION_FILE`. */
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { messageOf } from "../lab/index.js";
import { Session } from "../session/index.js";
import type { Connection, SocketsData, ToMain, ToSockets } from "./link.js";
import { Server } from "./server.js";

function connectionOf(file: string | undefined): Connection {
  if (file === undefined) {
    process.stderr.write("usage: main.js CONNECTION_FILE (Jupyter starts the kernel and writes the file)\n");
    process.exit(2);
  }
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Connection;
  } catch (error) {
    process.stderr.write(`p2plab kernel: cannot read the connection file ${file}: ${messageOf(error)}\n`);
    process.exit(1);
  }
}

const exit = process.exit.bind(process);
const data: SocketsData = { connection: connectionOf(process.argv[2]), arrived: new SharedArrayBuffer(4) };
// The sockets are bound and answer before TypeScript is loaded here, which takes a second or two.
const sockets = new Worker(new URL("./sockets.js", import.meta.url), { workerData: data });
sockets.on("error", (error) => {
  process.stderr.write(`p2plab kernel: ${error.stack}\n`);
  exit(1);
});
const opened = new Promise<Session>((resolve, reject) => {
  sockets.once("online", () => setImmediate(() => Session.create().then(resolve, reject)));
});
const server = new Server(opened, new Int32Array(data.arrived), (message: ToSockets) =>
  sockets.postMessage(message),
);
sockets.on("message", (message: ToMain) => {
  if (message.kind === "request") return server.handle(message.request);
  // The sockets are closed by now; user code's timers do not keep a kernel alive that was told to end.
  exit(0);
});
process.on("SIGINT", () => {
  opened.then(
    (session) => session.interrupt(),
    () => undefined,
  );
});
