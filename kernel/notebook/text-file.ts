/** Text of a file that should be UTF-8, as notebooks are, or why it is none. */

/**
 * @returns the text without a byte order mark; UTF-16 is read where a mark says so, as PowerShell writes it.
 * @throws Error saying what the file is instead.
 */
export function textOfFile(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === undefined) throw new Error("it is empty");
  if (first === 0x1f && second === 0x8b) throw new Error("it is packed by gzip");
  if (first === 0x50 && second === 0x4b) throw new Error("it is a zip archive");
  const encoding =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`it is not text in ${encoding.toUpperCase()}`);
  }
  if (text.trim() === "") throw new Error("it is empty");
  if (text.slice(0, 200).includes("\0"))
    throw new Error("it is binary, or text in UTF-16 without a byte order mark");
  return text;
}
