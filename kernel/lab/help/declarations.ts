/** What the library's own declarations say of a name: its signature, options and description, so that help cannot drift from code. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packagePath } from "../files.js";

export interface Declaration {
  /** TypeScript, as declared. */
  readonly signature: string;
  /** Text of the comment above; empty for none. */
  readonly says: string;
  /** Types of options that signature or comment name, whole: declared in the same file, or exported by the face. */
  readonly options: readonly string[];
}

const FACES = { lab: "api.d.ts", plot: "plot/index.d.ts", cuda: "cuda.d.ts" } as const;
export type Face = keyof typeof FACES;

/** Functions and classes that a face exports, by name; values as where they are declared. */
export function namesOf(face: Face): string[] {
  return [...exportsOf(faceFile(face)).keys()].sort();
}

/** Null where there is no such name. */
export function declarationOf(face: Face, name: string): Declaration | null {
  const found = exportsOf(faceFile(face)).get(name);
  if (!found || !existsSync(found.file)) return null;
  const text = readFileSync(found.file, "utf8");
  const begins = [
    ...text.matchAll(/^export declare (?:async )?(?:abstract )?(?:function|class|const) (\w+)/gm),
  ]
    .filter((match) => match[1] === found.name)
    .map((match) => match.index);
  if (begins.length === 0) return null;
  const signature = begins.map((at) => statement(text, at)).join("\n");
  const says = begins.map((at) => commentAbove(text, at)).find(Boolean) ?? "";
  return {
    signature: signature.replace(/^export declare /gm, ""),
    says,
    options: optionsIn(`${signature} ${says}`, text, faceFile(face)),
  };
}

function faceFile(face: Face): string {
  return join(packagePath("dist/kernel/lab"), FACES[face]);
}

interface Place {
  readonly file: string;
  /** As it is called there. */
  readonly name: string;
}

/** Values, or else types, that a file exports: declared in it, or passed on from another. */
function exportsOf(file: string, types = false): Map<string, Place> {
  const found = new Map<string, Place>();
  if (!existsSync(file)) return found;
  const text = readFileSync(file, "utf8");
  for (const [, name = ""] of text.matchAll(/^export declare (?:async )?(?:function|class|const) (\w+)/gm))
    found.set(name, { file, name });
  for (const [, list = "", from = ""] of text.matchAll(/^export \{([^}]*)\} from "([^"]+)";/gm)) {
    const source = join(dirname(file), from.replace(/\.js$/, ".d.ts"));
    for (const item of list.split(",").map((part) => part.trim())) {
      if (item === "" || item.startsWith("type ") !== types) continue;
      const [name = "", alias = name] = item.replace(/^type /, "").split(" as ");
      found.set(alias, { file: source, name });
    }
  }
  return found;
}

/** From a place to the end of its statement: a semicolon or a closing brace outside all brackets. */
function statement(text: string, from: number): string {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const character = text[at] as string;
    if ("({[".includes(character)) depth++;
    else if (")}]".includes(character)) {
      depth--;
      if (depth === 0 && character === "}" && text[at + 1] === "\n") return text.slice(from, at + 1);
    } else if (character === ";" && depth === 0) return text.slice(from, at);
  }
  return text.slice(from);
}

/** Without its stars. */
function commentAbove(text: string, at: number): string {
  const above = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(text.slice(0, at))?.[1] ?? "";
  return above
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim();
}

function optionsIn(signature: string, text: string, face: string): string[] {
  const names = [...new Set(signature.match(/\b[A-Z]\w*(?:Options|Claim)\b/g) ?? [])];
  return names.flatMap((name) => {
    const own = typeIn(text, name);
    if (own !== null) return [own];
    const elsewhere = exportsOf(face, true).get(name);
    const there =
      elsewhere && existsSync(elsewhere.file) ? typeIn(readFileSync(elsewhere.file, "utf8"), name) : null;
    return there === null ? [] : [there];
  });
}

function typeIn(text: string, name: string): string | null {
  const at = text.search(new RegExp(`^export (?:declare )?(?:interface|type) ${name}\\b`, "m"));
  return at < 0 ? null : statement(text, at).replace(/^export (?:declare )?/, "");
}
