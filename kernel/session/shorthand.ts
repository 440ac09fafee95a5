/**
 * tslab turns a name of an earlier cell into `exports.name`, but overlooks `{ name }`, which then throws a ReferenceError. Written
 * out as `{ name: name }` it works. Positions in what TypeScript finds are mapped back.
 */
import type { Diagnostic } from "./diagnostic.js";
import type { Position, TsNode, TypeScriptParser } from "./typescript.js";

export interface Expanded {
  readonly source: string;
  /** A position in the expanded source, where it stands in the original. */
  positionBack(position: Position): Position;
  /** The same for what TypeScript found. */
  mapBack(diagnostic: Diagnostic): Diagnostic;
}

export function expandShorthand(ts: TypeScriptParser, source: string): Expanded {
  const inserts: { at: number; text: string }[] = [];
  const visit = (node: TsNode): void => {
    if (
      node.kind === ts.SyntaxKind.ShorthandPropertyAssignment &&
      node.name &&
      !node.objectAssignmentInitializer
    ) {
      inserts.push({ at: node.name.end, text: `: ${node.name.text}` });
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("cell.ts", source, ts.ScriptTarget.ES2022, false));
  let expanded = source;
  for (const { at, text } of [...inserts].sort((a, b) => b.at - a.at)) {
    expanded = expanded.slice(0, at) + text + expanded.slice(at);
  }
  const byLine = inserts.map(({ at, text }) => {
    const before = source.slice(0, at).split("\n");
    return { line: before.length - 1, character: (before.at(-1) as string).length, length: text.length };
  });
  const back = (position: Position): Position => {
    let { character } = position;
    let shift = 0;
    for (const insert of byLine
      .filter((i) => i.line === position.line)
      .sort((a, b) => a.character - b.character)) {
      if (insert.character + shift >= position.character) break;
      shift += insert.length;
      character = Math.max(insert.character, position.character - shift);
    }
    return { ...position, character };
  };
  return {
    source: expanded,
    positionBack: back,
    mapBack: (diagnostic) =>
      diagnostic.fileName
        ? diagnostic
        : { ...diagnostic, start: back(diagnostic.start), end: back(diagnostic.end) },
  };
}
