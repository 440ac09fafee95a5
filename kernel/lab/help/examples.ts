/** Experiments that most people want first, as cells that run as they stand on every machine. */
import { P2pError, shown } from "../errors.js";
import { escapeHtml, type MimeBundle, richDisplay } from "../rich.js";
import { type HelpOptions, type Lang, langOf } from "./lang.js";

interface Source {
  readonly name: string;
  readonly title: Readonly<Record<Lang, string>>;
  readonly code: string;
}

const SOURCES: readonly Source[] = [
  {
    name: "latency",
    title: { zh: "直达与经主机中转的延迟曲线", en: "Latency by size: straight against through the host" },
    code: `const machine = await lab.open();
const curve = await lab.sweep(machine, {
  from: 0, to: 1, bytes: lab.sizes("8 B", "64 MiB", { factor: 8 }), path: ["peer", "staged"],
});
display(lab.crossover(curve));
plot.latency(curve)`,
  },
  {
    name: "breakdown",
    title: { zh: "一次传输的时间花在哪里：四段拆解", en: "Where the time of a transfer goes: four parts" },
    code: `const machine = await lab.open();
const parts = await lab.breakdown(machine, { from: 0, to: 1, bytes: ["8 B", "64 MiB"] });
display(plot.breakdown(parts));
parts.select("path", "bytes", "launch_us", "setup_us", "link_us", "receiver_us", "closure_pct", "machine", "provenance", "date")`,
  },
  {
    name: "bandwidth",
    title: { zh: "带宽：单向与双向", en: "Bandwidth: one way and both ways" },
    code: `const machine = await lab.open();
const rates = await lab.sweep(machine, {
  from: 0, to: 1, bytes: ["1 MiB", "64 MiB"], metric: "bandwidth", direction: ["one-way", "both-ways"],
});
rates.select("direction", "bytes", "gbps", "n", "converged", "machine", "provenance", "date")`,
  },
  {
    name: "matrix",
    title: { zh: "所有GPU对的延迟矩阵", en: "Latency of every pair of GPUs" },
    code: `const machine = await lab.open();
const pairs = await lab.matrix(machine, { metric: "latency", bytes: "8 B" });
plot.matrix(pairs)`,
  },
  {
    name: "model",
    title: { zh: "α–β模型：固定开销、速率与n½", en: "The α–β model: fixed cost, rate and n½" },
    code: `const machine = await lab.open();
const curve = await lab.sweep(machine, { from: 0, to: 1, bytes: lab.sizes("8 B", "64 MiB", { factor: 4 }) });
display(lab.alphaBeta(curve));
plot.alphaBeta(curve)`,
  },
  {
    name: "sync",
    title: { zh: "主机怎样等待：五种同步方式", en: "How the host waits: five ways to synchronise" },
    code: `const machine = await lab.open();
const waits = await lab.sweep(machine, {
  from: 0, to: 1, bytes: "8 B", sync: ["spin", "yield", "block", "poll-event", "poll-flag"], failing: "keep",
});
waits.select("sync", "total_us", "p99_us", "n", "reason", "machine", "provenance", "date")`,
  },
  {
    name: "graph",
    title: { zh: "流提交与CUDA Graph：32次小拷贝", en: "Stream against CUDA graph: 32 small copies" },
    code: `const machine = await lab.open();
const submits = await lab.sweep(machine, {
  from: 0, to: 1, bytes: "256 KiB", chunk: "8 KiB", submit: ["stream", "graph"], failing: "keep",
});
submits.select("submit", "chunk_bytes", "total_us", "api_us", "n", "reason", "machine", "provenance", "date")`,
  },
  {
    name: "program",
    title: { zh: "自己的程序和它的时间线", en: "A program of your own and its timeline" },
    code: `const machine = await lab.open();
const program = lab.program()
  .buffer("src", { gpu: 0, bytes: "1 MiB" }).buffer("dst", { gpu: 1, bytes: "1 MiB" })
  .stream("s", { gpu: 0 }).copy("s", "src", "dst").sync("s", "spin");
const run = await machine.run(program, { trace: "full" });
plot.timeline(run)`,
  },
  {
    name: "distribution",
    title: { zh: "分布与尾延迟：中位数之外", en: "Distribution and tail latency: beyond the median" },
    code: `const machine = await lab.open();
const small = await machine.run(lab.transfer({ from: 0, to: 1, bytes: "8 B" }));
const large = await machine.run(lab.transfer({ from: 0, to: 1, bytes: "1 MiB" }));
plot.ecdf({ "8 B": small, "1 MiB": large })`,
  },
  {
    name: "claim",
    title: { zh: "先猜再测，把结论登记下来", en: "Guess, measure, and enter the claim" },
    code: `const machine = await lab.open();
const guess = lab.predict("my-8B", "20 us");
const row = await lab.sweep(machine, { from: 0, to: 1, bytes: "8 B" });
display(guess.against(row.get("total_us", 0), row));
lab.claim("my-small-fast", { says: "8 B takes 1 to 20 us", column: "total_us", between: [1, 20] }, row)`,
  },
];

/** A cell to begin with. */
export class Example {
  readonly name: string;
  readonly title: string;
  /** TypeScript for a cell of its own. */
  readonly code: string;

  constructor(name: string, title: string, code: string) {
    this.name = name;
    this.title = title;
    this.code = code;
  }

  toString(): string {
    return `// ${this.name}: ${this.title}\n${this.code}`;
  }

  [richDisplay](): MimeBundle {
    return {
      "text/html": `<p><b>${escapeHtml(this.title)}</b> <code>${escapeHtml(this.name)}</code></p><pre>${escapeHtml(this.code)}</pre>`,
      "text/plain": this.toString(),
    };
  }
}

/** Shows itself whole, so that a reader can copy from it. */
export class Examples extends Array<Example> {
  // Arrays made from this one by map and filter are plain.
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  override toString(): string {
    return this.join("\n\n");
  }

  [richDisplay](): MimeBundle {
    const html = this.map((example) => String(example[richDisplay]()["text/html"]));
    return { "text/html": html.join(""), "text/plain": this.toString() };
  }
}

/**
 * Ten cells for the most common experiments, each complete: `lab.examples()` shows all, `lab.examples("breakdown")` one,
 * and `lab.examples("breakdown").code` is its text.
 * @throws P2pError `usage` for a name that does not exist.
 */
export function examples(name?: undefined, options?: HelpOptions): Examples;
export function examples(name: string, options?: HelpOptions): Example;
export function examples(name?: string, options: HelpOptions = {}): Examples | Example {
  const lang = langOf(options, "lab.examples");
  const all = SOURCES.map((source) => new Example(source.name, source.title[lang], source.code));
  if (name === undefined) return Examples.from(all) as Examples;
  const found = all.find((example) => example.name === name);
  if (found) return found;
  throw new P2pError(
    "usage",
    `no example ${shown(name)}`,
    `Choose one of: ${SOURCES.map((source) => source.name).join(", ")}.`,
  );
}
