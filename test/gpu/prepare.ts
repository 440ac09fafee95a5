/**
 * Builds what the comparison compiles at its first use, for a GPU machine without a compiler or with little time:
 *
 *     node dist/test/gpu/prepare.js
 *
 * Prints the built files, a line each, relative to the clone: take them along with `dist` and `build/Release/p2p.node`.
 */
import { relative } from "node:path";
import { packagePath } from "../../kernel/lab/index.js";
import { coreProgram } from "../native/toolchain.js";
import { HARNESS } from "./compare/overhead.js";
import { buildLoops } from "./loops.js";

for (const file of [buildLoops(), coreProgram(...HARNESS)]) console.log(relative(packagePath("."), file));
