import { createHash } from "node:crypto";

/** Metadata key under which a recording bears the SHA-256 of its own file. */
export const CHECKSUM_KEY = "p2plab_file_sha256";
/** What stands in the checksum's place while it is computed; as long as one. */
export const UNSEALED = "0".repeat(64);

/** Puts the checksum of a file into it, wherever its schema is repeated. */
export function seal(file: Uint8Array): Uint8Array {
  const bytes = Buffer.from(file);
  const sum = createHash("sha256").update(bytes).digest("hex");
  replaceAll(bytes, UNSEALED, sum);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * A parser that meets damage can hang or ask for all memory: so the bytes are judged before it sees them.
 * @throws Error when the file bears no checksum or another one.
 */
export function requireSealed(file: Uint8Array): void {
  const bytes = Buffer.from(file);
  const key = bytes.indexOf(CHECKSUM_KEY);
  if (key < 0) throw new Error("it is an Arrow file, but holds no p2plab recording");
  const behind = bytes
    .subarray(key + CHECKSUM_KEY.length, key + CHECKSUM_KEY.length + 256)
    .toString("latin1");
  const before = bytes.subarray(Math.max(0, key - 256), key).toString("latin1");
  const sum = /[0-9a-f]{64}/.exec(behind)?.[0] ?? /[0-9a-f]{64}/.exec(before)?.[0];
  if (!sum) throw new Error("its checksum is missing");
  replaceAll(bytes, sum, UNSEALED);
  if (createHash("sha256").update(bytes).digest("hex") !== sum) {
    throw new Error("its content does not match its checksum: it is cut off or was changed");
  }
}

function replaceAll(bytes: Buffer, from: string, to: string): void {
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + to.length))
    bytes.write(to, at, "latin1");
}
