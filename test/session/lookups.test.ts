/** What TypeScript asks once, and what it asks again for each program. */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { remembered } from "../../kernel/session/lookups.js";

const lookups = suite("lookups");
const packages = realpathSync(packagePath("node_modules"));
const own = (path: string) => join(packages, path);

/** Answers from a set of files that may change, and counts the questions. */
function asked(...files: string[]) {
  const there = new Set(files);
  const questions: string[] = [];
  const exists = remembered((path) => {
    questions.push(path);
    return there.has(path);
  }, "/notebook");
  return { there, questions, exists };
}

lookups("what one of the kernel's own packages lacks is asked once", () => {
  const { questions, exists } = asked(own("@scope/there/package.json"));
  assert.ok(exists(own("@scope/there/package.json")));
  for (let i = 0; i < 3; i++) assert.not.ok(exists(own("@scope/there/types/package.json")));
  assert.is(questions.length, 2);
});

lookups("a package that is not there may be installed next", () => {
  const { there, exists } = asked();
  assert.not.ok(exists(own("later/package.json")));
  there.add(own("later/package.json"));
  assert.ok(exists(own("later/package.json")));
});

lookups("of other folders only what is there is remembered, and nothing of the notebook's own", () => {
  const { there, questions, exists } = asked("/notebook/a.ts", "/elsewhere/b.ts");
  for (let i = 0; i < 2; i++) assert.ok(exists("/notebook/a.ts") && exists("/elsewhere/b.ts"));
  assert.equal(questions, ["/notebook/a.ts", "/elsewhere/b.ts", "/notebook/a.ts"]);
  assert.not.ok(exists("/elsewhere/c.ts"));
  there.add("/elsewhere/c.ts");
  assert.ok(exists("/elsewhere/c.ts"));
});

lookups.run();
