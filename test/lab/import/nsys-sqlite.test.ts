import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import * as timelines from "../../../kernel/lab/analyze/timeline/index.js";
import { P2pError } from "../../../kernel/lab/errors.js";
import type { Imported } from "../../../kernel/lab/import/importer.js";
import { importer } from "../../../kernel/lab/import/nsys-sqlite.js";
import type { Table } from "../../../kernel/lab/measure/table.js";
import { spanAt, type Timeline } from "../../../kernel/lab/timeline.js";
import { sourceOf } from "./content-source.js";
import { nsysFixture, nsysTable, SCHEMAS } from "./nsys-fixture.js";
import { sqliteOf } from "./sqlite-fixture.js";

const test = suite("Nsight Systems SQLite");

const rowsOf = (table: Table | undefined) => (table?.objects() ?? []) as Record<string, unknown>[];
const timelineOf = (imported: Imported) => imported.timeline as Timeline;
const named = (rows: Record<string, unknown>[], where: Record<string, unknown>) =>
  rows.find((row) => Object.entries(where).every(([name, value]) => row[name] === value)) as Record<
    string,
    unknown
  >;

async function errorOf(run: () => Promise<unknown>): Promise<P2pError> {
  try {
    await run();
  } catch (error) {
    assert.instance(error, P2pError);
    return error as P2pError;
  }
  return assert.unreachable("no error") as never;
}

for (const schema of SCHEMAS) {
  test(`schema ${schema}: calls, copies and kernels as they were written`, async () => {
    const bytes = await nsysFixture(schema);
    assert.is(importer.detect(bytes.subarray(0, 65_536), "x"), 1);
    const imported = await importer.read(sourceOf(bytes));
    const timeline = timelineOf(imported);
    const spans = timeline.kind.map((_, row) => ({ ...spanAt(timeline, row), row }));
    // The earliest span began 2 µs before the capture: that is the zero.
    const peer = spans.find(({ name }) => name === "Memcpy PtoP");
    assert.is(peer?.startNs, 17_000);
    assert.is(peer?.endNs, 20_000);
    assert.is(peer?.bytes, 1_048_576);
    assert.is(peer?.lane, "GPU 0 stream 7 (process 4321)");
    assert.is(timeline.details?.from[peer?.row as number], 0);
    assert.is(timeline.details?.to[peer?.row as number], 1);
    assert.is(timeline.details?.memory[peer?.row as number], "Device → Device");
    const kernels = spans.filter(({ kind }) => kind === "kernel").map(({ name }) => name.slice(0, 12));
    assert.equal(kernels, ["加法 kernel", "加法 kernel", "long xxxxxxx"]);
    assert.equal(
      spans.filter(({ kind }) => kind === "sync").map(({ name, lane }) => [name, lane]),
      [
        ["cudaStreamSynchronize", "host process 4321 thread 77"],
        ["cudaStreamSynchronize", "host process 4321 thread 77"],
      ],
    );
    assert.is(spans.filter(({ kind }) => kind === "range").length, 2);
    assert.is(imported.version, "0.0.0 synthetic");
    assert.equal(timeline.origin, {
      machine: "2 × synthetic GPU",
      provenance: "imported",
      date: "2025-06-15T15:06:40.123Z",
    });
  });

  test(`schema ${schema}: work is joined to calls within its process only`, async () => {
    const imported = await importer.read(sourceOf(await nsysFixture(schema)));
    const launches = rowsOf(timelines.launches(imported));
    const peer = named(launches, { call: "cudaMemcpyPeerAsync" });
    assert.equal(
      [peer.work, peer.n, peer.start_median_us, peer.queue_median_us, peer.began_in_call],
      ["PtoP", 1, 5, 3, 0],
    );
    const kernel = named(launches, { call: "cudaLaunchKernel" });
    assert.equal([kernel.n, kernel.start_median_us], [1, 10]);
    const synchronous = named(launches, { call: "cudaMemcpyAsync" });
    assert.equal([synchronous.n, synchronous.queue_median_us, synchronous.began_in_call], [1, 0, 1]);
    assert.is(named(launches, { call: "cudaGraphLaunch" }).n, 1, "of a graph, the first node only");
    assert.match(String(peer.inputs), /^5 of 8 pieces of work joined to 6 calls, 1 later nodes/);
  });

  test(`schema ${schema}: says what is missing, and nothing of the environment`, async () => {
    const imported = await importer.read(sourceOf(await nsysFixture(schema)));
    const said = `${imported} ${JSON.stringify(Object.values(imported.tables).map(rowsOf))}`;
    assert.match(said, /synthetic: made to test a parser/);
    assert.match(said, /1 row left out: NVTX ranges that were not closed/);
    assert.match(said, /the profiler's warning: buffers were dropped/);
    assert.not.match(said, /hunter2|SECRET|nothing of note|"secret"/);
    const join = named(rowsOf(imported.tables.health), { check: "work joined to its call" });
    assert.equal([join.state, join.value], ["limited", 62.5]);
    const manifest = named(rowsOf(imported.tables.manifest), { table: "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" });
    assert.equal([manifest.rows, manifest.reason], [null, "not captured, or none happened"]);
    for (const table of Object.values(imported.tables)) {
      for (const row of rowsOf(table)) {
        assert.is(row.provenance, "imported");
        for (const value of Object.values(row))
          assert.not(typeof value === "number" && !Number.isFinite(value));
      }
    }
  });
}

test("a newer schema is read by names, and said to be newer", async () => {
  const bytes = await sqliteOf([
    { name: "StringIds", columns: ["id INTEGER", "value TEXT"], rows: [[1, "k"]] },
    {
      name: "META_DATA_EXPORT",
      columns: ["name TEXT", "value TEXT"],
      rows: [["EXPORT_SCHEMA_VERSION", "4.1.0"]],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_KERNEL",
      columns: ["shortName", "novel", '"end"', "start"],
      rows: [[1, 2, 30, 10]],
    },
  ]);
  const imported = await importer.read(sourceOf(bytes));
  assert.match(String(imported), /schema 4\.1\.0 is newer than 3\.28/);
  assert.equal(spanAt(timelineOf(imported), 0).endNs, 20);
});

test("work that does not name its process is joined all the same", async () => {
  const bytes = await sqliteOf([
    {
      name: "StringIds",
      columns: ["id INTEGER", "value TEXT"],
      rows: [
        [1, "k"],
        [2, "cudaLaunchKernel"],
      ],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_KERNEL",
      columns: ["start", '"end"', "deviceId", "correlationId", "shortName"],
      rows: [[100, 200, 0, 5, 1]],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_RUNTIME",
      columns: ["start", '"end"', "globalTid", "correlationId", "nameId"],
      rows: [[10, 20, 2n ** 56n + 5n, 5, 2]],
    },
  ]);
  assert.is(rowsOf(timelines.launches(await importer.read(sourceOf(bytes))))[0]?.n, 1);
});

test("an empty capture is not called healthy", async () => {
  const bytes = await sqliteOf([{ name: "StringIds", columns: ["id INTEGER", "value TEXT"], rows: [] }]);
  const imported = await importer.read(sourceOf(bytes));
  assert.match(String(imported), /an empty capture says nothing about health/);
  const states = rowsOf(imported.tables.health).filter(({ check }) => String(check).endsWith("recorded"));
  assert.ok(states.length === 4 && states.every(({ state }) => state === "missing"));
  assert.match(String(rowsOf(imported.tables.copies)[0]?.reason), /no copy by the driver was recorded/);
});

test("rows that make no sense are left out and counted", async () => {
  const columns = ["start", '"end"', "deviceId", "streamId", "correlationId", "bytes", "copyKind"];
  const bytes = await nsysTable("CUPTI_ACTIVITY_KIND_MEMCPY", columns, [
    [10, 20, 0, 7, 1, 8, 8],
    [20, 10, 0, 7, 2, 8, 8],
    [null, 10, 0, 7, 3, 8, 8],
    ["text", 30, "GPU", 7, -4, 2n ** 62n, 99],
    [2n ** 62n, 2n ** 62n + 7n, 2n ** 40n, -1, 2n ** 40n, -8, 10],
  ]);
  const imported = await importer.read(sourceOf(bytes));
  assert.match(String(imported), /2 rows left out: copies without a begin or end/);
  assert.is(timelineOf(imported).kind.length, 3);
  for (const row of rowsOf(timelines.copies(imported))) assert.not.equal(row.n, null);
});

test("other SQLite files, cut ones and text are refused with what is wrong", async () => {
  const other = await sqliteOf([{ name: "songs", columns: ["title TEXT"], rows: [["a"]] }]);
  assert.match(
    (await errorOf(() => importer.read(sourceOf(other)))).message,
    /without the tables of Nsight Systems; it has songs/,
  );
  const bytes = await nsysFixture("3.25.0");
  const cut = await errorOf(() => importer.read(sourceOf(bytes.subarray(0, 3000), "cut.sqlite")));
  assert.equal([cut.code, /cut\.sqlite is no readable SQLite file/.test(cut.message)], ["import", true]);
  assert.is((await errorOf(() => importer.read(sourceOf("no database at all")))).code, "import");
  assert.is(importer.detect(Buffer.from("no database at all"), "x"), 0);
});

test("of a file cut behind its schema, what is readable is read, and the damage is said", async () => {
  const bytes = await nsysFixture("3.25.0");
  const holed = Uint8Array.from(bytes);
  // Page 1 holds the schema; the last third of the file is lost.
  holed.fill(0, Math.floor(bytes.length * 0.66));
  const imported = await importer.read(sourceOf(holed));
  assert.match(String(imported), /is damaged behind row \d+/);
});

test("a view in place of a table is not run", async () => {
  const name = "sql.js";
  const { default: open } = await import(name);
  const database = new (await open()).Database();
  database.run("CREATE TABLE StringIds (id INTEGER, value TEXT)");
  database.run(
    'CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS "end" FROM n',
  );
  const imported = await importer.read(sourceOf(database.export()));
  assert.is(timelineOf(imported).kind.length, 0);
});

test("a file on the disk gives the same as its content, by whatever library this Node.js reads it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-nsys-"));
  try {
    const bytes = await nsysFixture("3.25.0");
    const path = join(folder, "report.sqlite");
    writeFileSync(path, bytes);
    const [file, content] = [
      await importer.read({ ...sourceOf(bytes), path }),
      await importer.read(sourceOf(bytes)),
    ];
    assert.equal(file.timeline, content.timeline);
    assert.equal(file.notes, content.notes);
    for (const [name, table] of Object.entries(file.tables))
      assert.equal(rowsOf(table), rowsOf(content.tables[name]));
    writeFileSync(path, bytes.subarray(0, 5000));
    assert.is(
      (await errorOf(() => importer.read({ ...sourceOf(bytes.subarray(0, 5000)), path }))).code,
      "import",
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a file larger than memory is refused before it is read", async () => {
  const source = {
    ...sourceOf("x"),
    sizeBytes: 4 * 2 ** 30,
    bytes: () => assert.unreachable("read") as never,
  };
  const error = await errorOf(() => importer.read(source));
  assert.match(error.message, /has 4\.3 GB, more than/);
  assert.match(error.hint, /Node\.js 22/);
});

test.run();
