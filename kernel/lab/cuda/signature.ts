/** Reads the parameters of kernels from their source: CUDA C++ or PTX. */

/** How a kernel's argument is passed; the addon's words. `b32` and `b64` are words of which only the size is known. */
export type ParameterType =
  | "i8"
  | "u8"
  | "i16"
  | "u16"
  | "i32"
  | "u32"
  | "i64"
  | "u64"
  | "f32"
  | "f64"
  | "bool"
  | "ptr"
  | "b32"
  | "b64"
  | `bytes:${number}`;

export interface Parameter {
  /** Null when the source does not tell: a structure, a template's type, a macro. */
  readonly type: ParameterType | null;
  /** As it is declared, such as `int* p`. */
  readonly text: string;
}

export interface Signature {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** Declared `extern "C"`, so that its name in the device code is the one in the source. */
  readonly plainName: boolean;
}

/** Types of C and of <cstdint>, on 64-bit Linux. */
const TYPES: Readonly<Record<string, ParameterType>> = {
  bool: "bool",
  char: "i8",
  "signed char": "i8",
  "unsigned char": "u8",
  short: "i16",
  "unsigned short": "u16",
  int: "i32",
  "unsigned int": "u32",
  long: "i64",
  "unsigned long": "u64",
  float: "f32",
  double: "f64",
  int8_t: "i8",
  uint8_t: "u8",
  int16_t: "i16",
  uint16_t: "u16",
  int32_t: "i32",
  uint32_t: "u32",
  int64_t: "i64",
  uint64_t: "u64",
  size_t: "u64",
  ssize_t: "i64",
  ptrdiff_t: "i64",
  intptr_t: "i64",
  uintptr_t: "b64",
  CUdeviceptr: "b64",
  clock_t: "i64",
};

const KEYWORDS = new Set(["unsigned", "signed", "int", "long", "short", "char", "float", "double", "bool"]);
const QUALIFIERS =
  /\b(?:const|volatile|register|struct|class|enum|typename|__restrict__|__restrict|restrict|__grid_constant__)\b/g;

/** Every kernel that a CUDA C++ source defines or declares, by its unqualified name; overloads are left out. */
export function kernelsOfSource(source: string): Map<string, Signature> {
  const code = withoutComments(source);
  const plain = externCRanges(code);
  const aliases = aliasesOf(code);
  const found = new Map<string, Signature>();
  const several = new Set<string>();
  for (const { index } of code.matchAll(/\b__global__\b/g)) {
    const head = headOf(code, index + "__global__".length);
    if (!head) continue;
    const before = code.slice(Math.max(...[...";{}"].map((end) => code.lastIndexOf(end, index))) + 1, index);
    const own = new Map(aliases);
    for (const [, name] of before.matchAll(/\b(?:typename|class)\s+(\w+)/g)) own.set(name as string, "?");
    const parameters = splitTop(head.parameters).map((text) => parameterOf(text, own));
    const plainName = /\bextern\s*"C"/.test(before) || plain.some(([from, to]) => index > from && index < to);
    const known = found.get(head.name);
    if (
      known &&
      JSON.stringify(known.parameters.map((p) => p.type)) !== JSON.stringify(parameters.map((p) => p.type))
    ) {
      several.add(head.name);
    }
    found.set(head.name, {
      name: head.name,
      parameters,
      plainName: plainName || (known?.plainName ?? false),
    });
  }
  for (const name of several) found.delete(name);
  return found;
}

/** Every kernel that a PTX text defines. */
export function kernelsOfPtx(ptx: string): Map<string, Signature> {
  const found = new Map<string, Signature>();
  const code = withoutComments(ptx);
  for (const [, name, list] of code.matchAll(/\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?/g)) {
    const parameters = (list ?? "")
      .split(",")
      .map((text) => text.trim().replace(/\s+/g, " "))
      .filter((text) => text.length > 0)
      .map((text): Parameter => ({ type: ptxType(text), text: text.replace(/^\.param /, "") }));
    found.set(name as string, { name: name as string, parameters, plainName: true });
  }
  return found;
}

function ptxType(text: string): ParameterType | null {
  const bits = /\.([busf])(8|16|32|64)\b/.exec(text);
  if (!bits) return null;
  const array = /\[(\d+)\]\s*$/.exec(text);
  if (array) return `bytes:${(Number(array[1]) * Number(bits[2])) / 8}`;
  const [, kind, width] = bits;
  if (kind === "f") return width === "32" ? "f32" : width === "64" ? "f64" : null;
  if (width === "64") return "b64";
  if (width === "32") return "b32";
  return `${kind === "s" ? "i" : "u"}${width as "8" | "16"}`;
}

/** Comments, strings and preprocessor lines become spaces, `"C"` stays; lines and offsets stay as they are. */
function withoutComments(source: string): string {
  const pattern =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|R"([^()\\\s]{0,16})\([\s\S]*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*/gm;
  return source.replace(pattern, (text) => (text === '"C"' ? text : text.replace(/[^\n]/g, " ")));
}

/** Stretches inside `extern "C" { … }`. */
function externCRanges(code: string): [number, number][] {
  return [...code.matchAll(/\bextern\s*"C"\s*\{/g)].map(({ index, 0: text }) => {
    const open = index + text.length - 1;
    return [open, closing(code, open)];
  });
}

/** Index of the bracket that closes the one at `open`; the end of the text when none does. */
function closing(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if ("([{".includes(code[at] as string)) depth++;
    else if (")]}".includes(code[at] as string) && --depth === 0) return at;
  }
  return code.length;
}

/** Name and parameter text of the function whose declaration goes on at `at`. */
function headOf(code: string, at: number): { name: string; parameters: string } | null {
  const word = /[A-Za-z_]\w*|[(;{]/g;
  word.lastIndex = at;
  let name: string | null = null;
  for (let match = word.exec(code); match; match = word.exec(code)) {
    const text = match[0];
    if (text === ";" || text === "{") return null;
    if (text !== "(") {
      name = text;
      continue;
    }
    const end = closing(code, match.index);
    // __launch_bounds__(256), __attribute__((…)), alignas(16): not the function's own brackets.
    const attribute = name === null || name.startsWith("__") || name === "alignas";
    if (!attribute) return { name: name as string, parameters: code.slice(match.index + 1, end) };
    word.lastIndex = end + 1;
  }
  return null;
}

/** Parts between the commas that stand in no brackets; none for an empty list. */
function splitTop(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  for (const character of text) {
    if ("([{<".includes(character)) depth++;
    if (")]}>".includes(character)) depth--;
    if (character === "," && depth === 0) {
      parts.push(part);
      part = "";
    } else part += character;
  }
  if (part.trim() !== "" && part.trim() !== "void") parts.push(part);
  return parts;
}

/** `typedef unsigned int u32;` and `using u32 = unsigned int;`: the name, and the text that it stands for. */
function aliasesOf(code: string): Map<string, string> {
  const aliases = new Map<string, string>();
  for (const [, text, name] of code.matchAll(/\btypedef\s+([^;{}()]+?)\s*\b(\w+)\s*;/g)) {
    aliases.set(name as string, text as string);
  }
  for (const [, name, text] of code.matchAll(/\busing\s+(\w+)\s*=\s*([^;]+);/g)) {
    aliases.set(name as string, text as string);
  }
  return aliases;
}

function parameterOf(declared: string, aliases: ReadonlyMap<string, string>): Parameter {
  const text = declared.trim().replace(/\s+/g, " ");
  return { type: typeOf(text.replace(/=.*$/, ""), aliases, 0), text };
}

function typeOf(declared: string, aliases: ReadonlyMap<string, string>, depth: number): ParameterType | null {
  const text = declared.replace(QUALIFIERS, " ").replace(/(?:\b(?:cuda|std)\s*)?::/g, " ");
  if (text.includes("&") || depth > 8) return null;
  if (/[*[]/.test(text)) return "ptr";
  if (/[<>(]/.test(text)) return null;
  const words = text.match(/\w+/g) ?? [];
  const builtin = words.filter((word) => KEYWORDS.has(word));
  if (builtin.length > 0) return TYPES[canonical(builtin)] ?? null;
  const name = words[0];
  if (name === undefined) return null;
  const alias = aliases.get(name);
  return alias === undefined ? (TYPES[name] ?? null) : typeOf(alias, aliases, depth + 1);
}

/** One spelling for `long unsigned int`, `unsigned long` and `unsigned long long int`. */
function canonical(words: readonly string[]): string {
  const unsigned = words.includes("unsigned");
  const base =
    ["double", "float", "bool", "char", "short", "long"].find((word) => words.includes(word)) ?? "int";
  if (base === "double" && words.includes("long")) return "long double";
  if (base === "char" && words.includes("signed")) return "signed char";
  return unsigned ? `unsigned ${base}` : base;
}
