import { suite } from "uvu";
import * as assert from "uvu/assert";
import { opened } from "../../../kernel/lab/activity.js";
import { advise } from "../../../kernel/lab/analyze/advice/advise.js";
import { alphaBeta } from "../../../kernel/lab/analyze/alpha-beta.js";
import { crossover } from "../../../kernel/lab/analyze/crossover.js";
import { backedName } from "../../../kernel/lab/machines/backed.js";
import { breakdown } from "../../../kernel/lab/measure/breakdown.js";
import { collectives } from "../../../kernel/lab/measure/collectives.js";
import { litmus } from "../../../kernel/lab/measure/litmus.js";
import { matrix } from "../../../kernel/lab/measure/matrix.js";
import { sweep } from "../../../kernel/lab/measure/sweep.js";
import { type Table, tableOf } from "../../../kernel/lab/measure/table.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { whatIf } from "../../../kernel/lab/measure/what-if.js";
import { open } from "../../../kernel/lab/open.js";
import * as plot from "../../../kernel/lab/plot/index.js";
import { FIXED, failure, MIB } from "./helpers.js";

const backed = suite("a recording with its twin behind it");

const SPEC = "recorded:h200x2+twin";
const kinds = (table: Table) => (table.objects() as { provenance: string }[]).map((row) => row.provenance);

backed("what was recorded is answered as recorded, and only the rest by the twin", async () => {
  const [both, alone, twin] = [await open(SPEC), await open("recorded:h200x2"), await open("twin:h200x2")];
  assert.equal([both.provenance.kind, both.provenance.source], ["recorded", SPEC]);
  assert.match(both.info.facts.behind as string, /twin:h200x2 \(simulated\)/);
  assert.is(both.programs?.length, alone.programs?.length);
  const known = transfer({ from: 0, to: 1, bytes: 8 });
  const [here, there] = [await both.run(known), await alone.run(known)];
  assert.equal([...here.samples.totalNs], [...there.samples.totalNs]);
  assert.is(here.provenance.kind, "recorded");
  const unknown = transfer({ from: 0, to: 1, bytes: 3 * MIB });
  const [model, same] = [await both.run(unknown, FIXED), await twin.run(unknown, FIXED)];
  assert.equal([...model.samples.totalNs], [...same.samples.totalNs]);
  assert.equal([model.provenance.kind, model.provenance.source], ["simulated", "twin:h200x2"]);
  assert.ok(model.uncertainty);
});

backed("a report is labelled by both, the model as soon as it has answered", async () => {
  const before = opened().length;
  const machine = await open(SPEC);
  await machine.run(transfer({ from: 0, to: 1, bytes: 8 }));
  assert.equal(
    opened()
      .slice(before)
      .map(({ kind }) => kind),
    ["recorded"],
  );
  await machine.run(transfer({ from: 0, to: 1, bytes: 5 }), FIXED);
  assert.ok(opened().some(({ kind, source }) => kind === "simulated" && source === "twin:h200x2"));
});

backed("each row says which of the two it is, and figures mark the model's", async () => {
  const machine = await open(SPEC);
  const curve = await sweep(machine, { from: 0, to: 1, bytes: ["8 B", "3 MiB"] });
  assert.equal(kinds(curve), ["recorded", "simulated"]);
  const cells = await matrix(machine);
  assert.equal(kinds(cells), ["simulated", "recorded", "simulated", "simulated"]);
  const drawn = plot.matrix(cells, { lang: "en" });
  const [, numbers] = drawn.data as { text: string[] }[];
  assert.equal(
    numbers?.text.map((text) => text.startsWith("~")),
    [true, false, true, true],
  );
  assert.match(JSON.stringify(drawn.layout), /watermark.*~ simulated; the others are not/);
});

backed("a breakdown fits the sizes of each source apart", async () => {
  const [both, alone, twin] = [await open(SPEC), await open("recorded:h200x2"), await open("twin:h200x2")];
  const options = { from: 0, to: 1, bytes: ["8 B", "1 MiB"] };
  const rows = (await breakdown(both, options)).objects() as Record<string, unknown>[];
  assert.equal(
    rows.map(({ provenance }) => provenance),
    ["recorded", "simulated"],
  );
  const [recorded] = (await breakdown(alone, options)).objects() as Record<string, unknown>[];
  const [, model] = (await breakdown(twin, options)).objects() as Record<string, unknown>[];
  for (const column of ["setup_us", "link_us", "launch_us", "total_us"]) {
    assert.is(rows[0]?.[column], recorded?.[column], column);
    assert.is(rows[1]?.[column], model?.[column], column);
  }
  assert.match(String(plot.breakdown(await breakdown(both, options))), /1 MiB simulated =/);
});

backed("an entry of the ledger whose evidence is of both is drawn as simulated", async () => {
  const evidence = {
    kind: "claim",
    id: "mixed",
    says: "s",
    result: "supported",
    evidence: "",
    entered: "2026-11-30T00:00:00Z",
    machine: "a + twin of a",
    provenance: "recorded + simulated",
    date: "2026-11-30",
  };
  const columns = ["quantity", "claimed_low", "claimed_high", "found_low", "found_high"];
  const figure = plot.ledger(tableOf([evidence], [...Object.keys(evidence), ...columns]), { lang: "en" });
  assert.match(JSON.stringify(figure.layout), /watermark/);
  assert.match(String(figure), /recorded from a real machine \+ SIMULATED, not a measurement/);
});

backed("what is held against each other comes from one of the two", async () => {
  const machine = await open(SPEC);
  const known = transfer({ from: 0, to: 1, bytes: 8 });
  const changed = await whatIf(machine, { programs: { known }, change: { hostFactor: 2 } });
  assert.equal(kinds(changed), ["simulated", "simulated"]);
  assert.equal(
    new Set(kinds(collectives(machine, { operation: "all-reduce", bytes: 8 }))),
    new Set(["simulated"]),
  );
  const advice = await advise(machine, { from: 0, to: 1, bytes: "3 KiB", count: 2 });
  assert.is(advice.provenance.kind, "simulated");
  assert.equal(new Set(kinds(advice.table)), new Set(["simulated"]));
  const curve = await sweep(machine, { from: 0, to: 1, bytes: [8, 3 * MIB], path: ["peer", "staged"] });
  for (const analysis of [crossover, alphaBeta]) {
    const { code, hint } = await failure(() => analysis(curve));
    assert.is(code, "usage");
    assert.match(hint, /recorded and simulated: keep one kind/);
  }
});

backed(
  "what neither knows is said, and refused are names that are no recording of a real machine",
  async () => {
    const machine = await open(SPEC);
    const order = await litmus(machine, { from: 0, to: 1 });
    for (const note of order.array("note"))
      assert.match(String(note), /does not hold it, and twin of .* knows no order/);
    assert.is(
      (await failure(() => machine.run(transfer({ from: 0, to: 5, bytes: 8 })))).code,
      "not-recorded",
    );
    assert.is((await failure(() => open("recorded:nothing+twin"))).code, "machine-spec");
    assert.is((await failure(() => open("recorded:+twin"))).code, "machine-spec");
    assert.is(backedName("+twin"), null);
  },
);

backed.run();
