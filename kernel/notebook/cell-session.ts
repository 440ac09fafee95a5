/** The session of one notebook's cells, driven over IPC. */
import { Worker } from "node:worker_threads";
import { type ErrorCode, entered, lab, messageOf, P2pError } from "../lab/index.js";
import {
  type Activity,
  type CellOutput,
  type ExecuteResult,
  machineFacts,
  Session,
} from "../session/index.js";

/** To the cell process. */
export type Request =
  | { type: "open"; machine: string | null; record: boolean }
  | { type: "execute"; code: string }
  | { type: "tell-activity" }
  | { type: "save-recording"; file: string };

/** From the cell process. */
export type Reply =
  | { type: "ready" }
  | { type: "failed"; message: string; code: ErrorCode | null; hint: string | null }
  | { type: "output"; output: CellOutput }
  | { type: "done"; result: ExecuteResult; activity: Activity }
  | { type: "activity"; activity: Activity }
  | { type: "saved"; programs: number };

let session: Session | null = null;
/** Machines that were opened before the first cell. */
let openedBefore = 0;

let sendToRunner: typeof process.send;
const exit = process.exit.bind(process);

function send(reply: Reply): void {
  // To a runner that is gone nothing can be said: an error told to the cell would be the next that is not heard.
  sendToRunner?.(reply, undefined, undefined, (error) => {
    if (error && !process.connected) exit(0);
  });
}

const LOOK_MS = 1000;

/** A runner that was killed cannot end this process, and a cell in a loop hears nothing: a thread looks after whom it belongs to. */
function endWithRunner(): void {
  const whom = process.platform === "win32" ? process.pid : -process.pid;
  const look = `setInterval(() => { if (process.ppid !== ${process.ppid}) process.kill(${whom}, "SIGKILL"); }, ${LOOK_MS});`;
  new Worker(look, { eval: true }).unref();
}

/** A machine that cannot be opened is told before any cell runs, even when none would have opened it. */
async function tryMachine(spec: string | undefined): Promise<void> {
  if (!spec) return;
  const machine = await lab.open(spec);
  await machine.close();
  openedBefore = lab.opened().length;
}

/** What the cells did so far. Their programs are told once, at the end: hashing them takes its time. */
function activity(): Omit<Activity, "programs"> {
  return {
    machines: lab.opened().slice(openedBefore),
    opened: lab.openedMachines().slice(openedBefore).map(machineFacts),
    ledger: entered(),
  };
}

async function handle(request: Request): Promise<void> {
  switch (request.type) {
    case "open":
      await tryMachine(request.machine ?? process.env.P2PLAB_MACHINE);
      if (request.record) lab.startRecording();
      session = await Session.create(request.machine ? { machine: request.machine } : {});
      return send({ type: "ready" });
    case "execute": {
      if (!session) throw new Error("no session is open");
      const result = await session.execute(request.code, {
        onOutput: (output) => send({ type: "output", output }),
      });
      return send({ type: "done", result, activity: { ...activity(), programs: null } });
    }
    case "tell-activity":
      return send({ type: "activity", activity: { ...activity(), programs: lab.ranPrograms() } });
    case "save-recording":
      return send({ type: "saved", programs: lab.saveRecording(request.file) });
  }
}

/** Takes requests from the process that started this one, until that one is gone. */
export function serveCells(): void {
  endWithRunner();
  // The way to the runner is the kernel's alone: what a cell sent on it would be taken for a reply.
  sendToRunner = process.send?.bind(process);
  process.send = undefined as never;
  process.disconnect = undefined as never;
  process.on("message", (request: Request) => {
    handle(request).catch((error: unknown) => {
      const stated = error instanceof P2pError ? error : null;
      send({
        type: "failed",
        message: messageOf(error),
        code: stated?.code ?? null,
        hint: stated?.hint ?? null,
      });
    });
  });
  // The parent has finished or is gone: so is the reason to run.
  process.on("disconnect", () => {
    // A cell may say so without its being true.
    if (!process.connected) exit(0);
  });
}
