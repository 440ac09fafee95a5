// Writes a C++ header that holds the PTX as a string: node embed-ptx.mjs kernels.ptx kernels_ptx.h
import { readFileSync, writeFileSync } from "node:fs";

const [, , input, output] = process.argv;
const ptx = readFileSync(input, "utf8");
const delimiter = "ptx";
if (ptx.includes(`)${delimiter}"`)) throw new Error(`${input} holds the delimiter )${delimiter}"`);
writeFileSync(
  output,
  `// Made from kernels.ptx by embed-ptx.mjs.\n#pragma once\n\nnamespace p2p {\n\n` +
    `inline constexpr char kKernelsPtx[] = R"${delimiter}(${ptx})${delimiter}";\n\n}  // namespace p2p\n`,
);
