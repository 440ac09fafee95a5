/** The appendix of a report: on what the notebook ran, which programs, and how to run it again. */
import { hostname, userInfo } from "node:os";
import type { MachineFacts } from "../../session/index.js";
import type { Origin } from "../run-metadata.js";
import { originText } from "./origin.js";
import type { Section } from "./sections.js";

export interface AppendixOptions {
  /** Leaves out what tells this machine from another of its kind; default true. */
  readonly redact?: boolean | undefined;
  /** The cells ran just now, here. */
  readonly executedHere?: boolean | undefined;
  /** Name of the file that `p2plab run` takes. */
  readonly file: string;
}

export function appendixSections(origin: Origin, options: AppendixOptions): Section[] {
  const { run, cells } = origin;
  if (run === null) {
    return [
      {
        anchor: "p2plab-environment",
        title: ENVIRONMENT,
        heads: HEADS,
        rows: [["来源 origin", originText(origin)]],
      },
    ];
  }
  const environment = (run.environment ?? {}) as Partial<NonNullable<typeof run.environment>>;
  // Notebooks open their own machine first, and then those that they name themselves.
  const source: unknown = run.asked || run.machines[0]?.source;
  const rows: (readonly [string, unknown])[] = [
    ["p2plab", run.version],
    ["Node.js", environment.node],
    ["操作系统 operating system", environment.os],
    ["处理器 CPU", environment.cpu],
    ["内核 kernel", environment.kernel],
    ["执行时间 executed", run.executed],
    [
      "内容摘要 digest of cells and outputs",
      run.digest ?? "未知：单元是逐个执行的 not known: the cells were run one by one",
    ],
    ...(cells
      ? [
          [
            "留有记录的单元 cells with a record",
            `${cells.recorded} / ${cells.ran}；其余没有测量、没有登记，或者情况不明 the others neither measured nor entered anything, or it is not known`,
          ] as const,
          ["存疑 in doubt", cells.doubts.join("\n")] as const,
        ]
      : []),
    ...(options.redact === false && options.executedHere ? identity() : []),
    [
      "重做 run again",
      `npx p2plab run ${shellFile(options.file)}${source ? ` --machine ${shellWord(String(source))}` : ""}`,
    ],
  ];
  const machines = new Map(run.opened.map((machine) => [machine.source, machine]));
  return [
    { anchor: "p2plab-environment", title: ENVIRONMENT, heads: HEADS, rows: rows.flatMap(row) },
    ...[...machines.values()].map(machineSection),
    programsSection(origin),
  ];
}

/** As a shell takes a word for itself alone: whoever copies the command runs nothing else. */
function shellWord(text: string): string {
  return /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function shellFile(name: string): string {
  return shellWord(name.startsWith("-") ? `./${name}` : name);
}

const ENVIRONMENT = "附录：环境 Environment";
const HEADS = ["项目 item", "值 value"];

function machineSection(machine: MachineFacts, index: number): Section {
  const rows: (readonly [string, unknown])[] = [
    ["来源 provenance", `${machine.kind} · ${machine.source}`],
    ["指纹 fingerprint", machine.fingerprint],
    ["GPU", gpusText(Array.isArray(machine.gpus) ? machine.gpus : [])],
    ...Object.entries(machine.facts ?? {}),
  ];
  return {
    anchor: `p2plab-machine-${index + 1}`,
    title: `附录：机器 Machine ${machine.name}`,
    heads: HEADS,
    rows: rows.flatMap(row),
  };
}

/** Neighbours of one name together: a rack has 72 of them. */
function gpusText(names: readonly string[]): string {
  const runs: { name: string; from: number; to: number }[] = [];
  for (const [at, name] of names.entries()) {
    const last = runs.at(-1);
    if (last?.name === name) last.to = at;
    else runs.push({ name, from: at, to: at });
  }
  return runs.map(({ name, from, to }) => `${from === to ? from : `${from}–${to}`}: ${name}`).join("; ");
}

function programsSection({ run, cells }: Origin): Section {
  const programs = run?.programs ?? [];
  const more = cells?.morePrograms ?? 0;
  return {
    anchor: "p2plab-programs",
    title: `附录：运行过的程序 Programs run (${run?.programs ? programs.length : "?"})`,
    heads: ["哈希 hash", "方式 mode", "来源 provenance", "次数 runs", "程序 program"],
    rows: programs.map(({ hash, mode, kind, source, runs, text }) =>
      [hash, mode, `${kind} · ${source}`, runs, String(text).replaceAll("\n", "; ")].map(String),
    ),
    note: run?.programs
      ? `${more > 0 ? `另有至多${more}个程序没有列出。 Up to ${more} more programs are not listed. ` : ""}同一个哈希就是同一个程序，在哪台机器上都一样。 The same hash is the same program on every machine.`
      : "单元的进程提前结束，没有留下程序列表。 The cells' process ended before it could list them.",
    folded: true,
  };
}

function row([name, value]: readonly [string, unknown]): string[][] {
  return value === undefined || value === null || value === "" ? [] : [[name, String(value)]];
}

/** Of the one who runs the report: asked for only with `--no-redact`. */
function identity(): [string, string][] {
  let user = "";
  try {
    user = userInfo().username;
  } catch {
    // A user without an entry has no name.
  }
  return [
    ["主机 host", hostname()],
    ["用户 user", user],
    ["文件夹 folder", process.cwd()],
  ];
}
