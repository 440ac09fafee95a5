/** A machine that was described in a file: the same questions as of the live one. */
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf, P2pError, shown } from "../errors.js";
import { readRegularFile } from "../files.js";
import { ALLOCATORS, type Outcome, type Verdict } from "../verdict.js";
import { answersOf, type DriverAnswers } from "./driver.js";
import type { LadderFacts } from "./facts.js";
import { FolderRoot, MOST_BYTES, type Root, type Space, textOf } from "./root.js";
import { known, type Told, unknown } from "./told.js";

/** Name of the file in a snapshot's folder. */
export const SNAPSHOT_FILE = "machine.json";
const SCHEMA = "p2plab-machine/1";
const MOST_FILE_BYTES = 64 * 2 ** 20;
const MOST_LINKS = 40;
const OUTCOMES: readonly Outcome[] = ["ok", "no-p2p", "broken", "mirror", "hang", "inconclusive"];

/** A file's text; or its bytes in hexadecimal, zeros up to `bytes` left out; where a link leads; why it cannot be read; an empty folder. */
export type Entry =
  | string
  | { readonly hex: string; readonly bytes?: number }
  | { readonly link: string }
  | { readonly error: string }
  | { readonly folder: true };

/** A snapshot as it stands in its file. */
export interface SnapshotFile {
  readonly name: string;
  readonly date: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly spaces: Readonly<Record<string, Space>>;
  readonly driver: DriverAnswers;
  readonly verdicts: readonly Verdict[];
  readonly files: Readonly<Record<string, Entry>>;
}

/** Text of a `machine.json`, a file of the machine a line. */
export function snapshotText({ files, ...rest }: SnapshotFile): string {
  const head = JSON.stringify({ schema: SCHEMA, synthetic: false, ...rest }, null, 1).slice(0, -2);
  const lines = Object.entries(files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, entry]) => `  ${JSON.stringify(path)}: ${JSON.stringify(entry)}`);
  return `${head},\n "files": {\n${lines.join(",\n")}\n }\n}\n`;
}

/** The file that a snapshot is saved as, in a folder or under a name of its own. */
export function savedAs(path: string): string {
  return path.endsWith(".json") ? path : join(path, SNAPSHOT_FILE);
}

export interface Snapshot {
  /** Empty where it tells none. */
  readonly name: string;
  /** Made up, and not taken from a machine. */
  readonly synthetic: boolean;
  /** When it was taken, ISO 8601. */
  readonly date: string;
  readonly root: Root;
  readonly environment: Readonly<Record<string, string>>;
  readonly driver: DriverAnswers;
  readonly ladder: LadderFacts;
}

/**
 * Opens a snapshot: a `machine.json`, or a folder with one. Files of the machine stand in its `files`, and those that do not in
 * the folder beside it.
 * @throws P2pError `topology` for what is no snapshot.
 */
export function openSnapshot(path: string): Snapshot {
  const file = isFolder(path) ? join(path, SNAPSHOT_FILE) : path;
  const json = parsed(file);
  const files = objectOf(json.files, "files", file) as Record<string, Entry>;
  const spaces = objectOf(json.spaces, "spaces", file) as Record<string, Space>;
  const environment = objectOf(json.environment, "environment", file);
  return {
    name: typeof json.name === "string" ? json.name : "",
    synthetic: json.synthetic === true,
    date: typeof json.date === "string" && !Number.isNaN(Date.parse(json.date)) ? json.date : "1970-01-01",
    root: new ListedRoot(files, spaces, new FolderRoot(dirname(file))),
    environment: Object.fromEntries(
      Object.entries(environment).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    ),
    driver: answersOf(json.driver),
    ladder: ladderOf(json.verdicts, file),
  };
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

function parsed(file: string): Readonly<Record<string, unknown>> {
  let json: unknown;
  try {
    json = JSON.parse(readRegularFile(file, MOST_FILE_BYTES).toString("utf8"));
  } catch (error) {
    throw bad(`cannot read the snapshot ${file}: ${messageOf(error)}`, error);
  }
  const whole = objectOf(json, "the whole", file);
  if (whole.schema !== SCHEMA)
    throw bad(`${file} has the schema ${shown(whole.schema)}, not ${shown(SCHEMA)}`);
  return whole;
}

/** Verdicts as `lab.verdicts` gave them, GPUs by their place among the driver's answers. */
function ladderOf(value: unknown, file: string): LadderFacts {
  if (value === undefined) return { verdicts: [], unasked: 0, reason: "the snapshot holds no verdicts" };
  if (!Array.isArray(value)) throw bad(`${file}: verdicts is ${shown(value)}, not a list`);
  const verdicts = value.map((one, i): Verdict => {
    const { from, to, allocator, outcome, stage, reason, next } = objectOf(one, `verdicts[${i}]`, file);
    const right =
      Number.isInteger(from) &&
      Number.isInteger(to) &&
      ALLOCATORS.includes(allocator as Verdict["allocator"]) &&
      OUTCOMES.includes(outcome as Outcome);
    if (!right) throw bad(`${file}: verdicts[${i}] lacks a pair, an allocator or an outcome that is known`);
    const words = (word: unknown) => (typeof word === "string" ? word : "");
    return {
      from: from as number,
      to: to as number,
      allocator: allocator as Verdict["allocator"],
      outcome: outcome as Outcome,
      stage: words(stage) as Verdict["stage"],
      reason: words(reason),
      next: words(next),
    };
  });
  return { verdicts, unasked: 0, reason: verdicts.length > 0 ? null : "the snapshot holds no verdicts" };
}

function objectOf(value: unknown, what: string, file: string): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw bad(`${file}: ${what} is ${shown(value)}, not an object`);
}

function bad(what: string, cause?: unknown): P2pError {
  return new P2pError(
    "topology",
    what,
    `Give a folder that holds a ${SNAPSHOT_FILE}, or that file.`,
    cause === undefined ? undefined : { cause },
  );
}

/** Files listed in one object, and a folder for those that are not. */
class ListedRoot implements Root {
  readonly #files: ReadonlyMap<string, Entry>;
  readonly #folders = new Map<string, Set<string>>();
  readonly #spaces: ReadonlyMap<string, Space>;
  readonly #beside: Root;

  constructor(files: Readonly<Record<string, Entry>>, spaces: Readonly<Record<string, Space>>, beside: Root) {
    this.#files = new Map(Object.entries(files));
    this.#spaces = new Map(Object.entries(spaces));
    this.#beside = beside;
    for (const [path, entry] of this.#files) {
      if (isFolderEntry(entry)) this.#folders.set(path, this.#folders.get(path) ?? new Set());
      const parts = path.split("/").filter(Boolean);
      for (let i = 0; i < parts.length; i++) {
        const folder = `/${parts.slice(0, i).join("/")}`;
        const names = this.#folders.get(folder) ?? new Set();
        this.#folders.set(folder, names.add(parts[i] as string));
      }
    }
  }

  bytes(path: string): Told<Uint8Array> {
    const at = this.#resolved(path, true);
    const entry = at === null ? undefined : this.#files.get(at);
    if (entry === undefined) return at === null ? unknown(circle(path)) : this.#beside.bytes(path);
    if (typeof entry === "string") return known(Buffer.from(entry).subarray(0, MOST_BYTES));
    if (typeof entry === "object" && entry !== null && "hex" in entry && typeof entry.hex === "string") {
      const told = Buffer.from(entry.hex, "hex");
      const wanted = typeof entry.bytes === "number" && entry.bytes >= 0 ? entry.bytes : told.length;
      const content = Buffer.alloc(Math.min(wanted, MOST_BYTES));
      told.copy(content);
      return known(content);
    }
    if (typeof entry === "object" && entry !== null && "error" in entry)
      return unknown(`${path}: ${entry.error}`);
    return unknown(`${path}: the snapshot has no content for it`);
  }

  text(path: string): Told<string> {
    return textOf(this.bytes(path));
  }

  list(path: string): Told<readonly string[]> {
    const at = this.#resolved(path, true);
    const names = at === null ? undefined : this.#folders.get(at);
    const beside = this.#beside.list(path);
    if (names === undefined) return beside;
    return known([...new Set([...names, ...(beside.value ?? [])])].sort());
  }

  link(path: string): Told<string> {
    const at = this.#resolved(path, false);
    const entry = at === null ? undefined : this.#files.get(at);
    const target = linkOf(entry);
    return target === null ? this.#beside.link(path) : known(target);
  }

  exists(path: string): boolean {
    const at = this.#resolved(path, true);
    return (at !== null && (this.#files.has(at) || this.#folders.has(at))) || this.#beside.exists(path);
  }

  space(path: string): Told<Space> {
    const { totalBytes, freeBytes } = this.#spaces.get(path) ?? {};
    if (typeof totalBytes !== "number" || typeof freeBytes !== "number") {
      return unknown(`${path}: the snapshot does not tell its size`);
    }
    return known({ totalBytes, freeBytes });
  }

  /** The path with its links followed; null where they lead in a circle. */
  #resolved(path: string, last: boolean): string | null {
    let left = path.split("/").filter(Boolean);
    let here: string[] = [];
    let followed = 0;
    while (left.length > 0) {
      const part = left.shift() as string;
      if (part === ".") continue;
      if (part === "..") {
        here.pop();
        continue;
      }
      const at = `/${[...here, part].join("/")}`;
      const target = left.length > 0 || last ? linkOf(this.#files.get(at)) : null;
      if (target === null) {
        here.push(part);
        continue;
      }
      if (++followed > MOST_LINKS) return null;
      left = [...target.split("/").filter(Boolean), ...left];
      if (target.startsWith("/")) here = [];
    }
    return `/${here.join("/")}`;
  }
}

function isFolderEntry(entry: Entry): boolean {
  return typeof entry === "object" && entry !== null && "folder" in entry;
}

function circle(path: string): string {
  return `${path}: links that lead in a circle`;
}

function linkOf(entry: Entry | undefined): string | null {
  const isLink = typeof entry === "object" && entry !== null && "link" in entry;
  return isLink && typeof entry.link === "string" ? entry.link : null;
}
