import { messageOf, P2pError } from "../errors.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import { enter, expectId } from "./ledger.js";

/** A property that a right answer has, by its name; false or a thrown error means that it does not hold. */
export type Properties<T> = Readonly<Record<string, (answer: T) => boolean>>;

/**
 * Tests the reader's answer to an exercise by its properties and enters the outcome. Does not throw on a wrong answer, so
 * that a notebook with an open exercise still runs to its end.
 */
export function check<T>(id: string, answer: T | null | undefined, properties: Properties<T>): Check {
  expectId(id, "lab.check");
  const names = Object.keys(properties ?? {});
  const wrong = names.find((name) => typeof properties[name] !== "function");
  if (names.length === 0 || wrong !== undefined) {
    throw new P2pError(
      "usage",
      `check "${id}" ${wrong === undefined ? "tests nothing" : `has a property ${JSON.stringify(wrong)} that is no function`}`,
      'Give at least one property: { "what holds": (answer) => true or false }.',
    );
  }
  const rows = names.map((name) => {
    if (answer === null || answer === undefined)
      return { name, holds: false, why: "还没有答案 no answer yet" };
    try {
      const says: unknown = (properties[name] as (answer: T) => boolean)(answer);
      const why = typeof says === "boolean" ? "" : `gave ${kindOf(says)}, not true or false`;
      return { name, holds: says === true, why };
    } catch (error) {
      return { name, holds: false, why: messageOf(error) };
    }
  });
  const result = new Check(id, rows);
  enter({
    kind: "check",
    id,
    passed: result.passed,
    failed: rows.filter((row) => !row.holds).map((row) => row.name),
    entered: new Date().toISOString(),
    provenance: null,
    machine: null,
  });
  return result;
}

function kindOf(value: unknown): string {
  return value instanceof Promise ? "a promise" : value === null ? "null" : typeof value;
}

/** What of an answer holds. */
export class Check {
  readonly id: string;
  readonly rows: readonly { name: string; holds: boolean; why: string }[];

  constructor(id: string, rows: readonly { name: string; holds: boolean; why: string }[]) {
    this.id = id;
    this.rows = rows;
  }

  get passed(): boolean {
    return this.rows.every((row) => row.holds);
  }

  toString(): string {
    const lines = this.rows.map(
      (row) => `  ${row.holds ? "✔" : "✘"} ${row.name}${row.why ? `（${row.why}）` : ""}`,
    );
    return [`${this.id}: ${this.passed ? "通过 passed" : "未通过 not passed"}`, ...lines].join("\n");
  }

  [richDisplay](): MimeBundle {
    return { "text/plain": this.toString() };
  }
}
