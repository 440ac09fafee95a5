/** Text outputs as a report shows them. */

export const PLOTLY = "application/vnd.plotly.v1+json";

/** Characters of a text output that a report shows: its beginning and its end. */
const MOST_TEXT = 200_000;

/** Text as a terminal leaves it: no escape sequences, and a line that was overwritten shows its last state. */
export function terminalText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with the control character ESC
  const plain = text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/\r\n/g, "\n");
  return plain.replace(/^.*\r(?=[^\n\r])/gm, "").replace(/\r/g, "");
}

/** A text without its middle where it is long; `omitted` counts the characters left out. */
export function shortened(text: string): { text: string; omitted: number } {
  const omitted = text.length - MOST_TEXT;
  if (omitted <= 0) return { text, omitted: 0 };
  const half = MOST_TEXT / 2;
  const note = `… ${omitted}个字符未放入报告，笔记本里有全部 ${omitted} characters left out of the report; the notebook has all of them …`;
  return { text: `${text.slice(0, half)}\n${note}\n${text.slice(-half)}`, omitted };
}
