/** SQLite files made by tests. They hold synthetic rows, and say so; nothing in them was captured on a machine. */

interface Statement {
  run(values: readonly unknown[]): void;
  free(): void;
}

interface Database {
  run(sql: string): void;
  prepare(sql: string): Statement;
  export(): Uint8Array;
  close(): void;
}

/** A table: its columns in order, and rows of values; bigint where a double holds no such number. */
export interface FixtureTable {
  readonly name: string;
  /** With types, such as `id INTEGER PRIMARY KEY`. */
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly unknown[]>;
}

export async function sqliteOf(tables: readonly FixtureTable[]): Promise<Uint8Array> {
  const name = "sql.js";
  const { default: open } = (await import(name)) as {
    default: () => Promise<{ Database: new () => Database }>;
  };
  const { Database } = await open();
  const database = new Database();
  database.run("BEGIN");
  for (const table of tables) {
    database.run(`CREATE TABLE ${table.name} (${table.columns.join(", ")})`);
    const insert = database.prepare(
      `INSERT INTO ${table.name} VALUES (${table.columns.map(() => "?").join(", ")})`,
    );
    for (const row of table.rows) insert.run(row);
    insert.free();
  }
  database.run("COMMIT");
  const bytes = database.export();
  database.close();
  return bytes;
}
