/** Completion and inspection, in the protocol's terms: cursors in code points, kinds and signatures beside the matches. */
import type { Session } from "../session/index.js";
import { type Content, textOf } from "./content.js";
import { toCodePoints, toUtf16 } from "./text-positions.js";

export function complete(content: Content, session: Session): Content {
  const code = textOf(content.code);
  const found = session.complete(code, toUtf16(code, cursorOf(content, code)));
  const start = toCodePoints(code, found.start);
  const end = toCodePoints(code, found.end);
  const kinds = new Map(found.original?.entries.map((entry) => [entry.name, entry.kind]));
  const types = found.candidates.map((text) => ({ text, type: kinds.get(text) ?? "", start, end }));
  return {
    status: "ok",
    matches: found.candidates,
    cursor_start: start,
    cursor_end: end,
    metadata: { _jupyter_types_experimental: types },
  };
}

export function inspect(content: Content, session: Session): Content {
  const code = textOf(content.code);
  const info = session.inspect(code, toUtf16(code, cursorOf(content, code)));
  if (!info) return { status: "ok", found: false, data: {}, metadata: {} };
  const joined = (parts: readonly { text: string }[] | undefined) =>
    (parts ?? []).map((part) => part.text).join("");
  const signature = joined(info.displayParts);
  const documentation = joined(info.documentation);
  const tags = (info.tags ?? []).map((tag) => `@${tag.name} ${joined(tag.text)}`).join("\n");
  const plain = [signature, documentation, tags].filter((part) => part !== "").join("\n\n");
  const markdown = [`\`\`\`typescript\n${signature}\n\`\`\``, documentation, tags]
    .filter((part) => part !== "")
    .join("\n\n");
  return {
    status: "ok",
    found: true,
    data: { "text/plain": plain, "text/markdown": markdown },
    metadata: {},
  };
}

function cursorOf(content: Content, code: string): number {
  return typeof content.cursor_pos === "number" ? content.cursor_pos : [...code].length;
}
