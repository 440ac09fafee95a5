/** What renderers are given. */
import type { Finding, Status } from "./checks/check.js";
import type { MachineFacts } from "./facts.js";

/** 0 healthy, 1 warnings, 2 failures, 3 could not look. */
export type ExitStatus = 0 | 1 | 2 | 3;

export interface Examined {
  readonly facts: MachineFacts;
  readonly findings: readonly Finding[];
  readonly exitStatus: ExitStatus;
}

/** Findings of a status, in the order of the checks. */
export function findingsOf({ findings }: Examined, status: Status): readonly Finding[] {
  return findings.filter((finding) => finding.status === status);
}

export function exitStatusOf(facts: MachineFacts, findings: readonly Finding[]): ExitStatus {
  const has = (status: Status) => findings.some((finding) => finding.status === status);
  if (has("fail")) return 2;
  if (facts.gpus.length === 0) return 3;
  return has("warn") ? 1 : 0;
}
