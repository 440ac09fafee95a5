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
  process.on("disconnect", () => process.exit(0));
  process.on("message", async (request: Record<string, unknown>) => {
    const { id } = request;
    try {
      if (request.do === "end") {
        await close();
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
