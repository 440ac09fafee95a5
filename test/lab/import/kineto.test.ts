import { gzipSync } from "node:zlib";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import * as timelines from "../../../kernel/lab/analyze/timeline/index.js";
import { P2pError } from "../../../kernel/lab/errors.js";
import type { Imported } from "../../../kernel/lab/import/importer.js";
import { importer } from "../../../kernel/lab/import/kineto.js";
import { spanAt, type Timeline } from "../../../kernel/lab/timeline.js";
import { sourceOf } from "./content-source.js";
import { kinetoTrace, peerCopyEvents } from "./kineto-fixture.js";

const test = suite("Kineto");

const read = (text: string | Uint8Array, partBytes?: number) =>
  importer.read(sourceOf(text, "trace.json", partBytes));
const spansOf = ({ timeline }: Imported) =>
  (timeline as Timeline).kind.map((_, row) => spanAt(timeline as Timeline, row));

test("a peer copy, its call and the wait for it", async () => {
  for (const partBytes of [7, 1000, 65_536]) {
    const imported = await read(kinetoTrace(peerCopyEvents()), partBytes);
    const spans = spansOf(imported);
    assert.equal(
      spans.map(({ kind, name, lane, startNs, endNs }) => [kind, name, lane, startNs, endNs]),
      [
        ["range", "exchange 交换", "host thread 563", 0, 40_000],
        ["api", "cudaMemcpyAsync", "host thread 563", 10_000, 15_500],
        ["copy", "Memcpy PtoP", "GPU 0 stream 7", 18_250, 22_500],
        ["sync", "cudaDeviceSynchronize", "host thread 563", 16_000, 26_000],
        ["overhead", "profiler: Activity Buffer Request", "host thread 0", 5000, 7000],
      ],
    );
    assert.is(spans[2]?.bytes, 2 ** 20);
    assert.equal([imported.timeline?.details?.from[2], imported.timeline?.details?.to[2]], [0, 1]);
    const launch = timelines.launches(imported).object() as Record<string, unknown>;
    assert.equal([launch.work, launch.n, launch.start_median_us], ["PtoP", 1, 8.25]);
  }
});

test("gzip, an outermost list and the words of old traces", async () => {
  assert.is(spansOf(await read(gzipSync(kinetoTrace(peerCopyEvents())))).length, 5);
  const old = `[{"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7", "ts": 10, "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 4, "bytes": 64}},
    {"ph": "X", "cat": "Runtime", "name": "cudaMemcpy", "pid": 1, "tid": "1", "ts": 1682725898083829, "dur": 2, "args": {}}]`;
  assert.ok(importer.detect(Buffer.from(old), "x") > 0.5);
  const [copy] = spansOf(await read(old));
  assert.equal([copy?.kind, copy?.lane, copy?.bytes], ["copy", "GPU 0 stream 7", 64]);
});

test("nanoseconds survive in times since 1970", async () => {
  const events = ["1712195495506161.234", "1712195495506161.235"].map(
    (ts) =>
      `{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ${ts}, "dur": 0.5, "args": {"device": 0, "stream": 7}}`,
  );
  const imported = await read(`{"traceEvents": [${events.join(",")}]}`);
  assert.equal(
    spansOf(imported).map(({ startNs }) => Math.round(startNs)),
    [0, 1],
  );
  assert.is(imported.timeline?.origin?.date?.slice(0, 10), "2024-04-04");
});

test("a begin and an end apart are one span", async () => {
  const events = [
    `{"ph": "B", "cat": "user_annotation", "name": "outer", "pid": 1, "tid": 2, "ts": 10}`,
    `{"ph": "B", "cat": "user_annotation", "name": "inner", "pid": 1, "tid": 2, "ts": 11}`,
    `{"ph": "E", "pid": 1, "tid": 2, "ts": 12}`,
    `{"ph": "E", "pid": 1, "tid": 2, "ts": 15}`,
    `{"ph": "B", "cat": "user_annotation", "name": "open", "pid": 1, "tid": 2, "ts": 16}`,
  ];
  const imported = await read(`{"traceEvents": [${events.join(",")}]}`);
  assert.equal(
    spansOf(imported).map(({ name, endNs }) => [name, endNs]),
    [
      ["inner", 2000],
      ["outer", 5000],
    ],
  );
  assert.match(String(imported), /1 row left out: events that began and did not end/);
});

test("waiting is taken from CUPTI's records only where the calls are missing", async () => {
  const events = peerCopyEvents().filter((event) => !event.includes("cudaDeviceSynchronize"));
  const kinds = spansOf(await read(kinetoTrace(events))).filter(({ kind }) => kind === "sync");
  assert.equal(
    kinds.map(({ name }) => name),
    ["Context Sync"],
  );
});

test("names of users and hosts are not read", async () => {
  const imported = await read(kinetoTrace(peerCopyEvents()));
  assert.not.match(JSON.stringify(imported), /someone|somewhere/);
  assert.is(imported.timeline?.origin?.machine, "2 × synthetic GPU");
  assert.match(String(imported), /1 row left out: events of category "python_function"/);
});

test("of a cut or damaged trace the rest is read, and what is missing is said", async () => {
  const whole = kinetoTrace(peerCopyEvents());
  const cut = await read(whole.slice(0, whole.indexOf("cuda_sync")));
  assert.is(spansOf(cut).length, 4);
  assert.match(String(cut), /the file ends in the middle of the trace, behind 6 events/);
  const damaged = await read(whole.replace('"dur": 5.5', '"dur": 5.5.5'));
  assert.is(spansOf(damaged).length, 4);
  assert.match(String(damaged), /1 damaged event left out, the first: .*cudaMemcpyAsync/);
  const cpu = await read(`{"traceEvents": [${peerCopyEvents()[1]}]}`);
  assert.match(String(cpu), /no work on a GPU/);
});

test("XLA's profiler: work on the lanes of streams, sizes and ends from its words, nothing twice", async () => {
  const name = (pid: number, what: string, text: string, tid?: number) =>
    JSON.stringify({ ph: "M", pid, tid, name: what, args: { name: text } });
  const work = (tid: number, ts: number, what: string, args: object, pid = 2) =>
    JSON.stringify({ ph: "X", pid, tid, ts, dur: 4.5, name: what, args });
  const imported = await read(
    kinetoTrace([
      name(1, "process_name", "/host:CPU"),
      name(2, "process_name", "/device:GPU:1"),
      name(2, "thread_name", "Stream #14(MemcpyP2P)", 14),
      name(2, "thread_name", "XLA Ops", 90),
      work(7, 10, "cuMemcpyPeerAsync", { correlation_id: "77" }, 1),
      work(8, 11, "ThunkExecutor", {}, 1),
      work(14, 16.5, "MemcpyP2P", {
        correlation_id: "77",
        memcpy_details: "kind_src:device kind_dst:device size:1048576 dest:3 async:1",
      }),
      work(14, 30, "fusion_3", { correlation_id: "78" }),
      work(90, 30, "fusion.3", {}),
    ]),
  );
  assert.equal(
    spansOf(imported).map(({ kind, name: what, lane, bytes }) => [kind, what, lane, bytes]),
    [
      ["api", "cuMemcpyPeerAsync", "host thread 7", 0],
      ["copy", "Memcpy PtoP", "GPU 1 stream 14", 2 ** 20],
      ["kernel", "fusion_3", "GPU 1 stream 14", 0],
    ],
  );
  assert.equal([imported.timeline?.details?.from[1], imported.timeline?.details?.to[1]], [1, 3]);
  const launch = timelines.launches(imported).object() as Record<string, unknown>;
  assert.equal([launch.work, launch.start_median_us], ["PtoP", 6.5]);
  assert.match(imported.title, /XLA/);
});

test("what is no trace is refused", async () => {
  for (const text of ["", "not json", '{"a": 1', '{"traceEvents": [', '{"traceEvents": [{"ph"']) {
    try {
      await read(text);
      assert.unreachable(text);
    } catch (error) {
      assert.instance(error, P2pError);
      assert.is((error as P2pError).code, "import");
      assert.match((error as P2pError).message, /trace\.json holds no readable trace event/);
    }
  }
  assert.is(importer.detect(Buffer.from('{"nvbandwidth": {}}'), "x"), 0);
});

test("strange values are no crash", async () => {
  const strange = [
    "null",
    "5",
    "[]",
    "{}",
    '{"ph": "X"}',
    '{"ph": "X", "cat": {}, "name": 5, "ts": "x", "dur": null}',
    '{"ph": "X", "cat": "constructor", "ts": 1, "dur": 1}',
    '{"ph": "X", "cat": "kernel", "ts": 1, "dur": -1, "args": 7}',
    '{"ph": "X", "cat": "kernel", "ts": 1e300, "dur": 1e300, "args": {"device": 1e30, "stream": "a"}}',
  ];
  const imported = await read(`{"traceEvents": [${strange.join(",")}]}`);
  assert.ok(spansOf(imported).every(({ startNs, endNs }) => Number.isFinite(startNs) && endNs >= startNs));
});

test.run();
