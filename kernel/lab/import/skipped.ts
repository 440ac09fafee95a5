/** Rows of a file that become no spans, and why; for the notes of the import. */
export class Skipped {
  readonly #counts = new Map<string, number>();

  add(reason: string, rows = 1): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + rows);
  }

  notes(): string[] {
    return [...this.#counts].map(
      ([reason, rows]) => `${rows} ${rows === 1 ? "row" : "rows"} left out: ${reason}`,
    );
  }
}
