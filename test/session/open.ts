/** A session in an empty folder, where nothing may come from a node_modules of the notebook's own, and what tests ask of it. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type CellError, type CellOutput, type ExecuteResult, Session } from "../../kernel/session/index.js";

export interface Ran {
  readonly result: ExecuteResult;
  /** Grows on while timers of the cell write. */
  readonly outputs: CellOutput[];
}

export interface TestSession {
  readonly session: Session;
  readonly folder: string;
  run(code: string, options?: { silent?: boolean; storeHistory?: boolean }): Promise<Ran>;
  /** The bundle of the cell's last value. */
  resultOf(code: string): Promise<Record<string, unknown>>;
  /** Its plain text. */
  textOf(code: string): Promise<unknown>;
  errorOf(code: string): Promise<CellError>;
  /** Ends the session and removes its folder. */
  close(): void;
}

export async function openSession(): Promise<TestSession> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "p2plab-session-")));
  const session = await Session.create({ cwd: folder });
  const run: TestSession["run"] = async (code, options = {}) => {
    const outputs: CellOutput[] = [];
    const result = await session.execute(code, { ...options, onOutput: (output) => outputs.push(output) });
    return { result, outputs };
  };
  const resultOf = async (code: string) => {
    const { outputs } = await run(code);
    const shown = outputs.find((output) => output.type === "execute_result");
    if (shown?.type !== "execute_result") throw new Error(`no value: ${JSON.stringify(outputs)}`);
    return shown.data;
  };
  const errorOf = async (code: string) => {
    const { result, outputs } = await run(code);
    assert.is(result.status, "error", code);
    const last = outputs.at(-1);
    if (last?.type !== "error") throw new Error(`no error output: ${JSON.stringify(outputs)}`);
    return last;
  };
  const textOf = async (code: string) => (await resultOf(code))["text/plain"];
  const close = () => {
    session.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { session, folder, run, resultOf, textOf, errorOf, close };
}

/** Text that a cell wrote to a stream. */
export function written({ outputs }: Ran, name: "stdout" | "stderr" = "stdout"): string {
  return outputs
    .map((output) => (output.type === "stream" && output.name === name ? output.text : ""))
    .join("");
}
