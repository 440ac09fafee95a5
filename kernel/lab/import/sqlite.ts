/** Reading SQLite files: `node:sqlite` where Node.js has it, otherwise sql.js, which keeps the whole file in memory. */
import { messageOf, P2pError } from "../errors.js";
import type { ImportSource } from "./importer.js";

/** What a column of a row may be. Integers beyond 2^53 are to be cut down in SQL, where they are exact. */
export type Cell = number | string | Uint8Array | null;

/** A SQLite file opened for reading. */
export interface SqliteFile {
  /** Columns of each plain table. Views and virtual tables are left out: their content is not in the file. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>;
  /** Where the file is damaged; reading went on behind, or stopped there. */
  readonly damage: readonly string[];
  /** Exact, by a walk over the table; 0 for a table that is not there. */
  count(table: string): number;
  /** Whatever is read of a damaged table before the damage arrives; the damage is noted. */
  scan(sql: string, onRow: (row: readonly Cell[]) => void): void;
  close(): void;
}

export const SQLITE_SIGNATURE = "SQLite format 3\0";

/** sql.js works on a copy in WebAssembly's memory, which ends at 2 GiB. */
const MOST_BYTES_IN_MEMORY = 1.5 * 1024 ** 3;
/** The smallest cell of a table's page with its pointer; a file that yields more rows than fit it goes in circles. */
const LEAST_ROW_BYTES = 6;

/** What both libraries offer, as far as it is needed here. */
interface Engine {
  /** Each row as it is stepped through; the array may be reused. */
  rows(sql: string): Iterable<readonly Cell[]>;
  close(): void;
}

/**
 * Opens a SQLite file.
 * @throws P2pError `import` when it is none, is cut off inside its schema, or is too large for this Node.js.
 */
export async function openSqlite(source: ImportSource): Promise<SqliteFile> {
  const engine = (await nodeEngine(source)) ?? (await memoryEngine(source));
  try {
    return new OpenedFile(engine, source);
  } catch (error) {
    engine.close();
    throw unreadable(source.name, error);
  }
}

class OpenedFile implements SqliteFile {
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>;
  readonly damage: string[] = [];
  readonly #engine: Engine;
  readonly #mostRows: number;

  constructor(engine: Engine, source: ImportSource) {
    this.#engine = engine;
    this.#mostRows = Math.max(1000, source.sizeBytes / LEAST_ROW_BYTES);
    const names: string[] = [];
    const plain = "type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite_%'";
    for (const [name] of engine.rows(`SELECT name FROM sqlite_master WHERE ${plain} LIMIT 10000`)) {
      if (typeof name === "string") names.push(name);
    }
    this.tables = new Map(names.map((name) => [name, this.#columnsOf(name)]));
  }

  count(table: string): number {
    if (!this.tables.has(table)) return 0;
    let rows = 0;
    this.scan(`SELECT count(*) FROM ${quoted(table)}`, ([count]) => {
      rows = Number(count);
    });
    return rows;
  }

  scan(sql: string, onRow: (row: readonly Cell[]) => void): void {
    let rows = 0;
    try {
      for (const row of this.#engine.rows(sql)) {
        if (++rows > this.#mostRows) throw new Error("it yields more rows than the file has room for");
        onRow(row);
      }
    } catch (error) {
      if (error instanceof P2pError) throw error;
      const table = /FROM "?(\w+)/.exec(sql)?.[1] ?? "a table";
      this.damage.push(`${table} is damaged behind row ${rows}: ${messageOf(error)}`);
    }
  }

  close(): void {
    this.#engine.close();
  }

  #columnsOf(table: string): ReadonlySet<string> {
    const names = new Set<string>();
    for (const row of this.#engine.rows(`PRAGMA table_info(${quoted(table)})`)) names.add(String(row[1]));
    return names;
  }
}

/** A name inside SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Only what is used of `node:sqlite`, which the types of Node.js 20 do not have. */
interface NodeSqlite {
  DatabaseSync: new (
    path: string,
    options: { readOnly: boolean },
  ) => {
    prepare(sql: string): {
      iterate(): Iterable<Record<string, Cell> | Cell[]>;
      /** From Node.js 22.16 on. */
      setReturnArrays?(enabled: boolean): void;
    };
    exec(sql: string): void;
    close(): void;
  };
  StatementSync: { prototype: { iterate?: unknown } };
}

/** Null where Node.js has none, or an early one, or there is no file it could open. */
async function nodeEngine({ path }: ImportSource): Promise<Engine | null> {
  if (path === null) return null;
  const name = "node:sqlite";
  const module = await (import(name) as Promise<NodeSqlite>).catch(() => null);
  if (typeof module?.StatementSync?.prototype.iterate !== "function") return null;
  try {
    const database = new module.DatabaseSync(path, { readOnly: true });
    database.exec("PRAGMA trusted_schema = OFF");
    return {
      *rows(sql) {
        const statement = database.prepare(sql);
        statement.setReturnArrays?.(true);
        for (const row of statement.iterate()) yield Array.isArray(row) ? row : Object.values(row);
      },
      close: () => database.close(),
    };
  } catch {
    // sql.js says what is wrong with the file, or reads it: it asks for no lock and no journal.
    return null;
  }
}

/** Only what is used of sql.js, which brings no types. */
interface SqlJs {
  Database: new (
    content: Uint8Array,
  ) => {
    prepare(sql: string): { step(): boolean; get(): Cell[]; free(): boolean };
    run(sql: string): unknown;
    close(): void;
  };
}

let sqlJs: Promise<SqlJs> | null = null;

async function memoryEngine(source: ImportSource): Promise<Engine> {
  if (source.sizeBytes > MOST_BYTES_IN_MEMORY) {
    throw new P2pError(
      "import",
      `${source.name} has ${(source.sizeBytes / 1e9).toFixed(1)} GB, more than the 1.6 GB that this Node.js can read of SQLite`,
      "Use Node.js 22.13 or newer, which reads SQLite from the disk, or export a shorter part of the report.",
    );
  }
  const bytes = await source.bytes(MOST_BYTES_IN_MEMORY);
  const name = "sql.js";
  sqlJs ??= (import(name) as Promise<{ default: () => Promise<SqlJs> }>).then((module) => module.default());
  const { Database } = await sqlJs;
  try {
    const database = new Database(withoutLog(bytes));
    database.run("PRAGMA trusted_schema = OFF");
    return {
      *rows(sql) {
        const statement = database.prepare(sql);
        try {
          while (statement.step()) yield statement.get();
        } finally {
          statement.free();
        }
      },
      close: () => database.close(),
    };
  } catch (error) {
    throw unreadable(source.name, error);
  }
}

/**
 * A file in write-ahead mode, without its log: bytes 18 and 19 say so, and sql.js, which can map no shared memory, refuses to
 * open it.
 */
function withoutLog(bytes: Uint8Array): Uint8Array {
  if (bytes[18] !== 2 && bytes[19] !== 2) return bytes;
  const plain = Uint8Array.from(bytes);
  plain[18] = 1;
  plain[19] = 1;
  return plain;
}

function unreadable(name: string, error: unknown): P2pError {
  if (error instanceof P2pError) return error;
  return new P2pError(
    "import",
    `${name} is no readable SQLite file: ${messageOf(error)}`,
    "It may be cut off or half written: export the report again, and copy the whole file.",
    { cause: error },
  );
}
