import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf, P2pError } from "../errors.js";
import { withFileLock } from "../file-lock.js";
import { readRegularFile, writeFileAtomic } from "../files.js";
import { provenancesOf, type Table, tableOf } from "../measure/table.js";

const VERDICTS = ["supported", "refuted", "not-testable"] as const;
export type Verdict = (typeof VERDICTS)[number];

interface EntryBase {
  /** Stable name, such as `01-launch-overhead`. */
  readonly id: string;
  /** When it was entered (ISO 8601). */
  readonly entered: string;
  /** `measured`, `recorded` or `simulated`, and of which machine; null where no table backs it. */
  readonly provenance: string | null;
  readonly machine: string | null;
  /** Day of the evidence; null where no table backs it, absent in ledgers of before it was kept. */
  readonly date?: string | null;
}

/**
 * Where the evidence of an entry comes from. Of a table of several provenances all are named: what is partly simulated is not
 * to pass for measured.
 */
export function originOf(evidence: Table | null): {
  provenance: string | null;
  machine: string | null;
  date: string | null;
} {
  const origins = evidence ? provenancesOf(evidence) : [];
  const all = (field: "provenance" | "machine" | "date") =>
    [...new Set(origins.map((origin) => origin[field]))].join(" + ") || null;
  return { provenance: all("provenance"), machine: all("machine"), date: all("date") };
}

export interface ClaimEntry extends EntryBase {
  readonly kind: "claim";
  readonly says: string;
  readonly verdict: Verdict;
  readonly evidence: string;
  /** Of a claim about a range only. */
  readonly range?: ClaimedRange;
}

/** The range that a claim names, and the range of the values it was held against. */
export interface ClaimedRange {
  /** Column of the evidence; its name carries the unit. */
  readonly column: string;
  readonly claimed: readonly [low: number, high: number];
  /** Null when the evidence holds no value. */
  readonly found: readonly [low: number, high: number] | null;
}

export interface PredictionEntry extends EntryBase {
  readonly kind: "prediction";
  readonly predicted: number;
  readonly unit: string;
  /** Null until held against a measurement. */
  readonly measured: number | null;
}

export interface CheckEntry extends EntryBase {
  readonly kind: "check";
  readonly passed: boolean;
  /** Names of the properties that do not hold. */
  readonly failed: readonly string[];
}

export type LedgerEntry = ClaimEntry | PredictionEntry | CheckEntry;

const SCHEMA = "p2plab-ledger/1";

/** One JSON file for all notebooks of a working directory; `P2PLAB_LEDGER` names another. */
export function ledgerFile(): string {
  return process.env.P2PLAB_LEDGER || resolve("p2plab-ledger.json");
}

/**
 * All entries so far, oldest first.
 * @throws P2pError `recording` when the file is not a ledger: it is never overwritten then.
 */
export function readLedger(): LedgerEntry[] {
  const file = ledgerFile();
  if (!existsSync(file)) return [];
  try {
    const content = JSON.parse(readRegularFile(file).toString("utf8")) as {
      schema?: unknown;
      entries?: unknown;
    };
    if (content.schema !== SCHEMA || !Array.isArray(content.entries))
      throw new Error(`it is not of schema ${SCHEMA}`);
    for (const [index, entry] of content.entries.entries()) {
      const why = notAnEntry(entry);
      if (why) throw new Error(`entry ${index} ${why}`);
    }
    return content.entries as LedgerEntry[];
  } catch (error) {
    throw new P2pError(
      "recording",
      `${file} cannot be read as a ledger: ${messageOf(error)}`,
      "Move the file away to begin a new ledger.",
      { cause: error },
    );
  }
}

const KINDS = {
  claim: { says: "string", verdict: "string", evidence: "string" },
  prediction: { predicted: "number", unit: "string" },
  check: { passed: "boolean" },
} as const;

/** Why a value from the file is no entry; null when it is one. */
function notAnEntry(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return "is no object";
  const entry = value as Record<string, unknown>;
  const fields = Object.hasOwn(KINDS, String(entry.kind)) ? KINDS[entry.kind as keyof typeof KINDS] : null;
  if (!fields) return `is of kind ${JSON.stringify(entry.kind)}`;
  const wrong = Object.entries({ id: "string", entered: "string", ...fields }).find(
    ([field, type]) => typeof entry[field] !== type,
  );
  if (wrong) return `(${entry.kind}) has no ${wrong[0]}`;
  if (entry.kind === "claim" && !VERDICTS.includes(entry.verdict as Verdict)) {
    return `(claim) has the verdict ${JSON.stringify(entry.verdict)}`;
  }
  if (entry.kind === "prediction" && entry.measured !== null && typeof entry.measured !== "number") {
    return "(prediction) has a measured value that is no number";
  }
  if (entry.kind === "claim" && entry.range !== undefined && !isRange(entry.range)) {
    return "(claim) has a range that is none";
  }
  const failed = entry.kind === "check" ? entry.failed : [];
  return Array.isArray(failed) && failed.every((name) => typeof name === "string")
    ? null
    : "(check) has no list of failed properties";
}

function isRange(value: unknown): value is ClaimedRange {
  const pair = (ends: unknown) =>
    Array.isArray(ends) && ends.length === 2 && ends.every((end) => typeof end === "number");
  const range = value as ClaimedRange | null;
  return (
    typeof range?.column === "string" && pair(range.claimed) && (range.found === null || pair(range.found))
  );
}

/** @throws P2pError `usage` unless it can name an entry. */
export function expectId(id: unknown, who: string): asserts id is string {
  if (typeof id === "string" && id.trim() !== "" && id.length <= 100) return;
  throw new P2pError(
    "usage",
    `${who} was given ${typeof id === "string" ? `the name ${JSON.stringify(id.slice(0, 20))}` : `${typeof id} as a name`}`,
    'Give a name that is unique in the course, such as "01-launch-overhead".',
  );
}

/** What this process entered, in order; of it, what {@link takeEntered} has not told yet. */
const own = new Set<LedgerEntry>();
const untold = new Set<LedgerEntry>();

/**
 * Adds an entry, or replaces the one of the same kind, id and machine; a prediction that is held against a measurement is no
 * longer open. Two notebooks that enter at once both get in.
 */
export function enter(entry: LedgerEntry): void {
  const same = (other: LedgerEntry) =>
    other.kind === entry.kind &&
    other.id === entry.id &&
    (other.machine === entry.machine || (other.kind === "prediction" && other.measured === null));
  const file = ledgerFile();
  try {
    withFileLock(file, () => {
      const entries = [...readLedger().filter((other) => !same(other)), entry];
      writeFileAtomic(file, `${JSON.stringify({ schema: SCHEMA, entries }, null, 1)}\n`);
    });
  } catch (error) {
    if (!(error instanceof P2pError && error.code === "output")) throw error;
    const hint =
      "Name a file that can be written: process.env.P2PLAB_LEDGER = FILE in a cell, or P2PLAB_LEDGER=FILE outside.";
    throw new P2pError("output", error.message, hint, { cause: error });
  }
  for (const list of [own, untold]) for (const other of list) if (same(other)) list.delete(other);
  own.add(entry);
  untold.add(entry);
}

/** A row of {@link ledger}. */
export type LedgerRow = Readonly<Record<string, string | number | null>>;

/** What this process has entered and not replaced since: the file may hold other notebooks' entries too. */
export function entered(): LedgerRow[] {
  return [...own].map(rowOf);
}

/** What this process has entered since the last call. */
export function takeEntered(): LedgerRow[] {
  const rows = [...untold].map(rowOf);
  untold.clear();
  return rows;
}

/**
 * The ledger as a table: `kind`, `id`, `says`, `result`, `evidence`, then of range claims and predictions `quantity` (the
 * column claimed about, with its unit in the name; the unit of a prediction), `claimed_low`, `claimed_high`, `found_low`,
 * `found_high` (in that unit; null where there is none), then `entered`, `machine`, `provenance`, `date` (of the evidence).
 */
export function ledger(): Table {
  return tableOf(readLedger().map(rowOf), COLUMNS);
}

function rowOf(entry: LedgerEntry): LedgerRow {
  return {
    kind: entry.kind,
    id: entry.id,
    says:
      entry.kind === "claim"
        ? entry.says
        : entry.kind === "prediction"
          ? `${entry.predicted} ${entry.unit}`
          : "",
    result:
      entry.kind === "claim"
        ? entry.verdict
        : entry.kind === "check"
          ? entry.passed
            ? "passed"
            : "failed"
          : entry.measured === null
            ? "open"
            : `found ${Number(entry.measured.toPrecision(3))} ${entry.unit}`,
    evidence: entry.kind === "claim" ? entry.evidence : entry.kind === "check" ? entry.failed.join("; ") : "",
    ...rangeFields(entry),
    entered: entry.entered,
    machine: entry.machine,
    provenance: entry.provenance,
    date: entry.date ?? null,
  };
}

const COLUMNS = [
  "kind",
  "id",
  "says",
  "result",
  "evidence",
  "quantity",
  "claimed_low",
  "claimed_high",
  "found_low",
  "found_high",
  "entered",
  "machine",
  "provenance",
  "date",
];

function rangeFields(entry: LedgerEntry): LedgerRow {
  if (entry.kind === "claim" && entry.range) {
    const { column, claimed, found } = entry.range;
    return {
      quantity: column,
      claimed_low: claimed[0],
      claimed_high: claimed[1],
      found_low: found?.[0] ?? null,
      found_high: found?.[1] ?? null,
    };
  }
  if (entry.kind !== "prediction") return {};
  const { unit, predicted, measured } = entry;
  return {
    quantity: unit,
    claimed_low: predicted,
    claimed_high: predicted,
    found_low: measured,
    found_high: measured,
  };
}
