/**
 * The kernel's process: `node dist/kernel/jupyter/main.js CONNECTION_FILE`; with `--check` instead it only tries whether a cell runs.
 * Imports nothing of the library before the sockets run: they answer while TypeScript is loaded, and say why when the library
 * cannot be.
 */
import { readFileSync, rmSync, writeSync } from "node:fs";
import { MessageChannel } from "node:worker_threads";
import type { Session } from "../session/index.js";
import { packedPart } from "../session/packed-program.js";
import { wrongIn } from "./connection.js";
import { leadAway } from "./descriptors.js";
import type { Connection, SocketsData, ToMain, ToSockets } from "./link.js";
import { Reader } from "./reader.js";
import { Server } from "./server.js";
import { socketsThread } from "./sockets-thread.js";

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
  let connection: unknown;
  try {
    connection = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    fail(1, `cannot read the connection file ${file}: ${error instanceof Error ? error.message : error}`);
  }
  const wrong = wrongIn(connection);
  if (wrong !== null) fail(1, `the connection file ${file} ${wrong}`);
  return connection as Connection;
}

async function openSession(stopping?: SharedArrayBuffer): Promise<Session> {
  try {
    const { Session } = await (packedPart<typeof import("../session/index.js")>("session") ??
      import("../session/index.js"));
    return await Session.create(stopping ? { stopping } : {});
  } catch (error) {
    const why = error instanceof Error ? error : new Error(String(error));
    throw Object.assign(why, { hint: "Run npm run setup in the folder of p2plab, then restart the kernel." });
  }
}

/** Undoes what `start.sh` did for the sake of the start alone. */
function settleStart(): void {
  // Those of `start.sh`; children do not want them.
  if (process.env.GLIBC_TUNABLES === process.env.P2PLAB_START_TUNABLES) delete process.env.GLIBC_TUNABLES;
  delete process.env.P2PLAB_START_TUNABLES;
  const mark = process.env.P2PLAB_START_MARK;
  if (mark === undefined) return;
  delete process.env.P2PLAB_START_MARK;
  try {
    rmSync(mark, { force: true });
  } catch {
    // The folder is another's: the next start does without the snapshot.
  }
}

function serve(connection: Connection): void {
  const answers = new MessageChannel();
  const data: SocketsData = {
    connection,
    descriptors: leadAway(),
    arrived: new SharedArrayBuffer(4),
    input: new SharedArrayBuffer(4),
    stopping: new SharedArrayBuffer(4),
    answers: answers.port1,
  };
  log = data.descriptors.log;
  const sockets = socketsThread({ workerData: data, transferList: [answers.port1] });
  const tell = (message: ToSockets) => sockets.postMessage(message);
  sockets.on("error", (error) => fail(1, error.stack ?? error.message));
  const opened = new Promise<Session>((resolve, reject) => {
    sockets.once("online", () => setImmediate(() => openSession(data.stopping).then(resolve, reject)));
  });
  const reader = new Reader(new Int32Array(data.input), answers.port2, tell);
  const server = new Server(opened, new Int32Array(data.arrived), reader, tell);

  const interrupt = () => {
    opened.then(
      (session) => session.interrupt(),
      () => undefined,
    );
  };
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
}

/** Runs one cell that uses the library, without Jupyter. */
async function check(): Promise<void> {
  const { status, error } = await (await openSession()).execute("lab.sizes");
  if (status === "error") fail(1, error?.traceback.join("\n") ?? "a cell failed");
  exit(0);
}

settleStart();
if (process.argv[2] === "--check") check().catch((error: unknown) => fail(1, String(error)));
else serve(connectionOf(process.argv[2]));
