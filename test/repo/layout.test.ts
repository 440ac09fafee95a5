import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";

export const TIME_LIMIT_S = 240;

const layout = suite("layout");
const root = packagePath(".");

/** Tracked files, and new ones that are not ignored. */
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .trim()
  .split("\n")
  .filter((file) => existsSync(join(root, file)));
const sources = files.filter((file) => /^kernel\/.*\.ts$/.test(file));
const text = (file: string) => readFileSync(join(root, file), "utf8");

function importsOf(file: string): string[] {
  const found = text(file).matchAll(/(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g);
  return [...found].map((match) =>
    normalize(join(dirname(file), match[1] as string)).replace(/\.js$/, ".ts"),
  );
}

layout("the top level holds what the design names and nothing else", () => {
  const allowed = new Set([
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "binding.gyp",
    "native",
    "kernel",
    "notebooks",
    "test",
    "environment.yml",
    "README.md",
    "README.zh-CN.md",
    "LICENSE",
    "CHANGELOG.md",
    "biome.json",
  ]);
  const top = [...new Set(files.map((file) => file.split("/")[0] as string))];
  assert.equal(
    top.filter((name) => !allowed.has(name) && !name.startsWith(".")),
    [],
  );
});

layout("a folder imports only from those before it, and the library only through its one door", () => {
  const order = ["lab", "session", "jupyter", "notebook", "cli"];
  const folderOf = (file: string) => file.split("/")[1] as string;
  for (const file of sources) {
    for (const target of importsOf(file)) {
      const [from, to] = [folderOf(file), folderOf(target)];
      if (!target.startsWith("kernel/") || from === to) continue;
      assert.ok(order.indexOf(to) < order.indexOf(from), `${file} imports ${target}`);
      if (to === "lab") assert.is(target, "kernel/lab/index.ts", `${file} goes around the library's door`);
    }
  }
});

layout("no cycles", () => {
  const graph = new Map(
    sources.map((file) => [file, importsOf(file).filter((target) => sources.includes(target))]),
  );
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    assert.not(path.includes(file), `cycle: ${[...path.slice(path.indexOf(file)), file].join(" → ")}`);
    if (done.has(file)) return;
    for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of sources) visit(file, []);
});

layout("every import names a file that exists", () => {
  for (const file of sources)
    for (const target of importsOf(file)) assert.ok(sources.includes(target), `${file} → ${target}`);
});

layout("each folder of sources opens with a README of at most 40 lines", () => {
  for (const folder of [
    "native",
    "kernel/lab",
    "kernel/session",
    "kernel/jupyter",
    "kernel/notebook",
    "kernel/cli",
  ]) {
    assert.ok(files.includes(`${folder}/README.md`), `${folder} has no README.md`);
    const lines = text(`${folder}/README.md`).trimEnd().split("\n").length;
    assert.ok(lines <= 40, `${folder}/README.md has ${lines} lines`);
  }
});

layout("no source file passes 600 lines", () => {
  for (const file of files.filter((name) => /\.(ts|mjs|cc|h|cu)$/.test(name))) {
    const lines = text(file).split("\n").length;
    assert.ok(lines <= 600, `${file} has ${lines} lines`);
  }
});

layout("the formatter and the linter have nothing to say", () => {
  try {
    execFileSync(
      process.execPath,
      [
        join(root, "node_modules/@biomejs/biome/bin/biome"),
        "check",
        ".",
        "--error-on-warnings",
        "--colors=off",
      ],
      {
        cwd: root,
        encoding: "utf8",
        stdio: "pipe",
      },
    );
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    assert.unreachable(`npm run format mends most of this:\n${stderr}${stdout}`.slice(0, 3000));
  }
});

const noClangFormat =
  spawnSync("clang-format", ["--version"]).status === 0 ? null : "no clang-format on this machine";
const formatted = noClangFormat ? layout.skip : layout;
formatted(noClangFormat ? `skipped: ${noClangFormat}` : "clang-format has nothing to say", () => {
  const cxx = files.filter((file) => /\.(cc|h|cu|cuh)$/.test(file));
  assert.ok(cxx.length > 100);
  const { stderr } = spawnSync("clang-format", ["--dry-run", ...cxx], { cwd: root, encoding: "utf8" });
  assert.is(stderr.slice(0, 3000), "", "clang-format -i mends it");
});

layout("the compiler has nothing to say", () => {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  try {
    execFileSync(process.execPath, [compiler, "-p", "tsconfig.json", "--noEmit"], {
      cwd: root,
      encoding: "utf8",
      stdio: "pipe",
    });
  } catch (error) {
    assert.unreachable((error as { stdout: string }).stdout.slice(0, 3000));
  }
});

layout("both READMEs name the two commands, and every file they name exists", () => {
  for (const file of ["README.md", "README.zh-CN.md"]) {
    const content = text(file);
    assert.match(content, /npm start/);
    assert.match(content, /npm test/);
    for (const [, name] of content.matchAll(/`((?:kernel|native|notebooks)\/[\w./-]*\w|[A-Z]+\.md)`/g)) {
      assert.ok(existsSync(join(root, name as string)), `${file} names ${name}`);
    }
  }
});

layout.run();
