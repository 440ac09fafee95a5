/** The child's side of {@link KillableChild}. */

export type Note = (note: unknown) => void;

/**
 * Answers requests one after the other until the parent goes or says `end`. What `answer` throws crosses by its fields.
 * @param close releases what the child holds, before it ends.
 */
export function serve(
  answer: (request: Readonly<Record<string, unknown>>, note: Note) => Promise<unknown>,
  close: () => Promise<void>,
): void {
  const send = (message: object) => {
    if (process.connected) process.send?.(message);
  };
  let ending = false;
  // A parent that is gone kills nobody, and an orderly exit would wait for work that a GPU may never finish.
  process.on("disconnect", () => (ending ? process.exit(0) : process.kill(process.pid, "SIGKILL")));
  process.on("message", async (request: Record<string, unknown>) => {
    const { id } = request;
    try {
      if (request.do === "end") {
        await close();
        ending = true;
        process.disconnect();
        return;
      }
      send({ id, result: await answer(request, (note) => send({ id, note })) });
    } catch (error) {
      send({ id, error: fieldsOf(error) });
    }
  });
}

function fieldsOf(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, hint, result, resultName, call } = error as Error & Record<string, unknown>;
  return { message: error.message, code, hint, result, resultName, call };
}
