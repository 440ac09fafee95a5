/** The tour of both READMEs, run as it stands: its cells print what the READMEs say they print. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { runNotebook } from "../../kernel/notebook/index.js";
import { inFolder, notebookOf, write } from "./temporary.js";

export const TIME_LIMIT_S = 240;

const tour = suite("tour of the READMEs");

/** Cells of the tour, and what is printed under each; null where a picture stands there. */
function tourOf(readme: string): { code: string; prints: string | null }[] {
  const section = /^## (?:Five minutes|五分钟上手)$([\s\S]*?)^## /m.exec(
    readFileSync(packagePath(readme), "utf8"),
  )?.[1];
  if (section === undefined) throw new Error(`${readme} has no tour`);
  const cells = [...section.matchAll(/```ts\n([\s\S]*?)```(?:\n```text\n([\s\S]*?)\n```)?/g)];
  return cells.map(([, code, prints]) => ({ code: (code as string).trimEnd(), prints: prints ?? null }));
}

/** Without comments, which are in the reader's language. */
const bare = (code: string) => code.replace(/ *\/\/.*$/gm, "");

tour("both languages run the same cells and print the same", async () => {
  const [english, chinese] = [tourOf("README.md"), tourOf("README.zh-CN.md")];
  const same = (cells: typeof english) => cells.map(({ code, prints }) => [bare(code), prints]);
  assert.equal(same(chinese), same(english));
  assert.ok(english.filter(({ prints }) => prints !== null).length >= 3);
});

tour("each cell runs on the recording with its twin, and prints what stands under it", async () => {
  const cells = tourOf("README.md");
  await inFolder(async (folder) => {
    const file = write(folder, "tour.ipynb", notebookOf(...cells.map(({ code }) => code)));
    const { notebook, failures } = await runNotebook(file, {
      out: join(folder, "out"),
      machine: "recorded:h200x2+twin",
    });
    assert.equal(failures, []);
    cells.forEach(({ prints, code }, index) => {
      const outputs = JSON.stringify(notebook.cells[index]?.outputs);
      for (const line of prints?.split("\n") ?? [])
        assert.ok(outputs.includes(JSON.stringify(line).slice(1, -1)), `${code}\nprints no: ${line}`);
      if (prints === null) assert.match(outputs, /vnd\.plotly\.v1\+json/, code);
    });
  });
});

tour.run();
