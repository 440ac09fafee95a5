/** Other kernels that are measured beside ours where they are installed, for orientation: Deno's (npm `deno`) and Python's (ipykernel). */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { median } from "../../kernel/lab/sampling.js";
import { KernelClient } from "../jupyter/client.js";

const require = createRequire(import.meta.url);
const LIMIT_MS = 60_000;
const TIMES = 7;

/** Names of the figures, as the rows of ours have them, and the cell of each. */
export const PEER_CELLS = ["cell: expression", "cell: const", "cell: top-level await"] as const;
type PeerCell = (typeof PEER_CELLS)[number];

export interface Peer {
  readonly name: string;
  readonly version: string;
  command(file: string): string[];
  readonly cells: Readonly<Record<PeerCell, (i: number) => string>>;
}

/** Those that are installed, and why the others are not here. */
export function peers(): { found: Peer[]; missing: { name: string; reason: string }[] } {
  const all = [
    { name: "Deno", found: deno(), reason: "the npm package deno is not installed" },
    { name: "ipykernel", found: ipykernel(), reason: "python3 has no ipykernel" },
  ];
  return {
    found: all.flatMap(({ found }) => found ?? []),
    missing: all.filter(({ found }) => !found).map(({ name, reason }) => ({ name, reason })),
  };
}

function deno(): Peer | null {
  let folder: string;
  try {
    folder = dirname(require.resolve("deno/package.json"));
  } catch {
    return null;
  }
  const system = `${process.platform}-${process.arch}`;
  // Its install script puts the program into its own folder; without, it lies in the package of the system.
  const program = [".", `../@deno/${system}-glibc`, `../@deno/${system}`]
    .map((place) => join(folder, place, "deno"))
    .find((file) => existsSync(file));
  if (program === undefined) return null;
  const { version } = require("deno/package.json") as { version: string };
  return {
    name: "Deno",
    version,
    command: (file) => [program, "jupyter", "--kernel", "--conn", file],
    cells: {
      "cell: expression": (i) => `40 + ${i}`,
      "cell: const": (i) => `const c${i} = { a: ${i} };`,
      "cell: top-level await": (i) => `await Promise.resolve(${i})`,
    },
  };
}

function ipykernel(): Peer | null {
  const asked = spawnSync("python3", ["-c", "import ipykernel; print(ipykernel.__version__)"], {
    encoding: "utf8",
  });
  if (asked.status !== 0) return null;
  return {
    name: "ipykernel",
    version: asked.stdout.trim(),
    command: (file) => ["python3", "-m", "ipykernel_launcher", "-f", file],
    cells: {
      "cell: expression": (i) => `40 + ${i}`,
      "cell: const": (i) => `c${i} = { "a": ${i} }`,
      "cell: top-level await": (i) => `import asyncio; await asyncio.sleep(0, ${i})`,
    },
  };
}

/**
 * One life of such a kernel.
 * @param start names of the figures of its start: the first kernel_info reply, and the first cell.
 */
export async function peerFigures(
  { command, cells }: Peer,
  cwd: string,
  start: { info: string; first: string },
): Promise<Record<string, number>> {
  const began = performance.now();
  const client = await KernelClient.start({ cwd, command, ready: false });
  const reply = (id: string, type: string) =>
    client.wait((message) => message.parent === id && message.type === type, LIMIT_MS);
  const cell = async (code: string) => {
    const sent = performance.now();
    const { content } = await reply(await client.sendCell(code), "execute_reply");
    if (content.status !== "ok") throw new Error(`the cell failed: ${code}`);
    return performance.now() - sent;
  };
  try {
    await reply(await client.send("shell", "kernel_info_request", {}), "kernel_info_reply");
    const figures: Record<string, number> = { [start.info]: performance.now() - began };
    await cell("1+1");
    figures[start.first] = performance.now() - began;
    for (const name of PEER_CELLS) {
      const times: number[] = [];
      for (let i = 0; i < TIMES; i++) times.push(await cell(cells[name](i)));
      figures[name] = median(times);
    }
    return figures;
  } finally {
    await client.stop();
  }
}
