/**
 * What a start-up snapshot of the kernel holds: TypeScript, its library and the types of the kernel's packages, parsed and bound; and
 * the kernel's own code, compiled and not run. Runs once, bundled into one file, in the process whose memory Node.js writes down.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startupSnapshot } from "node:v8";
import vm from "node:vm";
import { Compiler } from "./compiler.js";
import { importsText, PRELOAD } from "./preload.js";
import { rewriteCell } from "./rewrite.js";
import { documents, HELD, tsc } from "./typescript.js";

/** Cells such as readers write: what they need of TypeScript is compiled when the snapshot is made. */
const CELLS = [
  "1 + 1",
  "const a = [1, 2, 3].map((x) => x * 2);\nfor (const x of a) console.log(x);",
  "let text = `a b`;\nfunction f(x: number): number { return x; }\nclass C { y = f(1); }\nawait Promise.resolve(new C().y)",
  "interface Point { x: number; y?: string }\nconst { x, ...rest }: Point = { x: 1 };\nif (x) { rest; } else throw new Error()",
  "aq.table({ a: [1] }).derive({ b: (d: any) => d.a })",
  "lab.sizes",
];

const folder = join(tmpdir(), "p2plab-snapshot");
const earlier = importsText(PRELOAD);
const compiler = new Compiler(folder);
for (const cell of CELLS) compiler.compile(earlier, cell, rewriteCell);
// A completion would make a collator of strings, which Node.js cannot write down.
Object.assign(globalThis, { [HELD]: { tsc, documents } });

const kernel = vm.compileFunction(readFileSync(process.env.P2PLAB_PACKED as string, "utf8"), ["require"], {
  filename: fileURLToPath(new URL("./packed-kernel.js", import.meta.url)),
}) as (require: NodeJS.Require) => void;

startupSnapshot.setDeserializeMainFunction(() => {
  // Children and threads begin as others do.
  const at = process.execArgv.indexOf("--snapshot-blob");
  if (at >= 0) process.execArgv.splice(at, 2);
  kernel(createRequire(import.meta.url));
});
