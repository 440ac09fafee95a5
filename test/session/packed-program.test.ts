/** The one file of all code: when it is used, and what happens to one that does not fit. */
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";

type Module = typeof import("../../kernel/session/packed-program.js");

const packed = suite("one file");

/** A package of its own, with the module that looks for the file and what else a test puts there. */
const root = realpathSync(mkdtempSync(join(tmpdir(), "p2plab one file 汉字 ")));
const module = join(root, "dist/kernel/session/packed-program.js");
let at: Module;

function place(path: string, content: string | Buffer, ageS: number): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  const time = new Date(Date.now() - ageS * 1000);
  utimesSync(file, time, time);
}

function placeProgram(body = "exports.load = { command: async () => 7 };", header = at.packedHeader()): void {
  const code = header + body;
  place(at.PACKED_PROGRAM.code, code, 10);
  place(at.PACKED_PROGRAM.compiled, at.packedScript(code).createCachedData(), 10);
}

packed.before(async () => {
  mkdirSync(dirname(module), { recursive: true });
  cpSync(packagePath("dist/kernel/session/packed-program.js"), module);
  place("package.json", '{"type":"module"}', 20);
  place("dist/kernel/other.js", "", 20);
  utimesSync(module, new Date(0), new Date(0));
  at = (await import(pathToFileURL(module).href)) as Module;
});
packed.after(() => rmSync(root, { recursive: true, force: true }));

packed("is used where it is newer than the code, also without what V8 compiled of other code", async () => {
  assert.is(at.packedPart("command"), null, "there is none yet");
  placeProgram();
  assert.is(await at.packedPart("command"), 7);
  place(at.PACKED_PROGRAM.compiled, Buffer.from("damaged"), 10);
  assert.is(await at.packedPart("command"), 7);
});

packed("its code can require what the package can", async () => {
  placeProgram(`const { sep } = require("node:path"); exports.load = { command: async () => sep };`);
  assert.is(await at.packedPart("command"), sep);
});

packed("is not used where it does not fit", async () => {
  placeProgram(undefined, `// "/elsewhere/"\n`);
  assert.is(at.packedPart("command"), null, "of a package that was moved");
  placeProgram();
  place("dist/kernel/lab/newer.js", "", 0);
  assert.is(at.packedPart("command"), null, "older than a file of the code");
  rmSync(join(root, "dist/kernel/lab/newer.js"));
  place("node_modules/.package-lock.json", "{}", 0);
  assert.is(at.packedPart("command"), null, "older than the packages");
  place("node_modules/.package-lock.json", "{}", 20);
  process.env.P2PLAB_MODULES = "1";
  try {
    assert.is(at.packedPart("command"), null, "not asked for");
  } finally {
    delete process.env.P2PLAB_MODULES;
  }
  assert.is(await at.packedPart("command"), 7);
  rmSync(join(root, at.PACKED_PROGRAM.compiled));
  assert.is(at.packedPart("command"), null, "half of it is missing");
});

packed("what its code throws is told, not hidden by a second start from the modules", () => {
  placeProgram('throw new Error("a fault of the code");');
  assert.throws(() => at.packedPart("command"), /a fault of the code/);
});

packed.run();
