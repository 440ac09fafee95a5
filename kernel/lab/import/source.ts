import { createReadStream, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { messageOf, P2pError, shown } from "../errors.js";
import type { ImportSource } from "./importer.js";

/** Bytes that formats are told apart by: programs may print much before the output that matters. */
export const HEAD_BYTES = 2 ** 20;

const PIECE_BYTES = 2 ** 18;

/** A source with its beginning, decompressed, that formats are told apart by. */
export interface OpenSource extends ImportSource {
  readonly head: Uint8Array;
}

/**
 * Opens a file, or content that is at hand already.
 * @throws P2pError `import` for a file that is not there, is no regular file or is empty; `usage` for what is neither.
 */
export async function openSource(input: string | Uint8Array): Promise<OpenSource> {
  if (input instanceof Uint8Array) return sourceOf("the content", null, input.length, () => pieces(input));
  if (typeof input !== "string" || input === "") {
    throw new P2pError("usage", `cannot import ${shown(input)}`, "Give the path of a file, or its bytes.");
  }
  let sizeBytes: number;
  let hint = "Check the path.";
  try {
    const facts = statSync(input);
    if (facts.isDirectory()) {
      hint = "Name a file in it.";
      throw new Error("it is a folder");
    }
    if (!facts.isFile()) {
      hint = "Write what comes from it to a file, or pipe it into: p2plab import -";
      throw new Error("it is not a regular file");
    }
    sizeBytes = facts.size;
    await (await open(input)).close();
  } catch (error) {
    const what = `cannot read ${input}: ${messageOf(error)}`;
    throw new P2pError("import", what, hint, { cause: error });
  }
  return sourceOf(input, input, sizeBytes, () => createReadStream(input, { highWaterMark: PIECE_BYTES }));
}

async function sourceOf(
  name: string,
  path: string | null,
  sizeBytes: number,
  stored: () => AsyncIterable<Uint8Array>,
): Promise<OpenSource> {
  const start = await beginning(stored());
  if (start.length === 0) {
    throw new P2pError("import", `${name} is empty`, "Write it anew: the tool that made it printed nothing.");
  }
  const compressed = start[0] === 0x1f && start[1] === 0x8b;
  const chunks = compressed ? () => unpacked(name, stored()) : stored;
  return {
    name,
    path: compressed ? null : path,
    sizeBytes,
    head: compressed ? await beginning(chunks()) : start,
    chunks,
    async bytes(mostBytes) {
      if (!compressed && sizeBytes > mostBytes) throw tooLarge(name, sizeBytes, mostBytes);
      const all: Uint8Array[] = [];
      let length = 0;
      for await (const chunk of chunks()) {
        length += chunk.length;
        if (length > mostBytes) throw tooLarge(name, length, mostBytes);
        all.push(chunk);
      }
      return Buffer.concat(all, length);
    },
  };
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** Decompressed piece by piece; what came before a damage is handed out before it is told. */
async function* unpacked(name: string, stored: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const from = Readable.from(stored, { objectMode: false });
  const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
  from.once("error", (error) => gunzip.destroy(error));
  from.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (error) {
    const what = `${name}: the gzip data are damaged or cut off: ${messageOf(error)}`;
    throw new P2pError("import", what, "Copy the file anew, or decompress what is left of it with zcat.", {
      cause: error,
    });
  } finally {
    from.destroy();
    gunzip.destroy();
  }
}

/** The first bytes; of damaged data those before the damage, if there are any. */
async function beginning(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of chunks) {
      all.push(chunk);
      length += chunk.length;
      if (length >= HEAD_BYTES) break;
    }
  } catch (error) {
    if (length === 0) throw error;
  }
  return Buffer.concat(all, length).subarray(0, HEAD_BYTES);
}

function tooLarge(name: string, bytes: number, mostBytes: number): P2pError {
  const size = (value: number) => `${Math.round(value / 2 ** 20)} MiB`;
  return new P2pError(
    "import",
    `${name} has ${size(bytes)} or more to read, more than ${size(mostBytes)}`,
    "Cut it to the part that matters, such as the tool's own lines.",
  );
}
