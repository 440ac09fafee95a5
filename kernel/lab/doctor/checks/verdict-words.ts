/** Outcomes and rungs of the verdict ladder in both languages. */
import type { Outcome, Verdict } from "../../verdict.js";
import { type Text, text } from "./check.js";

export const OUTCOMES: Readonly<Record<Outcome, Text>> = {
  ok: text("ok", "正常"),
  "no-p2p": text("no-p2p", "不支持"),
  broken: text("broken", "数据损坏"),
  mirror: text("mirror", "写入被镜像"),
  hang: text("hang", "挂起"),
  inconclusive: text("inconclusive", "无法判定"),
};

const STAGES: Readonly<Record<string, string>> = {
  start: "启动",
  capability: "能力",
  mapping: "映射",
  "copy-engine write": "拷贝引擎写",
  "copy-engine read": "拷贝引擎读",
  "kernel write": "内核写",
  "kernel read": "内核读",
  put: "写入并置标志",
  "ping-pong": "乒乓",
};

/** Pair, kind of memory, outcome, rung and reason. */
export function verdictWords({ from, to, allocator, outcome, stage, reason }: Verdict): Text {
  const cell = `GPU ${from} → ${to} ${allocator}`;
  const said = OUTCOMES[outcome];
  const why = [stage, reason].filter(Boolean).join(": ");
  const zhWhy = [STAGES[stage] ?? stage, reason].filter(Boolean).join("：");
  return {
    en: `${cell}: ${said.en}${why && ` (${why})`}`,
    zh: `${cell}：${said.zh}${zhWhy && `（${zhWhy}）`}`,
  };
}
