import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { importFile, importFormats } from "../../../kernel/lab/import/index.js";
import { richDisplay } from "../../../kernel/lab/rich.js";
import { HWLOC, NCCL } from "../topology/helpers.js";
import * as fixtures from "./fixtures.js";
import { read, refusal, rows } from "./helpers.js";

const test = suite("import");
const folder = mkdtempSync(join(tmpdir(), "p2plab-import-"));
test.after(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const FORMATS: Readonly<Record<string, string>> = {
  NCCL_TESTS: "nccl-tests",
  NCCL_TESTS_JSON: "nccl-tests",
  NCCL_LOG: "nccl-log",
  NCCL_GRAPH: "nccl-graph",
  NVBANDWIDTH: "nvbandwidth",
  P2P_TEST: "p2pBandwidthLatencyTest",
  PERFTEST: "perftest",
  PERFTEST_JSON: "perftest",
  UCX_PERFTEST: "ucx_perftest",
  UCX_CSV: "ucx_perftest",
  SMI: "nvidia-smi",
  SMI_XML: "nvidia-smi-xml",
  SMI_Q: "nvidia-smi-q",
  NSYS_CSV: "nsys-stats",
  NSYS_TABLE: "nsys-stats",
  NSYS_JSON: "nsys-stats",
  NCU_DETAILS: "ncu-csv",
  NCU_RAW: "ncu-csv",
  NVPROF: "nvprof-csv",
  HWLOC_DISTANCES: "hwloc",
  BANDWIDTH_TEST: "bandwidthTest",
  GPU_COPY: "gpu_copy",
};

test("each format is told from its content, whatever the file is called, and by no other", async () => {
  const texts: readonly (readonly [string, string, string])[] = [
    ...Object.entries(fixtures).map(([name, text]) => [name, FORMATS[name] as string, text] as const),
    ["NCCL", "nccl-topology", NCCL],
    ["HWLOC", "hwloc", HWLOC],
  ];
  for (const [name, format, text] of texts) {
    const imported = await importFile(file("what.bin", text));
    assert.is(imported.format, format, name);
    assert.not(
      imported.notes.some((note) => /also (?:holds|looks like)/.test(note)),
      name,
    );
    assert.ok(
      importFormats().some((known) => known.format === format),
      name,
    );
  }
});

test("every table ends with machine, provenance and date, and is marked as imported", async () => {
  for (const [name, text] of Object.entries(fixtures)) {
    const imported = await read(text);
    assert.ok(Object.keys(imported.tables).length > 0, name);
    for (const [table, content] of Object.entries(imported.tables)) {
      assert.equal(content.columnNames().slice(-3), ["machine", "provenance", "date"], `${name} ${table}`);
      assert.ok(content.numRows() > 0, `${name} ${table}`);
      for (const row of rows(imported, table)) {
        assert.is(row.provenance, "imported");
        for (const value of Object.values(row)) {
          assert.ok(
            value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value),
            `${name} ${table} ${value}`,
          );
        }
      }
    }
  }
});

test("compressed files and bytes give the same as the file", async () => {
  const plain = await importFile(file("plain.txt", fixtures.NVBANDWIDTH));
  for (const input of [
    file("packed.gz", gzipSync(fixtures.NVBANDWIDTH)),
    Buffer.from(fixtures.NVBANDWIDTH),
  ]) {
    assert.equal(rows(await importFile(input), "cells"), rows(plain, "cells"));
  }
  const cut = gzipSync(fixtures.NVPROF.repeat(40)).subarray(0, 400);
  assert.match(
    (await refusal(importFile(file("cut.gz", cut)))).message,
    /cut\.gz.*(?:damaged or cut off|no known format)/,
  );
  const noise = Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.from("no gzip at all")]);
  assert.match((await refusal(importFile(noise))).message, /damaged or cut off/);
});

test("what several tools printed into one file gives the tables of all", async () => {
  const imported = await read(`${fixtures.NVBANDWIDTH}\n${fixtures.P2P_TEST}\n${fixtures.SMI}`);
  assert.is(imported.format, "nvbandwidth");
  assert.equal(
    Object.keys(imported.tables).filter((name) => /cells|nvlink$|pairs/.test(name)),
    ["cells", "p2pBandwidthLatencyTest_cells", "pairs", "nvlink"],
  );
  assert.ok(imported.topology);
  assert.ok(
    imported.notes.some((note) =>
      /also holds the output of p2pBandwidthLatencyTest: tables p2pBandwidthLatencyTest_cells, connectivity/.test(
        note,
      ),
    ),
  );
});

test("a format that is named is taken; one that is wrong is refused with what is missing", async () => {
  assert.is((await read(fixtures.UCX_CSV, { format: "ucx_perftest" })).format, "ucx_perftest");
  assert.match(
    (await refusal(read(fixtures.UCX_CSV, { format: "perftest" }))).message,
    /output of perftest: no row of results/,
  );
  const unknown = await refusal(read(fixtures.UCX_CSV, { format: "nothing" }));
  assert.is(unknown.code, "usage");
  assert.match(unknown.hint, /nccl-tests/);
  for (const options of [null, 7, "nccl-tests", { fromat: "auto" }, { format: 7 }]) {
    assert.is((await refusal(read(fixtures.UCX_CSV, options as never))).code, "usage");
  }
});

test("other files are refused with what they are", async () => {
  const complaint = async (content: string | Uint8Array) => (await refusal(read(content))).message;
  assert.match(await complaint(""), /is empty/);
  assert.match(await complaint("hello\nworld\n"), /no known format; its first line is "hello"/);
  assert.match(await complaint("     0    1\n0  0.00  2.5\n1  2.5  0.00\n"), /a matrix without its title/);
  assert.match(await complaint("ARROW1\0\0rest"), /Arrow/);
  assert.match(await complaint(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2])), /a program/);
  assert.match(await complaint(new Uint8Array(4096)), /binary file of no known format/);
  assert.match(await complaint(gzipSync(gzipSync("hello"))), /compressed with gzip more than once/);
  const utf32 = Buffer.from([
    0xff,
    0xfe,
    0,
    0,
    ...Buffer.from(new Uint32Array([...fixtures.P2P_TEST].map((c) => c.charCodeAt(0))).buffer),
  ]);
  assert.match(await complaint(utf32), /UTF-32/);
  const tar = Buffer.concat([
    Buffer.from("nccl.log".padEnd(257, "\0")),
    Buffer.from("ustar\0"),
    Buffer.alloc(800),
  ]);
  assert.match(await complaint(tar), /tar archive/);
  assert.match(await complaint(gzipSync(tar)), /tar archive/);
  assert.match(await complaint(" \n\t\n"), /nothing but blanks/);
  assert.match((await refusal(importFile(folder))).message, /it is a folder/);
  assert.match((await refusal(importFile("/dev/null"))).hint, /pipe it/);
  assert.match((await refusal(importFile(join(folder, "none")))).message, /cannot read/);
  for (const input of [undefined, null, 7, "", [], {}, Number.NaN]) {
    assert.is((await refusal(importFile(input as never))).code, "usage");
  }
});

test("a text of 4 GiB is refused without being read", async () => {
  const path = join(folder, "huge.txt");
  const handle = openSync(path, "w");
  writeSync(handle, fixtures.NCCL_TESTS.repeat(2000));
  ftruncateSync(handle, 2 ** 32);
  closeSync(handle);
  const began = process.memoryUsage().rss;
  assert.match(
    (await refusal(importFile(path))).message,
    /huge\.txt has 4096 MiB or more to read, more than 256 MiB/,
  );
  assert.ok(process.memoryUsage().rss - began < 200 * 2 ** 20);
});

test("it shows itself with its tables and notes, as text safe in HTML", async () => {
  const imported = await read(
    fixtures.NSYS_CSV.replace("[CUDA memcpy Peer-to-Peer]", "<script>alert(1)</script>"),
  );
  const bundle = imported[richDisplay]();
  assert.match(String(bundle["text/plain"]), /imported, not measured by this library/);
  assert.match(String(bundle["text/html"]), /<h4>cuda_gpu_trace \(3 rows\)<\/h4>/);
  assert.match(String(bundle["text/html"]), /&#60;script&#62;/);
  assert.not.match(String(bundle["text/html"]), /<script/);
});

test.run();
