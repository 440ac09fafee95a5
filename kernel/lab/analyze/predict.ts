import { P2pError, shown } from "../errors.js";
import { expectTable } from "../measure/expect.js";
import type { Table } from "../measure/table.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import { enter, expectId, originOf, type PredictionEntry } from "./ledger.js";

/**
 * Writes down a guess before measuring: `lab.predict("01-peer-8B", "10 us")`.
 * @param value a number and its unit, in one text.
 */
export function predict(id: string, value: string): Prediction {
  expectId(id, "lab.predict");
  const match = /^\s*([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([^\d\s.].*?)\s*$/i.exec(
    typeof value === "string" ? value : "",
  );
  if (!match || !Number.isFinite(Number(match[1]))) {
    throw new P2pError(
      "usage",
      `not a prediction: ${shown(value)}`,
      'Write a number and its unit: "10 us", "0.5 x".',
    );
  }
  const unit = match[2] === "µs" || match[2] === "μs" ? "us" : (match[2] as string);
  const prediction = new Prediction(id, Number(match[1]), unit);
  enter(prediction.entry(null, null));
  return prediction;
}

/** A guess; `against` holds it to what was measured. */
export class Prediction {
  readonly id: string;
  readonly value: number;
  readonly unit: string;

  constructor(id: string, value: number, unit: string) {
    this.id = id;
    this.value = value;
    this.unit = unit;
  }

  /**
   * Enters the measured value beside the guess.
   * @param measured in the guess's unit.
   * @param evidence table that it was read from.
   */
  against(measured: number, evidence: Table): Outcome {
    if (typeof measured !== "number" || !Number.isFinite(measured)) {
      throw new P2pError(
        "usage",
        `"${this.id}" is held against ${shown(measured)}`,
        `Give a number in ${this.unit}.`,
      );
    }
    expectTable(evidence, [], `prediction "${this.id}"`);
    const entry = this.entry(measured, evidence);
    enter(entry);
    return new Outcome(entry);
  }

  entry(measured: number | null, evidence: Table | null): PredictionEntry {
    return {
      kind: "prediction",
      id: this.id,
      predicted: this.value,
      unit: this.unit,
      measured,
      entered: new Date().toISOString(),
      ...originOf(evidence),
    };
  }

  toString(): string {
    return `${this.id}: ${this.value} ${this.unit}`;
  }

  [richDisplay](): MimeBundle {
    return { "text/plain": `先猜 ${this}` };
  }
}

/** A guess beside the measurement. */
export class Outcome {
  readonly entry: PredictionEntry;

  constructor(entry: PredictionEntry) {
    this.entry = entry;
  }

  /** Measured over predicted; null where the guess was zero. */
  get ratio(): number | null {
    return this.entry.predicted === 0 ? null : (this.entry.measured as number) / this.entry.predicted;
  }

  toString(): string {
    const { id, predicted, unit, measured, provenance } = this.entry;
    const short = (value: number) => Number(value.toPrecision(3));
    const times = this.ratio === null ? "" : ` (× ${short(this.ratio)})`;
    return `${id}: 猜 ${short(predicted)} ${unit}, 得 ${short(measured as number)} ${unit}${times} [${provenance ?? "no measurement"}]`;
  }

  [richDisplay](): MimeBundle {
    return { "text/plain": this.toString() };
  }
}
