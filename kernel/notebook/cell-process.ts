/**
 * The process in which one notebook's cells run: a session, driven over IPC. A crash of user code or of a driver ends this
 * process alone.
 */
import { lab, messageOf } from "../lab/index.js";
import { type CellOutput, type ExecuteResult, Session } from "../session/index.js";

/** To the cell process. */
export type Request =
  | { type: "open"; machine: string | null; record: boolean }
  | { type: "execute"; code: string }
  | { type: "save-recording"; file: string }
  | { type: "close" };

/** From the cell process. */
export type Reply =
  | { type: "ready" }
  | { type: "failed"; message: string }
  | { type: "output"; output: CellOutput }
  | { type: "done"; result: ExecuteResult; opened: readonly lab.Provenance[] }
  | { type: "saved"; programs: number };

let session: Session | null = null;

function send(reply: Reply): void {
  process.send?.(reply);
}

async function handle(request: Request): Promise<void> {
  switch (request.type) {
    case "open":
      if (request.record) lab.startRecording();
      session = await Session.create(request.machine ? { machine: request.machine } : {});
      return send({ type: "ready" });
    case "execute": {
      if (!session) throw new Error("no session is open");
      const result = await session.execute(request.code, {
        onOutput: (output) => send({ type: "output", output }),
      });
      return send({ type: "done", result, opened: lab.opened() });
    }
    case "save-recording":
      return send({ type: "saved", programs: lab.saveRecording(request.file) });
    case "close":
      session?.close();
      process.disconnect();
      process.exit(0);
  }
}

process.on("message", (request: Request) => {
  handle(request).catch((error: unknown) =>
    send({ type: "failed", message: error instanceof Error ? String(error) : messageOf(error) }),
  );
});
// The parent is gone: so is the reason to run.
process.on("disconnect", () => process.exit(0));
// A Stop is for the session to handle, not to die of.
process.on("SIGINT", () => session?.interrupt());
