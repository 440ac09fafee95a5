/** README.md names a test of ours for each protocol case of runtimed/kernel-testbed: the tests are there, and run. */
import { readFileSync } from "node:fs";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";

const cases = suite("protocol cases");
const text = (file: string) => readFileSync(packagePath(`test/jupyter/${file}`), "utf8");
const rows = [...text("README.md").matchAll(/^\| (\w+) \| (\w+) \| (.+) \|$/gm)]
  .map(([, name, file, title]) => ({ name, file, title }) as Record<"name" | "file" | "title", string>)
  .filter(({ name }) => name !== "case");

cases("all 27 are listed, each once", () => {
  assert.is(rows.length, 27);
  assert.is(new Set(rows.map(({ name }) => name)).size, 27);
});

for (const { name, file, title } of rows)
  cases(`${name}: its test is there`, () => {
    const source = text(`${file}.test.ts`);
    // A title stands behind the suite's name, on the same line or the next.
    const calls = [...source.matchAll(/^(\w+)\(\s*"([^"]+)",/gm)].filter((call) => call[2] === title);
    assert.is(calls.length, 1, title);
    const suiteName = calls[0]?.[1];
    assert.match(source, new RegExp(`const ${suiteName} = suite\\(`));
    assert.match(source, new RegExp(`^${suiteName}\\.run\\(\\);`, "m"));
  });

cases.run();
