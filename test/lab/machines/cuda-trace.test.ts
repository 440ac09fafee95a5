import { suite } from "uvu";
import * as assert from "uvu/assert";
import { traceOf } from "../../../kernel/lab/machines/cuda-trace.js";
import type { NativeTrace } from "../../../kernel/lab/native.js";
import { type Program, program } from "../../../kernel/lab/program.js";

const test = suite("the traced pass");

const copy = (bytes: number): Program =>
  program()
    .buffer("a", { gpu: 0, bytes })
    .buffer("b", { gpu: 1, bytes })
    .stream("s", { gpu: 0 })
    .copy("s", "a", "b")
    .sync("s");

interface Record {
  readonly kind: 1 | 2 | 3 | 4 | 5;
  readonly startNs: number;
  readonly endNs: number;
  readonly bytes: number;
  readonly correlation?: number;
}

/** Iterations of 1000 ns, one after the other, with these records in each. */
function traced(iterations: readonly (readonly Record[])[]): NativeTrace {
  const records = iterations.flatMap((list, i) =>
    list.map((r) => ({ ...r, startNs: r.startNs + i * 1000, endNs: r.endNs + i * 1000 })),
  );
  const n = iterations.length;
  return {
    t0: Float64Array.from({ length: n }, (_, i) => i * 1000),
    apiEnd: Float64Array.from({ length: n }, (_, i) => i * 1000 + 100),
    t4: Float64Array.from({ length: n }, (_, i) => i * 1000 + 900),
    kind: Uint8Array.from(records, (r) => r.kind),
    startNs: Float64Array.from(records, (r) => r.startNs),
    endNs: Float64Array.from(records, (r) => r.endNs),
    bytes: Float64Array.from(records, (r) => r.bytes),
    correlation: Float64Array.from(records, (r, i) => r.correlation ?? i),
    device: new Int32Array(records.length),
    stream: new Float64Array(records.length),
    name: records.map(() => "PtoP"),
    dropped: 0,
    cancelled: false,
  };
}

test("an iteration runs from its entry over the engine to the host", () => {
  const result = traceOf(copy(64), traced([[{ kind: 2, startNs: 200, endNs: 700, bytes: 64 }]]));
  assert.ok("trace" in result);
  assert.equal(
    [result.trace.launchNs, result.trace.engineNs, result.trace.receiverNs].map((part) => part[0]),
    [200, 500, 200],
  );
  assert.equal(result.warnings, []);
});

test("a copy of which the tracer shows only a piece gives no trace, but says how much was seen", () => {
  const last = { kind: 2, startNs: 600, endNs: 700, bytes: 1000 } as const;
  const result = traceOf(copy(4096), traced([[last], [last], [last]]));
  assert.ok("reason" in result);
  assert.match(result.reason, "shows 1000 of the 4096 bytes");
  assert.match(result.reason, "stages the copy in pieces");
});

test("a copy that the driver stages whole is seen twice, into the host and out of it", () => {
  const result = traceOf(
    copy(64),
    traced([
      [
        { kind: 2, startNs: 200, endNs: 300, bytes: 64 },
        { kind: 2, startNs: 350, endNs: 500, bytes: 64 },
      ],
    ]),
  );
  assert.ok("trace" in result);
  assert.is(result.trace.engineNs[0], 300);
});

test("a few iterations that were not seen whole are left out, and said", () => {
  const whole = { kind: 2, startNs: 200, endNs: 700, bytes: 64 } as const;
  const result = traceOf(copy(64), traced([[whole], [], [{ ...whole, bytes: 32 }], [whole], [whole]]));
  assert.ok("trace" in result);
  assert.is(result.trace.totalNs.length, 3);
  assert.match(result.warnings.join(), "no copy in 2 of 5 traced iterations");
});

test("kernels that move bytes are engine time; those of a program that runs none are not", () => {
  const kernel = { kind: 3, startNs: 100, endNs: 500, bytes: 0 } as const;
  const moved = program()
    .buffer("a", { gpu: 0, bytes: 64 })
    .buffer("b", { gpu: 1, bytes: 64 })
    .stream("s", { gpu: 0 })
    .copy("s", "a", "b", { engine: "kernel-write" })
    .sync("s");
  const result = traceOf(moved, traced([[kernel]]));
  assert.ok("trace" in result);
  assert.is(result.trace.engineNs[0], 400);
  const other = traceOf(copy(64), traced([[kernel, { kind: 2, startNs: 200, endNs: 700, bytes: 64 }]]));
  assert.ok("trace" in other);
  assert.is(other.trace.engineNs[0], 500);
});

test("calls, memory sets and waits are spans, and count neither as copies nor as kernels", () => {
  const moved = { kind: 2, startNs: 250, endNs: 700, bytes: 64, correlation: 5 } as const;
  const result = traceOf(
    copy(64),
    traced([
      [
        { kind: 1, startNs: 50, endNs: 90, bytes: 0, correlation: 5 },
        { kind: 5, startNs: 110, endNs: 850, bytes: 0, correlation: 6 },
        { kind: 4, startNs: 200, endNs: 240, bytes: 64, correlation: 7 },
        moved,
      ],
    ]),
  );
  assert.ok("trace" in result);
  assert.is(result.trace.launchNs[0], 250);
  const { kind, lane, correlation } = result.trace.timeline;
  assert.equal(
    kind.map((of, i) => [of, lane[i], correlation[i]]),
    [
      ["iteration", "host", 0],
      ["sync", "host", 0],
      ["api", "host", 5],
      ["sync", "host", 6],
      ["memset", "GPU 0 stream 0", 7],
      ["copy", "GPU 0 stream s", 5],
    ],
  );
});

test.run();
