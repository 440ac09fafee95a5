/** What the library can do, by task: names as a notebook writes them. */
import type { Lang } from "./lang.js";

export interface Task {
  readonly title: Readonly<Record<Lang, string>>;
  readonly names: readonly string[];
}

export const TASKS: readonly Task[] = [
  {
    title: { zh: "打开一台机器，看它是什么", en: "Open a machine and see what it is" },
    names: ["lab.open", "lab.machines", "lab.topology", "lab.doctor", "lab.verdicts", "lab.selfCheck"],
  },
  {
    title: { zh: "测延迟、带宽和四段", en: "Measure latency, bandwidth and the four parts" },
    names: ["lab.sweep", "lab.matrix", "lab.breakdown", "lab.setupCosts", "lab.sizes"],
  },
  {
    title: {
      zh: "在GPU里计时：访存、往返、原子、栅栏",
      en: "Time on the GPU: loads, ping-pong, atomics, fences",
    },
    names: ["lab.loadLatency", "lab.pingPong", "lab.atomics", "lab.fences", "lab.litmus"],
  },
  {
    title: { zh: "写自己的程序并运行", en: "Write a program of your own and run it" },
    names: ["lab.program", "lab.transfer", "lab.collectives", "lab.writeTrace", "cuda.compile"],
  },
  {
    title: { zh: "分析结果", en: "Analyse" },
    names: ["lab.crossover", "lab.alphaBeta", "lab.overlap", "lab.achieved", "lab.amortise", "lab.compare"],
  },
  {
    title: { zh: "找最快的做法，问“如果”", en: "Find the fastest way, ask what if" },
    names: ["lab.advise", "lab.whatIf"],
  },
  {
    title: { zh: "画图", en: "Draw" },
    names: [
      "plot.latency",
      "plot.breakdown",
      "plot.matrix",
      "plot.timeline",
      "plot.topology",
      "plot.alphaBeta",
      "plot.ecdf",
      "plot.loadLatency",
      "plot.ledger",
    ],
  },
  {
    title: { zh: "先猜、登记结论、检查练习", en: "Predict, claim, check" },
    names: ["lab.predict", "lab.claim", "lab.check", "lab.ledger"],
  },
  {
    title: {
      zh: "读其他工具的文件，录制，查变慢",
      en: "Read other tools' files, record, find what became slower",
    },
    names: ["lab.import", "lab.startRecording", "lab.saveRecording", "lab.baseline", "lab.regressions"],
  },
];
