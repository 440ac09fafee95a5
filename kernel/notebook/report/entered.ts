/** Sections of what a notebook entered into the ledger: predictions beside measurements, claims with their verdicts, checks. */
import type { LedgerRow } from "../../lab/index.js";
import type { Origin } from "../run-metadata.js";
import type { Section } from "./sections.js";

const VERDICTS: Record<string, string> = {
  supported: "✔ 支持 supported",
  refuted: "✘ 不支持 refuted",
  "not-testable": "– 无法检验 not testable",
  passed: "✔ 通过 passed",
  failed: "✘ 未通过 failed",
};
const ORIGIN = ["机器 machine", "来源 provenance", "日期 date"];

/** Only the kinds that the notebook has entries of. */
export function enteredSections({ run }: Origin): Section[] {
  const rows = run?.ledger ?? [];
  const of = (kind: string) => rows.filter((row) => row.kind === kind);
  const sections = [predictions(of("prediction")), claims(of("claim")), checks(of("check"))];
  return sections.filter((section) => section.rows.length > 0);
}

function predictions(rows: readonly LedgerRow[]): Section {
  return {
    anchor: "p2plab-predictions",
    title: "预测与测量 Predictions beside measurements",
    heads: ["预测 prediction", "猜 predicted", "得 measured", "得÷猜 ratio", "单位 unit", ...ORIGIN],
    rows: rows.map((row) => {
      const [guess, found] = [numberOf(row.claimed_low), numberOf(row.found_low)];
      const ratio = guess !== null && found !== null && guess !== 0 ? `× ${digits(found / guess)}` : "";
      return [
        textOf(row.id),
        guess === null ? textOf(row.says) : digits(guess),
        found === null ? "未测 open" : digits(found),
        ratio,
        textOf(row.quantity),
        ...originOfRow(row),
      ];
    }),
  };
}

function claims(rows: readonly LedgerRow[]): Section {
  return {
    anchor: "p2plab-claims",
    title: "结论登记 Claims ledger",
    heads: ["结论 claim", "内容 says", "裁决 verdict", "证据 evidence", ...ORIGIN],
    rows: rows.map((row) => [
      textOf(row.id),
      textOf(row.says),
      VERDICTS[textOf(row.result)] ?? textOf(row.result),
      textOf(row.evidence),
      ...originOfRow(row),
    ]),
  };
}

function checks(rows: readonly LedgerRow[]): Section {
  return {
    anchor: "p2plab-checks",
    title: "练习检查 Checks",
    heads: ["练习 check", "结果 result", "不成立的性质 failed"],
    rows: rows.map((row) => [
      textOf(row.id),
      VERDICTS[textOf(row.result)] ?? textOf(row.result),
      textOf(row.evidence),
    ]),
  };
}

function originOfRow(row: LedgerRow): string[] {
  const { machine, provenance, date } = row;
  return [textOf(machine), textOf(provenance), textOf(date).slice(0, 10)];
}

function textOf(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function digits(value: number): string {
  return String(Number(value.toPrecision(3)));
}
