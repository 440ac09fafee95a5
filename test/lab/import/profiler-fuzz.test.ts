import { suite } from "uvu";
import * as assert from "uvu/assert";
import * as timelines from "../../../kernel/lab/analyze/timeline/index.js";
import { chromeTrace } from "../../../kernel/lab/chrome-trace.js";
import { P2pError } from "../../../kernel/lab/errors.js";
import type { Importer } from "../../../kernel/lab/import/importer.js";
import { importer as kineto } from "../../../kernel/lab/import/kineto.js";
import { importer as nsys } from "../../../kernel/lab/import/nsys-sqlite.js";
import { importer as nvprof } from "../../../kernel/lab/import/nvprof-sqlite.js";
import { importer as own } from "../../../kernel/lab/import/own-trace.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import type { Table } from "../../../kernel/lab/measure/table.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { Random } from "../../../kernel/lab/random.js";
import { sourceOf } from "./content-source.js";
import { kinetoTrace, peerCopyEvents } from "./kineto-fixture.js";
import { nsysFixture } from "./nsys-fixture.js";
import { nvprofFixture } from "./nvprof-fixture.js";

/** Seconds for each of the five files, at most 160; without them a short form of a fixed seed ends after so many mutations. */
const SECONDS = Number(process.env.P2PLAB_FUZZ_SECONDS ?? 0);
const SHORT_ROUNDS = 60;
const MOST_GROWTH_BYTES = 600e6;

export const TIME_LIMIT_S = 900;

const test = suite("mutated files of profilers");
const ANALYSES = Object.entries(timelines) as [string, (of: unknown) => Table][];

const traced = () =>
  SimulatedMachine.open("hgx-h100-8").run(transfer({ from: 0, to: 1, bytes: 2 ** 20, path: "peer" }), {
    trace: "full",
    traceIterations: 4,
  });

/** Bytes changed, cut out, doubled, zeroed, or the end lost. */
function mutated(original: Uint8Array, random: Random): Uint8Array {
  let bytes = Buffer.from(original);
  const below = (most: number) => Math.floor(random.uniform() * most);
  for (let times = 1 + below(8); times > 0 && bytes.length > 0; times--) {
    const at = below(bytes.length);
    const length = 1 + below(Math.min(400, bytes.length - at));
    const kind = below(6);
    if (kind === 0) bytes[at] = below(256);
    else if (kind === 1) bytes.fill(below(2) * 255, at, at + length);
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    else if (kind === 3) bytes = Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
    else if (kind === 4) for (let i = at; i < at + length; i++) bytes[i] = below(256);
    else if (below(4) === 0) bytes = bytes.subarray(0, at);
  }
  return bytes;
}

/** Reads and analyses; whatever comes of it is a result or a typed error. */
async function survives(importer: Importer, bytes: Uint8Array, what: string): Promise<"read" | "refused"> {
  try {
    assert.ok(Number.isFinite(importer.detect(bytes.subarray(0, 65_536), what)));
    const imported = await importer.read(sourceOf(bytes, what));
    for (const [name, analyse] of ANALYSES) {
      const table = analyse(imported);
      for (const column of table.columnNames()) {
        const value = table.get(column, 0) as unknown;
        assert.not(typeof value === "number" && !Number.isFinite(value), `${name}.${column}`);
      }
    }
    return "read";
  } catch (error) {
    assert.instance(error, P2pError, `${what}: ${(error as Error).stack}`);
    return "refused";
  }
}

const FILES: readonly (readonly [string, Importer, () => Promise<Uint8Array>])[] = [
  ["nsys", nsys, () => nsysFixture("3.25.0")],
  ["nsys-old", nsys, () => nsysFixture("2.9.1")],
  ["nvprof", nvprof, nvprofFixture],
  ["own", own, async () => Buffer.from(JSON.stringify(chromeTrace(await traced())))],
  ["kineto", kineto, async () => Buffer.from(kinetoTrace(peerCopyEvents()))],
];

for (const [name, importer, make] of FILES) {
  test(`${name}: a result or a typed error, in bounded time and memory`, async () => {
    const original = await make();
    const random = new Random(SECONDS > 0 ? Date.now() : 20_26);
    const began = performance.now();
    const memory = process.memoryUsage().rss;
    const outcomes = { read: 0, refused: 0 };
    for (
      let round = 0;
      SECONDS > 0 ? performance.now() - began < SECONDS * 1e3 : round < SHORT_ROUNDS;
      round++
    ) {
      const started = performance.now();
      outcomes[await survives(importer, mutated(original, random), `${name}-${round}`)]++;
      assert.ok(performance.now() - started < 20_000, `round ${round} took too long`);
    }
    assert.ok(outcomes.read > 0, "mutations were so hard that nothing was read");
    assert.ok(process.memoryUsage().rss - memory < MOST_GROWTH_BYTES, "memory grew");
  });
}

test.run();
