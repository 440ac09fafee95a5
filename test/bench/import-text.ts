/**
 * Writes a large made-up file in the layout of a tool's text output.
 *
 *     node import-text.js nvprof|nccl FILE
 */

import { once } from "node:events";
import { createWriteStream } from "node:fs";

export const TEXT_ROWS = 1_000_000;

const HEADS: Readonly<Record<string, string>> = {
  nvprof: [
    "==1== NVPROF is profiling process 1, command: ./synthetic",
    "==1== Profiling result:",
    '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","Device","Context","Stream","Name"',
    "s,us,,,,,,,,KB,B,MB,GB/s,,,,",
    "",
  ].join("\n"),
  nccl: "synthetic:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n",
};

/** Half copies, half kernels; half channels, half calls. */
const ROWS: Readonly<Record<string, (row: number) => string>> = {
  nvprof: (row) => {
    const start = (1 + row * 1e-6).toFixed(6);
    return row % 2 === 0
      ? `${start},125.${100 + (row % 900)},,,,,,,,,,15.258789,118.5,"Tesla SYNTHETIC (0)","1","7","[CUDA memcpy PtoP]"\n`
      : `${start},2.${100 + (row % 900)},12,1,1,256,1,1,32,0.5,0,,,"Tesla SYNTHETIC (0)","1","7","kernel_${row % 50}(float*, int)"\n`;
  },
  nccl: (row) => {
    const rank = row % 8;
    const prefix = `synthetic${rank}:${1000 + rank}:2000 [${rank}] NCCL INFO`;
    return row % 2 === 0
      ? `${prefix} Channel ${String(row % 24).padStart(2, "0")}/0 : ${rank}[${rank}] -> ${(rank + 1) % 8}[${(rank + 1) % 8}] via P2P/CUMEM/read\n`
      : `${prefix} AllReduce: opCount ${row.toString(16)} sendbuff 0x1 recvbuff 0x2 count ${row % 4096} datatype 7 op 0 root 0 comm 0x1 [nranks=8] stream 0x3\n`;
  },
};

async function write(kind: string, file: string): Promise<void> {
  const out = createWriteStream(file);
  const row = ROWS[kind];
  if (!row) throw new Error(`no kind ${kind}`);
  out.write(HEADS[kind]);
  for (let i = 0; i < TEXT_ROWS; i += 1000) {
    let text = "";
    for (let j = i; j < i + 1000; j++) text += row(j);
    if (!out.write(text)) await once(out, "drain");
  }
  out.end();
  await once(out, "finish");
}

const [, , kind, file] = process.argv;
if (kind !== undefined && file !== undefined && process.argv[1]?.endsWith("import-text.js"))
  await write(kind, file);
