/** A number and where it comes from. */
export interface Figure {
  readonly value: number;
  readonly source: string;
}
