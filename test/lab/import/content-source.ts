import { gunzipSync } from "node:zlib";
import type { ImportSource } from "../../../kernel/lab/import/importer.js";

/** Content as a file would bring it, in parts of a given size. */
export function sourceOf(content: Uint8Array | string, name = "synthetic", partBytes = 65_536): ImportSource {
  const stored = typeof content === "string" ? Buffer.from(content) : content;
  const gzip = stored[0] === 0x1f && stored[1] === 0x8b;
  const bytes = gzip ? gunzipSync(stored) : stored;
  return {
    name,
    path: null,
    sizeBytes: stored.length,
    bytes: async () => bytes,
    async *chunks() {
      for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
    },
  };
}
