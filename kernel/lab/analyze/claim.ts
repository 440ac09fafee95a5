import { P2pError } from "../errors.js";
import { expectOptions, expectTable } from "../measure/expect.js";
import type { Table } from "../measure/table.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import { formatBytes } from "../units.js";
import { type ClaimEntry, enter, expectId, originOf, type Verdict } from "./ledger.js";

/** A claim that a column's values lie in a range, ends included. The column's name carries the unit. */
export interface RangeClaim {
  /** The claim in a sentence, as its author makes it. */
  says: string;
  column: string;
  between: readonly [number, number];
}

/** A claim decided by a condition; `null` where this machine cannot decide it. */
export interface ConditionClaim {
  says: string;
  holds: boolean | null;
  /** The evidence in a sentence. */
  because: string;
}

/**
 * Enters a claim into the ledger with its verdict: supported when every row of the evidence agrees, refuted when one does
 * not, not testable when there is nothing to decide by.
 * @param id stable name, unique in the course.
 * @param evidence table whose provenance the verdict carries; for a range claim also its values.
 */
export function claim(id: string, claimed: RangeClaim | ConditionClaim, evidence: Table): Claim {
  expectId(id, "lab.claim");
  expectTable(evidence, [], `claim "${id}"`);
  expectOptions(claimed, `claim "${id}"`);
  if (typeof claimed.says !== "string" || !decidable(claimed)) {
    throw new P2pError(
      "usage",
      `claim "${id}" does not say what is claimed, or by what it is decided`,
      "Give { says, column, between: [low, high] } with two finite numbers, the lower first, or { says, holds, because } with holds true, false or null.",
    );
  }
  const decided = "column" in claimed ? byRange(id, claimed, evidence) : byCondition(claimed);
  const entry: ClaimEntry = {
    kind: "claim",
    id,
    says: claimed.says,
    ...decided,
    entered: new Date().toISOString(),
    ...originOf(evidence),
  };
  enter(entry);
  return new Claim(entry);
}

function decidable(claimed: RangeClaim | ConditionClaim): boolean {
  if (!("column" in claimed)) {
    return (
      (claimed.holds === null || typeof claimed.holds === "boolean") && typeof claimed.because === "string"
    );
  }
  const { column, between } = claimed;
  if (typeof column !== "string" || !Array.isArray(between) || between.length !== 2) return false;
  const [low, high] = between;
  return Number.isFinite(low) && Number.isFinite(high) && low <= high;
}

function byCondition(claimed: ConditionClaim): { verdict: Verdict; evidence: string } {
  const verdict = claimed.holds === null ? "not-testable" : claimed.holds ? "supported" : "refuted";
  return { verdict, evidence: claimed.because };
}

function byRange(
  id: string,
  claimed: RangeClaim,
  table: Table,
): Pick<ClaimEntry, "verdict" | "evidence" | "range"> {
  const { column, between } = claimed;
  if (!table.columnNames().includes(column)) {
    throw new P2pError(
      "usage",
      `claim "${id}" is about column "${column}", the evidence has ${table.columnNames().join(", ")}`,
      "Name a column of the table.",
    );
  }
  const rows = (table.objects() as Record<string, unknown>[]).filter((row) => Number.isFinite(row[column]));
  const ends = [between[0], between[1]] as const;
  if (rows.length === 0) {
    return {
      verdict: "not-testable",
      evidence: `${column}没有值 no value in ${column}`,
      range: { column, claimed: ends, found: null },
    };
  }
  const shown = rows.map((row) => {
    const value = row[column] as number;
    const where = [row.path, typeof row.bytes === "number" ? formatBytes(row.bytes) : null].filter(
      (part) => part != null,
    );
    return `${where.length > 0 ? `${where.join(" ")}: ` : ""}${Number(value.toPrecision(3))}`;
  });
  const holds = rows.every((row) => {
    const value = row[column] as number;
    return value >= between[0] && value <= between[1];
  });
  const values = rows.map((row) => row[column] as number);
  return {
    verdict: holds ? "supported" : "refuted",
    evidence: `${column} ${shown.join("; ")} (claimed ${between[0]}–${between[1]})`,
    range: { column, claimed: ends, found: [Math.min(...values), Math.max(...values)] },
  };
}

const VERDICTS: Record<Verdict, string> = {
  supported: "✔ 支持 supported",
  refuted: "✘ 不支持 refuted",
  "not-testable": "– 此处无法检验 not testable here",
};

/** A claim and what became of it. */
export class Claim {
  readonly entry: ClaimEntry;

  constructor(entry: ClaimEntry) {
    this.entry = entry;
  }

  get verdict(): Verdict {
    return this.entry.verdict;
  }

  toString(): string {
    const { id, says, verdict, evidence, provenance, machine } = this.entry;
    return `${id}: ${VERDICTS[verdict]}\n  “${says}”\n  ${evidence}\n  [${provenance ?? "no measurement"}${machine ? `, ${machine}` : ""}]`;
  }

  [richDisplay](): MimeBundle {
    return { "text/plain": this.toString() };
  }
}
