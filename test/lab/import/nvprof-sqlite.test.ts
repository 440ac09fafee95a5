import { suite } from "uvu";
import * as assert from "uvu/assert";
import * as timelines from "../../../kernel/lab/analyze/timeline/index.js";
import { P2pError } from "../../../kernel/lab/errors.js";
import { importer as nsys } from "../../../kernel/lab/import/nsys-sqlite.js";
import { importer } from "../../../kernel/lab/import/nvprof-sqlite.js";
import { spanAt, type Timeline } from "../../../kernel/lab/timeline.js";
import { sourceOf } from "./content-source.js";
import { nsysFixture } from "./nsys-fixture.js";
import { nvprofFixture } from "./nvprof-fixture.js";

const test = suite("nvprof SQLite");

test("calls by their numbers, peer copies of their own table, times since 1970 to the nanosecond", async () => {
  const imported = await importer.read(sourceOf(await nvprofFixture()));
  const timeline = imported.timeline as Timeline;
  const spans = timeline.kind.map((_, row) => spanAt(timeline, row));
  assert.equal(
    spans.map(({ kind, name, lane, startNs, endNs }) => [kind, name, lane, startNs, endNs]),
    [
      ["copy", "Memcpy HtoD", "GPU 0 stream 7", 20_000, 22_000],
      ["copy", "Memcpy PtoP", "GPU 0 stream 7", 30_000, 34_000],
      ["kernel", "vectorAdd", "GPU 0 stream 7", 40_000, 45_000],
      ["api", "cudaMemcpy", "host thread 1142654784", 10_000, 23_000],
      ["api", "cudaMemcpyPeerAsync", "host thread 1142654784", 26_000, 28_000],
      ["api", "cudaLaunchKernel", "host thread 1142654784", 36_000, 38_000],
      ["sync", "cudaDeviceSynchronize", "host thread 1142654784", 39_000, 46_000],
      ["api", "runtime call 9999", "host thread 1142654784", 47_000, 48_000],
      ["range", "step", "host thread 1142654784", 25_000, 35_000],
      ["overhead", "profiler instrumentation", "host", 0, 1000],
    ],
  );
  assert.equal([timeline.details?.from[1], timeline.details?.to[1]], [0, 1]);
  assert.equal(timeline.details?.memory.slice(0, 2), ["Pageable → Device", "Device → Device"]);
  assert.equal(timeline.origin, {
    machine: "2 × synthetic P100",
    provenance: "imported",
    date: "2017-06-08T14:50:26.915Z",
  });
  assert.match(String(imported), /synthetic: made to test a parser/);
  assert.match(String(imported), /1 row left out: NVTX ranges that were not closed/);
});

test("the same analyses as of every timeline", async () => {
  const imported = await importer.read(sourceOf(await nvprofFixture()));
  const rows = timelines.launches(imported).objects() as Record<string, unknown>[];
  assert.equal(
    rows.map(({ call, work, n, start_median_us }) => [call, work, n, start_median_us]),
    [
      ["cudaMemcpy", "HtoD", 1, 10],
      ["cudaMemcpyPeerAsync", "PtoP", 1, 4],
      ["cudaLaunchKernel", "kernel", 1, 4],
    ],
  );
  const range = timelines.ranges(imported).object() as Record<string, unknown>;
  assert.equal([range.range, range.copies, range.copy_bytes, range.kernels], ["step", 1, 65_536, 0]);
});

test("the two kinds of SQLite files are told apart", async () => {
  const [own, other] = [await nvprofFixture(), await nsysFixture("3.25.0")];
  const head = (bytes: Uint8Array) => bytes.subarray(0, 65_536);
  assert.ok(importer.detect(head(own), "") > nsys.detect(head(own), ""));
  assert.ok(nsys.detect(head(other), "") > importer.detect(head(other), ""));
  try {
    await nsys.read(sourceOf(own.subarray(0, 5000)));
    assert.unreachable();
  } catch (error) {
    assert.is((error as P2pError).code, "import");
    assert.instance(error, P2pError);
  }
});

test.run();
