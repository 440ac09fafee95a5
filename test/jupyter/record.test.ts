/** What cells that a front end runs one by one leave for a report, in outputs that show nothing. */
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Notebook,
  type NotebookOutput,
  readNotebook,
  renderReport,
  reportParts,
} from "../../kernel/notebook/index.js";
import { inFolder, notebookOf, write } from "../notebook/temporary.js";
import { type Answer, KernelClient } from "./client.js";

const CELLS = [
  "const x = 1 + 1; x",
  'lab.predict("record-guess", "3 us");\nconst machine = await lab.open("recorded:h200x2");',
  'const row = await lab.sweep(machine, { from: 0, to: 1, bytes: ["8 B"] });\nlab.claim("record-claim", { says: "it takes time", holds: true, because: "it did" }, row);\nrow',
  "x",
];

const record = suite("records of cells");
const client = await KernelClient.start();
record.after(() => client.stop());

/** Without the progress line, which is updated and cleared. */
function stored(answer: Answer): NotebookOutput[] {
  return answer.outputs
    .filter(
      ({ type, content }) => type === "execute_result" || (type === "display_data" && !isProgress(content)),
    )
    .map(({ type, content: { transient: _, ...content } }) => ({ output_type: type, ...content }) as never);
}

function isProgress({ transient }: Record<string, unknown>): boolean {
  return Object.keys((transient ?? {}) as object).length > 0;
}

/** As a front end saves it. */
async function executed(sources: readonly string[]): Promise<Notebook> {
  const notebook = notebookOf(...sources);
  for (const cell of notebook.cells) {
    const answer = await client.execute(cell.source);
    assert.is(answer.reply.status, "ok", JSON.stringify(answer.reply));
    cell.execution_count = Number(answer.reply.execution_count);
    cell.outputs = stored(answer);
  }
  return notebook;
}

const saved = await executed(CELLS);

function rowsOf(notebook: Notebook, anchor: string): string[][] {
  const { sections } = reportParts(notebook, "n.ipynb");
  return (sections.find((section) => section.anchor === anchor)?.rows ?? []).map((row) => [...row]);
}

record("only cells that did something have one, and it shows nothing", () => {
  const shown = saved.cells.map((cell) =>
    (cell.outputs ?? []).map((output) => ("data" in output ? Object.keys(output.data).length : -1)),
  );
  assert.is(shown[0]?.length, 1);
  assert.equal(shown[1], [0]);
  assert.is(shown[2]?.at(-1), 0);
  assert.is(shown[3]?.length, 1);
});

record("a report of the saved notebook has provenance, fingerprint, programs and ledger of it", async () => {
  await inFolder((folder) => {
    const notebook = readNotebook(write(folder, "n.ipynb", saved));
    const html = renderReport(notebook, join(folder, "n.ipynb"));
    assert.match(html, /class="origin recorded"/);
    assert.match(html, /RUN CELL BY CELL, not checked as a whole/);
    assert.not.match(html, /<pre class="result">\[\]<\/pre>/);
    assert.match(rowsOf(notebook, "p2plab-machine-1").join("\n"), /指纹 fingerprint,\S+/);
    const programs = rowsOf(notebook, "p2plab-programs");
    assert.is(programs.length, 1);
    assert.match(programs[0]?.[0] ?? "", /^[0-9a-f]{16}$/);
    assert.match(rowsOf(notebook, "p2plab-predictions").join(), /^record-guess,3,未测 open/);
    assert.match(rowsOf(notebook, "p2plab-claims").join(), /^record-claim,it takes time,✔ 支持 supported/);
    const environment = rowsOf(notebook, "p2plab-environment").join("\n");
    assert.match(environment, /digest of cells and outputs,未知：.* not known/);
    assert.match(environment, /cells with a record,2 \/ 4/);
    assert.not.match(environment, /in doubt/);
  });
});

record("a cell that was changed since, or moved, is not passed over in silence", () => {
  const changed = structuredClone(saved);
  const [first, , measuring] = changed.cells as [never, never, Notebook["cells"][number]];
  measuring.source = measuring.source.replace("8 B", "1 KiB");
  changed.cells = [...changed.cells.slice(1), first];
  const environment = rowsOf(changed, "p2plab-environment").join("\n");
  assert.match(environment, /1 cell\(s\) changed since they ran: what they did is not known/);
  assert.match(environment, /cells did not run from top to bottom/);
  assert.equal(rowsOf(changed, "p2plab-claims"), []);
  assert.equal(rowsOf(changed, "p2plab-programs"), []);
  for (const cell of changed.cells) cell.source += " // changed";
  assert.match(renderReport(changed, "n.ipynb"), /ORIGIN UNKNOWN: changed since/);
});

record("records that are none, or from elsewhere, never keep a report from being made", () => {
  for (const nonsense of [
    null,
    3,
    {},
    { process: "p", executed: "x", source: "y", machines: [{}], programs: 7 },
  ]) {
    const broken = structuredClone(saved);
    for (const cell of broken.cells) {
      for (const output of cell.outputs ?? [])
        if ("metadata" in output) output.metadata = { p2plab_cell: nonsense };
    }
    assert.match(renderReport(broken, "n.ipynb"), /ORIGIN UNKNOWN/);
  }
});

record.run();
