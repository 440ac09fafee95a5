// Writes a C++ header that holds the PTX as a string, and prints its folder: node embed-ptx.mjs kernels.ptx kernels_ptx.h
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const [, , input, output] = process.argv;
const ptx = readFileSync(input, "utf8");
const delimiter = "ptx";
if (ptx.includes(`)${delimiter}"`)) throw new Error(`${input} holds the delimiter )${delimiter}"`);
mkdirSync(dirname(output), { recursive: true });
writeFileSync(
  output,
  `// Made from kernels.ptx by embed-ptx.mjs.\n#pragma once\n\nnamespace p2p {\n\n` +
    `inline constexpr char kKernelsPtx[] = R"${delimiter}(${ptx})${delimiter}";\n\n}  // namespace p2p\n`,
);
process.stdout.write(dirname(output));
