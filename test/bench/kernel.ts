/**
 * The Jupyter kernel beside plain tslab on the same machine, in turns. tslab preloads nothing and has no control thread, so rows
 * of things that it cannot do stand alone. Deno's kernel and Python's stand beside it, held to nothing, where they are installed.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { packagePath } from "../../kernel/lab/index.js";
import { median } from "../../kernel/lab/sampling.js";
import { type ClientOptions, KernelClient, PROGRAM } from "../jupyter/client.js";
import { fakeEnvironment, missing } from "../native/toolchain.js";
import { PEER_CELLS, type Peer, peerFigures, peers } from "./kernel-peers.js";
import { type Bar, type BenchRow, failed, measured, notRun, type Round, ratio } from "./row.js";
import type { BenchOptions, BenchResult } from "./run.js";

const ROUNDS = 7;
const LIMIT_MS = 60_000;
/** Stands for the connection file in a command. */
const FILE = "{connection_file}";
const require = createRequire(import.meta.url);

type Figures = Record<string, number>;

const INFO = "start: process to kernel_info reply";
const FIRST = "start: process to first 1+1";
/** Of a kernel that is started without its snapshot. */
const PLAIN_FIRST = "start without snapshot: process to first 1+1";

/** Figures that both kernels give in every round; the bar is ours over tslab's. */
const BESIDE: readonly { name: string; bar: Bar; unit: string }[] = [
  { name: INFO, bar: { max: 0.35 }, unit: "ms" },
  { name: FIRST, bar: { max: 0.5 }, unit: "ms" },
  { name: PLAIN_FIRST, bar: { max: 1 }, unit: "ms" },
  { name: "cell: expression", bar: { max: 0.8 }, unit: "ms" },
  { name: "cell: const", bar: { max: 0.8 }, unit: "ms" },
  { name: "cell: top-level await", bar: { max: 0.8 }, unit: "ms" },
  { name: "cell: 60 lines", bar: { max: 0.8 }, unit: "ms" },
  { name: "first use of aq beside first import of arquero", bar: { max: 0.25 }, unit: "ms" },
  { name: "completion after 50 cells", bar: { max: 1 }, unit: "ms" },
  { name: "inspection after 50 cells", bar: { max: 1 }, unit: "ms" },
];

const ALONE: readonly {
  name: string;
  bar: Bar | null;
  unit: string;
  of: (client: KernelClient) => Promise<number>;
  /** Why it cannot be measured here; null when it can. */
  needs?: () => string | null;
  env?: () => NodeJS.ProcessEnv;
}[] = [
  { name: "memory: RSS after preload", bar: { max: 250 }, unit: "MB", of: preloadedMb },
  { name: "memory: growth over 600 cells", bar: { max: 0.1 }, unit: "MB/cell", of: growthMb },
  { name: "idle CPU", bar: { max: 0.2 }, unit: "%", of: idlePercent },
  { name: "output: 100000 lines", bar: { max: 5000 }, unit: "ms", of: linesMs },
  {
    name: "busy: heartbeat",
    bar: { max: 5 },
    unit: "ms",
    of: (client) => whileBusy(client, async () => void (await client.beat("x"))),
  },
  {
    name: "busy: kernel_info on control",
    bar: { max: 50 },
    unit: "ms",
    of: (client) =>
      whileBusy(client, async () => void (await client.ask("control", "kernel_info_request", {}))),
  },
  {
    name: "interrupt: loop",
    bar: { max: 200 },
    unit: "ms",
    of: (client) => interruptMs(client, "console.log(1); while (true) {}"),
  },
  {
    name: "interrupt: await",
    bar: { max: 200 },
    unit: "ms",
    of: (client) => interruptMs(client, "console.log(1); await new Promise(() => {})"),
  },
  {
    name: "interrupt: loop after await",
    bar: { max: 200 },
    unit: "ms",
    of: (client) => interruptMs(client, "await null; console.log(1); while (true) {}"),
  },
  {
    name: "interrupt: loop in a callback",
    bar: { max: 200 },
    unit: "ms",
    of: (client) =>
      interruptMs(
        client,
        "await new Promise(() => setTimeout(() => { console.log(1); while (true) {} }, 1))",
      ),
  },
  {
    name: "interrupt: measurement on a recording with its twin",
    bar: { max: 1000 },
    unit: "ms",
    of: (client) => interruptMs(client, measuring("recorded:h200x2+twin")),
  },
  {
    name: "interrupt: measurement on the stand-in driver",
    bar: { max: 1000 },
    unit: "ms",
    of: (client) => interruptMs(client, measuring("cuda")),
    needs: () => missing("addon") ?? missing("compiler"),
    env: fakeEnvironment,
  },
  {
    name: "interrupt: measurement on a model",
    bar: { max: 1000 },
    unit: "ms",
    of: (client) => interruptMs(client, measuring("sim:hgx-h100-8")),
  },
];

/** A sweep of thousands of cells, which says so when it has begun: it plans them all, then measures. */
function measuring(machine: string): string {
  return `const machine = await lab.open(${JSON.stringify(machine)});
await lab.sweep(machine, { from: 0, to: 1, bytes: ["8 B"] });
console.log(1);
await lab.sweep(machine, { from: 0, to: 1, path: ["peer", "staged"], bytes: lab.sizes("8 B", "1 GiB", { factor: 1.01 }) });`;
}

export async function kernelBench({ rounds, wants, say }: BenchOptions): Promise<BenchResult> {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-bench-"));
  linkPackages(folder, ["arquero", "@types/node"]);
  const tslab = join(dirname(require.resolve("tslab/package.json")), "bin/tslab");
  const started = (...command: string[]) => ({
    cwd: folder,
    ready: false,
    command: (file: string) => command.map((part) => (part === FILE ? file : part)),
  });
  const sides = {
    ours: started("/bin/sh", packagePath("kernel/jupyter/start.sh"), FILE, process.execPath),
    plain: started(process.execPath, PROGRAM, FILE),
    theirs: started(process.execPath, tslab, "kernel", "--config-path", FILE),
  };
  const rows: BenchRow[] = [];
  const others = peers();
  try {
    const beside = BESIDE.filter(({ name }) => wants(name));
    const taken: { ours: Figures; theirs: Figures; peers: Map<Peer, Figures> }[] = [];
    const besidePeers = [INFO, FIRST, ...PEER_CELLS].filter((name) => wants(name));
    for (let round = 0; beside.length > 0 && round < (rounds ?? ROUNDS); round++) {
      say(`round ${round + 1} of ${rounds ?? ROUNDS}`);
      const cells = beside.some(({ name }) => !name.startsWith("start"));
      const ours = await figuresOf(sides.ours, "", cells);
      if (wants(PLAIN_FIRST)) ours[PLAIN_FIRST] = (await figuresOf(sides.plain, "", false))[FIRST] as number;
      const theirs = await theirFigures(sides.theirs, cells);
      const figures = new Map<Peer, Figures>();
      for (const peer of besidePeers.length > 0 ? others.found : [])
        figures.set(peer, await peerFigures(peer, folder, { info: INFO, first: FIRST }));
      taken.push({ ours, theirs: { ...theirs, [PLAIN_FIRST]: theirs[FIRST] as number }, peers: figures });
    }
    for (const { name, bar, unit } of beside) {
      const pairs = taken.flatMap(({ ours, theirs }): Round[] =>
        ours[name] === undefined || theirs[name] === undefined
          ? []
          : [{ ours: ours[name], theirs: theirs[name] }],
      );
      rows.push(ratio(name, pairs, bar, unit));
    }
    for (const peer of others.found)
      for (const name of besidePeers) {
        const pairs = taken.map(({ ours, peers }) => ({ ours: ours[name], theirs: peers.get(peer)?.[name] }));
        const both = pairs.filter(
          (pair): pair is Round => pair.ours !== undefined && pair.theirs !== undefined,
        );
        rows.push(ratio(`${name}, beside ${peer.name} ${peer.version}`, both, null, "ms"));
      }
    for (const { name, reason } of besidePeers.length > 0 ? others.missing : [])
      rows.push(notRun(`start and cells, beside ${name}`, "ratio", null, reason));
    const alone = ALONE.filter(({ name }) => wants(name));
    for (const { name, bar, unit, of, needs, env } of alone) {
      const reason = needs?.() ?? null;
      if (reason !== null) {
        rows.push(notRun(name, unit, bar, reason));
        continue;
      }
      const client = await KernelClient.start({
        ...sides.ours,
        ready: true,
        ...(env && { env: env() as Record<string, string> }),
      });
      try {
        rows.push(measured(name, await of(client), unit, bar));
      } catch (error) {
        rows.push(failed(name, unit, bar, error));
      } finally {
        await client.stop();
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const versions = (name: string) => (require(`${name}/package.json`) as { version: string }).version;
  return {
    machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown CPU"}`,
    rows,
    warnings: [],
    facts: { node: process.version, tslab: versions("tslab"), typescript: versions("typescript") },
  };
}

/** A folder of a notebook that has installed what tslab needs for the same cells. */
function linkPackages(folder: string, names: readonly string[]): void {
  for (const name of names) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(packagePath(join("node_modules", name)), link);
  }
}

const IMPORT = 'import * as aq from "arquero";\n';
const SIXTY_LINES = (round: number) =>
  Array.from({ length: 20 }, (_, i) =>
    [
      `function f${round}_${i}(x: number): number { return x * ${i} + 1; }`,
      `const v${round}_${i} = Array.from({ length: 3 }, (_, k) => f${round}_${i}(k));`,
      `const s${round}_${i} = v${round}_${i}.reduce((a, b) => a + b, 0);`,
    ].join("\n"),
  ).join("\n");

/** One life of a kernel: every figure once, those of cells as medians of several. */
async function figuresOf(options: ClientOptions, preamble: string, cells: boolean): Promise<Figures> {
  const began = performance.now();
  const client = await KernelClient.start(options);
  const reply = (id: string, type: string) =>
    client.wait((message) => message.parent === id && message.type === type, LIMIT_MS);
  const cell = async (code: string) => {
    const start = performance.now();
    const { content } = await reply(await client.sendCell(code), "execute_reply");
    if (content.status !== "ok") throw new Error(`the cell failed: ${code.slice(0, 80)}`);
    return performance.now() - start;
  };
  const several = async (code: (i: number) => string) => {
    const times: number[] = [];
    for (let i = 0; i < 7; i++) times.push(await cell(code(i)));
    return median(times);
  };
  const asked = async (type: string, code: string) => {
    const times: number[] = [];
    for (let i = 0; i < 7; i++) {
      const text = `${" ".repeat(i)}${code}`;
      const start = performance.now();
      const content = { code: text, cursor_pos: text.length, detail_level: 0 };
      await reply(await client.send("shell", type, content), type.replace("request", "reply"));
      times.push(performance.now() - start);
    }
    return median(times);
  };
  try {
    await reply(await client.send("shell", "kernel_info_request", {}), "kernel_info_reply");
    const info = performance.now() - began;
    await cell("1+1");
    const first = performance.now() - began;
    const start: Figures = { [INFO]: info, [FIRST]: first };
    if (!cells) return start;
    const figures: Figures = {
      ...start,
      "first use of aq beside first import of arquero": await cell(
        `${preamble}aq.table({ a: [1] }).numRows()`,
      ),
      "cell: expression": await several((i) => `40 + ${i}`),
      "cell: const": await several((i) => `const c${i} = { a: ${i} };`),
      "cell: top-level await": await several((i) => `await Promise.resolve(${i})`),
      "cell: 60 lines": await several(SIXTY_LINES),
    };
    for (let i = 0; i < 50; i++)
      await cell(`const d${i} = ${i}; let e${i} = "x"; function g${i}() { return d${i}; }`);
    figures["completion after 50 cells"] = await asked("complete_request", "aq.tab");
    figures["inspection after 50 cells"] = await asked("inspect_request", "aq.table");
    return figures;
  } finally {
    await client.stop();
  }
}

/** tslab loses a request that arrives while it binds its sockets: such a start is made again. */
async function theirFigures(options: ClientOptions, cells: boolean): Promise<Figures> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await figuresOf(options, IMPORT, cells);
    } catch (error) {
      if (attempt === 3 || !/blocked by a bind/.test(String(error))) throw error;
    }
  }
}

/** After a cell that uses the library, and after what the kernel reads when nothing runs. */
async function preloadedMb(client: KernelClient): Promise<number> {
  await client.execute("aq.table({ a: [1] }).numRows() + Object.keys(lab).length");
  await rest();
  return residentMb(client);
}

/** So long that the kernel has read what it reads when nothing runs. */
function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 6000));
}

/** Of Linux's /proc, in MB. */
async function residentMb(client: KernelClient): Promise<number> {
  const status = readFileSync(`/proc/${client.process.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1000;
}

async function growthMb(client: KernelClient): Promise<number> {
  // At rest, when the kernel has given back what cells left behind: otherwise the garbage of the last few counts as growth.
  const restingMb = async () => {
    await new Promise((resolve) => setTimeout(resolve, 4000));
    return await residentMb(client);
  };
  const run = async (code: string) => {
    if ((await client.execute(code)).reply.status !== "ok") throw new Error(`the cell failed: ${code}`);
  };
  // The first cells fill caches that do not grow any further.
  for (let i = 0; i < 50; i++) await run(`const warm${i} = ${i};`);
  const before = await restingMb();
  for (let i = 0; i < 300; i++) await run(`const again = ${i}; function same() { return again; }`);
  for (let i = 0; i < 300; i++) await run(`const name${i} = ${i}; let other${i} = [name${i}];`);
  return ((await restingMb()) - before) / 600;
}

/** Share of one core over ten seconds, from the clock ticks that the kernel counts for the process. */
async function idlePercent(client: KernelClient): Promise<number> {
  const ticks = () => {
    const fields = readFileSync(`/proc/${client.process.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return Number(fields[11]) + Number(fields[12]);
  };
  await client.execute("1");
  // Done by then: what the kernel puts off until it rests (reading Node.js's types), and the collections that V8 makes after the
  // last work, one some eight and one some sixteen seconds later, and none after that.
  await new Promise((resolve) => setTimeout(resolve, 25_000));
  const before = ticks();
  const began = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  // A tick is 10 ms.
  return ((ticks() - before) * 10 * 100) / (performance.now() - began);
}

async function linesMs(client: KernelClient): Promise<number> {
  const began = performance.now();
  const answer = await client.execute("for (let i = 0; i < 100000; i++) console.log('line ' + i)");
  const time = performance.now() - began;
  const lines = KernelClient.text(answer).split("\n").length - 1;
  if (lines !== 100_000) throw new Error(`${lines} of 100000 lines arrived`);
  return time;
}

async function whileBusy(client: KernelClient, work: () => Promise<void>): Promise<number> {
  await work();
  const cell = await client.sendCell(
    "console.log(1); const end = Date.now() + 3000; while (Date.now() < end) {}",
  );
  await client.wait((message) => message.parent === cell && message.type === "stream");
  const times: number[] = [];
  for (let i = 0; i < 9; i++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return median(times);
}

async function interruptMs(client: KernelClient, code: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 7; i++) {
    const cell = await client.sendCell(code);
    await client.wait((message) => message.parent === cell && message.type === "stream");
    const began = performance.now();
    await client.send("control", "interrupt_request", {});
    const { reply } = await client.answerOf(cell);
    times.push(performance.now() - began);
    if (reply.ename !== "Interrupted") throw new Error(`the cell ended with ${reply.ename ?? reply.status}`);
  }
  return median(times);
}
