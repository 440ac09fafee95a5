/** Completion and inspection, in the protocol's terms: cursors in code points, kinds and signatures beside the matches. */
import type { Session } from "../session/index.js";
import { type Content, textOf } from "./content.js";
import { toCodePoints, toUtf16 } from "./text-positions.js";

export function complete(content: Content, session: Session): Content {
  const code = textOf(content.code);
  const found = session.complete(code, toUtf16(code, cursorOf(content, code)));
  const start = toCodePoints(code, found.start);
  const end = toCodePoints(code, found.end);
  const types = found.candidates.map(({ name, kind, signature }) => ({
    text: name,
    type: kind,
    start,
    end,
    ...(signature !== null && { signature }),
  }));
  return {
    status: "ok",
    matches: types.map(({ text }) => text),
    cursor_start: start,
    cursor_end: end,
    metadata: { _jupyter_types_experimental: types },
  };
}

export function inspect(content: Content, session: Session): Content {
  const code = textOf(content.code);
  const info = session.inspect(code, toUtf16(code, cursorOf(content, code)));
  if (!info) return { status: "ok", found: false, data: {}, metadata: {} };
  const documentation = info.documentation;
  const tags = info.tags.map(({ name, text }) => `@${name} ${text}`.trimEnd()).join("\n");
  const whole = (signature: string) =>
    [signature, documentation, tags].filter((part) => part !== "").join("\n\n");
  const data = {
    "text/plain": whole(info.signature),
    "text/markdown": whole(`\`\`\`typescript\n${info.signature}\n\`\`\``),
  };
  return { status: "ok", found: true, data, metadata: {} };
}

function cursorOf(content: Content, code: string): number {
  return typeof content.cursor_pos === "number" ? content.cursor_pos : [...code].length;
}
