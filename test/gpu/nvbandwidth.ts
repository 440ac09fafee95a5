import type { Nvbandwidth } from "../../kernel/lab/import/nvbandwidth-output.js";

/**
 * One cell of a testcase.
 * @param part `total` and so on, for testcases with several matrices.
 * @returns null when the testcase did not run, or the cell was not measured.
 */
export function cellOf(
  output: Nvbandwidth,
  testcase: string,
  row: number,
  column: number,
  part: string | null = null,
): number | null {
  const found = output.testcases.find((item) => item.name === testcase);
  const matrix = found?.matrices.find((item) => item.part === part);
  return matrix?.cells[row]?.[column] ?? null;
}
