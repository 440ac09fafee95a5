/**
 * Numbers as tools print them: with thousands separators, and in the reader's locale. Which mark parts the decimals is told from
 * all cells of a file together, since `117.344` alone may be either.
 */

/** Digits in groups of three, parted by one and the same mark. */
const GROUPED = /^[-+]?\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*$/;
const SPACES = /(?<=\d)[\u00a0\u2007\u2009\u202f'’](?=\d{3}(?!\d))/g;

const POINT: NumberStyle = { decimal: ".", mixed: false };

export interface NumberStyle {
  /** What parts the decimals. */
  readonly decimal: "." | ",";
  /** Cells speak for both marks: those that may be read two ways are null then. */
  readonly mixed: boolean;
}

/** Tells the decimal mark from cells; `.` where nothing speaks for `,`. Cells that are no numbers say nothing. */
export function numberStyle(cells: Iterable<string>): NumberStyle {
  let point = false;
  let comma = false;
  for (const cell of cells) {
    // Where one mark is proven, only a cell with the other can prove that one too.
    if ((point && !cell.includes(",")) || (comma && !cell.includes("."))) continue;
    const decimal = decimalOf(tidy(cell));
    if (decimal === ".") point = true;
    if (decimal === ",") comma = true;
    if (point && comma) break;
  }
  return { decimal: comma && !point ? "," : ".", mixed: point && comma };
}

/** The decimal mark that one cell proves; null where it may be either, has none, or is no number. */
function decimalOf(text: string): "." | "," | null {
  if (text.length > 40 || !/^[-+]?[\d.,]+(?:[eE][-+]?\d+)?$/.test(text)) return null;
  const body = text.replace(/^[-+]/, "").replace(/[eE].*$/, "");
  const points = body.split(".").length - 1;
  const commas = body.split(",").length - 1;
  if (points > 0 && commas > 0) {
    const last = body.lastIndexOf(".") > body.lastIndexOf(",") ? "." : ",";
    const count = last === "." ? points : commas;
    return count === 1 ? last : null;
  }
  if (points + commas === 0) return null;
  const mark = points > 0 ? "." : ",";
  if (points + commas > 1) return GROUPED.test(body) ? (mark === "." ? "," : ".") : null;
  // One mark: three digits after one to three others may be a group; 0.123 is none, no group begins with zero.
  const [whole, rest] = body.split(mark) as [string, string];
  return rest.length === 3 && whole.length >= 1 && whole.length <= 3 && !whole.startsWith("0") ? null : mark;
}

/** Whether a cell may be read two ways. */
export function isAmbiguous(cell: string): boolean {
  const text = tidy(cell);
  return decimalOf(text) === null && /^[-+]?[1-9]\d{0,2}[.,]\d{3}$/.test(text);
}

/** A cell as a number; null for what is none, for infinities, and for what may be read two ways in a file of mixed marks. */
export function numberIn(cell: string, style: NumberStyle = POINT): number | null {
  // Most cells: digits, at most one point that cannot part groups.
  if (style.decimal === "." && !style.mixed && cell.length < 20 && /^-?\d+(?:\.\d+)?$/.test(cell))
    return Number(cell);
  const text = tidy(cell);
  if (text === "" || text.length > 60 || !/^[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d{1,4})?$/.test(text))
    return null;
  if (style.mixed && isAmbiguous(text)) return null;
  const own = style.mixed ? (decimalOf(text) ?? style.decimal) : style.decimal;
  const group = own === "." ? "," : ".";
  const body = text.replace(/[eE].*$/, "");
  // Marks of groups stand three digits apart, before the decimals.
  const [whole = "", ...rest] = body.split(own);
  if (rest.length > 1 || (rest[0] ?? "").includes(group)) return null;
  if (whole.includes(group) && !/^[-+]?\d{1,3}(?:[.,]\d{3})+$/.test(whole)) return null;
  const value = Number(
    `${whole.replaceAll(group, "")}${rest.length > 0 ? `.${rest[0]}` : ""}${text.slice(body.length)}`,
  );
  return Number.isFinite(value) ? value : null;
}

function tidy(cell: string): string {
  const text = cell.trim();
  return /^[\d.,eE+-]*$/.test(text) ? text : text.replace(SPACES, "");
}
