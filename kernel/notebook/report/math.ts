/** Formulas in markdown, `$…$` in a line and `$$…$$` on their own, as MathML, which browsers draw without fonts or scripts of a page. */
import type MarkdownIt from "markdown-it";
import temml from "temml";

type Markdown = InstanceType<typeof MarkdownIt>;

/** As pandoc and Jupyter read it: no space inside next to the dollars, no digit after the closing one, and `\$` is a dollar. */
export function withMath(markdown: Markdown): void {
  markdown.inline.ruler.after("escape", "math", (state, silent) => {
    const { src, pos } = state;
    if (src[pos] !== "$") return false;
    const display = src.startsWith("$$", pos);
    const fence = display ? "$$" : "$";
    const begin = pos + fence.length;
    const end = closing(src, begin, fence, state.posMax);
    if (end < 0) return false;
    const tex = src.slice(begin, end);
    if (tex.trim() === "") return false;
    if (!display && (/^\s|\s$/.test(tex) || /\d/.test(src[end + 1] ?? ""))) return false;
    if (!silent) {
      const token = state.push("math", "math", 0);
      token.content = tex.trim();
      token.block = display;
    }
    state.pos = end + fence.length;
    return true;
  });
  markdown.renderer.rules.math = (tokens, index) => {
    const token = tokens[index] as (typeof tokens)[number];
    // A formula that is none stands in red with what is wrong with it.
    return temml.renderToString(token.content, { displayMode: token.block, throwOnError: false });
  };
}

/** A fence that no backslash precedes. */
function closing(text: string, from: number, fence: string, limit: number): number {
  for (let at = text.indexOf(fence, from); at >= 0 && at < limit; at = text.indexOf(fence, at + 1)) {
    const backslashes = /\\*$/.exec(text.slice(from, at))?.[0].length ?? 0;
    if (backslashes % 2 === 0) return at;
  }
  return -1;
}
