/** Jupyter counts a cursor in Unicode code points, JavaScript in UTF-16 units. */

export function toUtf16(text: string, codePoints: number): number {
  let units = 0;
  let left = codePoints;
  for (const character of text) {
    if (left-- <= 0) break;
    units += character.length;
  }
  return units;
}

export function toCodePoints(text: string, units: number): number {
  return [...text.slice(0, units)].length;
}
