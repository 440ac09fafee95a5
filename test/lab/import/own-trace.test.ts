import { suite } from "uvu";
import * as assert from "uvu/assert";
import * as timelines from "../../../kernel/lab/analyze/timeline/index.js";
import { chromeTrace } from "../../../kernel/lab/chrome-trace.js";
import { P2pError } from "../../../kernel/lab/errors.js";
import { importFile } from "../../../kernel/lab/import/index.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { spanAt, type Timeline } from "../../../kernel/lab/timeline.js";

const test = suite("this library's own traces");

const machine = SimulatedMachine.open("hgx-h100-8");
const traced = () =>
  machine.run(transfer({ from: 0, to: 1, bytes: 2 ** 20, path: "staged" }), {
    trace: "full",
    traceIterations: 4,
  });

const spansOf = (timeline: Timeline) =>
  timeline.kind
    .map((_, row) => spanAt(timeline, row))
    .map(({ kind, lane, name, startNs, endNs, bytes }) => [
      kind,
      lane,
      name,
      Math.round(startNs),
      Math.round(endNs),
      bytes,
    ])
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

test("a run's timeline comes back as it was written, and says that it was simulated", async () => {
  const run = await traced();
  const imported = await importFile(Buffer.from(JSON.stringify(chromeTrace(run))));
  assert.is(imported.format, "p2plab-trace");
  assert.equal(spansOf(imported.timeline as Timeline), spansOf(run.trace?.timeline as Timeline));
  const [row] = timelines.launches(imported).objects() as Record<string, unknown>[];
  assert.equal([row?.provenance, /\(simulated\)$/.test(String(row?.machine))], ["imported", true]);
  assert.match(String(imported), /SIMULATED, not a measurement/);
});

test("of a cut one the rest is read; another trace is none of these", async () => {
  const text = JSON.stringify(chromeTrace(await traced()));
  const cut = await importFile(Buffer.from(text.slice(0, text.length * 0.6)));
  assert.match(String(cut), /the file ends early/);
  assert.ok((cut.timeline as Timeline).kind.length > 0);
  try {
    await importFile(Buffer.from('{"traceEvents": []}'), { format: "p2plab-trace" });
    assert.unreachable();
  } catch (error) {
    assert.is((error as P2pError).code, "import");
    assert.instance(error, P2pError);
  }
});

test.run();
