import { P2pError } from "../../errors.js";

/** Files of machines with a thousand GPUs stay under 1 MiB. */
export const MAX_BYTES = 16 * 2 ** 20;

/** Place in a text, both counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** An error at a place of a file. */
export function errorAt(what: string, place: Place, hint: string, cause?: unknown): P2pError {
  const at = `line ${place.line}, column ${place.column}`;
  return new P2pError("topology", `${what} (${at})`, hint, cause === undefined ? undefined : { cause });
}

/** Where an offset of a text is. */
export function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: offset - start + 1 };
}

/**
 * Text of a file as UTF-8, without its byte order mark, lines ended by `\n`.
 * @throws P2pError `topology` for a file that is too large or is no UTF-8 text.
 */
export function decode(bytes: Uint8Array): string {
  if (bytes.length > MAX_BYTES) {
    throw new P2pError(
      "topology",
      `the topology has ${bytes.length} bytes, more than ${MAX_BYTES}`,
      "Give the output of nvidia-smi topo -m, an NCCL or hwloc XML file, or a topology written by this library.",
    );
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new P2pError("topology", "the topology is no UTF-8 text", "Save it as UTF-8.", { cause });
  }
  const zero = text.indexOf("\0");
  if (zero >= 0) {
    throw errorAt(
      "the topology holds a zero byte",
      placeOf(text, zero),
      "Save it as UTF-8 text: it is a binary file or UTF-16.",
    );
  }
  return text.replace(/\r\n?/g, "\n");
}
