import { spawnSync } from "node:child_process";
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readBaseline } from "../../kernel/lab/analyze/gate/baseline.js";
import { P2pError } from "../../kernel/lab/errors.js";
import { readRegularFile, requireWritable, writeFileAtomic } from "../../kernel/lab/files.js";
import { readTopology } from "../../kernel/lab/topology/read.js";

const files = suite("files");
const folder = mkdtempSync(join(tmpdir(), "p2plab-files-"));

files("a file is written whole, its folders made, and nothing else is left", () => {
  const file = join(folder, "a/b/c.txt");
  writeFileAtomic(file, "one");
  writeFileAtomic(file, "two");
  assert.is(readFileSync(file, "utf8"), "two");
  assert.equal(readdirSync(join(folder, "a/b")), ["c.txt"]);
  // 255 bytes, which is all that a name may have.
  const longest = join(folder, "longest", "汉".repeat(85));
  writeFileAtomic(longest, "three");
  assert.is(readFileSync(longest, "utf8"), "three");
});

files("a place that cannot be written is a typed error at once: below a file, in /proc", () => {
  writeFileSync(join(folder, "plain"), "");
  for (const file of [join(folder, "plain/x"), "/proc/nowhere/x"]) {
    try {
      writeFileAtomic(file, "x");
      assert.unreachable(file);
    } catch (error) {
      assert.instance(error, P2pError, String(error));
      assert.is((error as P2pError).code, "output");
    }
  }
});

files("whether a file can be written is known before the work: what is there stays as it is", () => {
  const file = join(folder, "later/c.txt");
  requireWritable(file);
  assert.equal(readdirSync(join(folder, "later")), []);
  writeFileAtomic(file, "one");
  requireWritable(file);
  assert.is(readFileSync(file, "utf8"), "one");
  for (const [wrong, why] of [
    [join(folder, "later"), /it is a folder/],
    [join(folder, "plain/x"), /cannot write/],
    ["/proc/nowhere/x", /cannot write/],
  ] as const) {
    assert.throws(
      () => requireWritable(wrong),
      (error: unknown) => error instanceof P2pError && error.code === "output" && why.test(error.message),
    );
  }
  assert.equal(readdirSync(join(folder, "later")), ["c.txt"]);
});

files("a pipe is not replaced by a file, and a link still leads where it led", () => {
  const pipe = join(folder, "pipe");
  assert.is(spawnSync("mkfifo", [pipe]).status, 0);
  for (const write of [() => writeFileAtomic(pipe, "x"), () => requireWritable(pipe)]) {
    assert.throws(
      write,
      (error: unknown) => error instanceof P2pError && /not a regular file/.test(error.message),
    );
  }
  assert.ok(statSync(pipe).isFIFO());
  const [file, link] = [join(folder, "linked.txt"), join(folder, "link.txt")];
  writeFileSync(file, "one");
  symlinkSync(file, link);
  writeFileAtomic(link, "two");
  assert.is(readFileSync(file, "utf8"), "two");
  assert.ok(lstatSync(link).isSymbolicLink());
});

files("only a regular file of a stated size is read: a device would never end", () => {
  const file = join(folder, "read.txt");
  writeFileSync(file, "four");
  assert.is(readRegularFile(file).toString(), "four");
  assert.throws(() => readRegularFile(file, 3), /it has 4 bytes, more than 3/);
  for (const wrong of ["/dev/zero", folder])
    assert.throws(() => readRegularFile(wrong), /not a regular file/);
  assert.throws(
    () => readTopology("/dev/zero"),
    /cannot read the topology file .dev.zero: it is not a regular file/,
  );
  assert.throws(() => readBaseline("/dev/zero"), /cannot read .dev.zero: it is not a regular file/);
});

files("the folder of these tests goes", () => rmSync(folder, { recursive: true }));

files.run();
