/** tslab's executor, as its specs see it, on this kernel's cells. */

import { completionOf } from "../../../kernel/session/assistance.js";
import { Cells } from "../../../kernel/session/cells.js";

interface Console {
  log(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

export function createExecutor(folder: string, converters: { close(): void }, console: Console) {
  let cells = new Cells(folder);
  return {
    async execute(source: string): Promise<boolean> {
      const { ok, value, thrown, diagnostics } = await cells.execute(source, null);
      for (const { fileName, start, messageText } of diagnostics)
        console.error(
          "%s%d:%d - %s",
          fileName ? `${fileName} ` : "",
          start.line + 1,
          start.character + 1,
          messageText,
        );
      if (thrown) console.error(thrown.error);
      if (ok && value != null) console.log(value);
      return ok;
    },
    inspect: (source: string, position: number) => cells.inspect(source, position),
    complete(source: string, position: number) {
      const { entries, signatureOf } = cells.complete(source, position);
      const { candidates, ...rest } = completionOf(source, position, entries, signatureOf);
      return { ...rest, candidates: candidates.map(({ name }) => name) };
    },
    interrupt: () => cells.interrupt(),
    get locals(): Record<string, unknown> {
      return cells.scope.names;
    },
    reset(): void {
      cells.close();
      cells = new Cells(folder);
    },
    close(): void {
      cells.close();
      converters.close();
    },
  };
}
