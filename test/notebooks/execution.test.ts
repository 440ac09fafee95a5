import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { formatNotebook, type Notebook, readNotebook, runNotebook } from "../../kernel/notebook/index.js";

export const TIME_LIMIT_S = 400;

const execution = suite("chapter execution");
const folder = packagePath("notebooks");
const chapters = readdirSync(folder).filter((file) => file.endsWith(".ipynb"));
/** One machine of each kind that needs no GPU, and one where peer access is refused to none but classes differ. */
const MACHINES = ["recorded:h200x2", "sim:hgx-h100-8", "sim:pcie-gen4-2"];

type Executed = Awaited<ReturnType<typeof runNotebook>>;

async function inFolder<T>(use: (out: string) => Promise<T>): Promise<T> {
  const out = mkdtempSync(join(tmpdir(), "p2plab-run-"));
  try {
    return await use(out);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function textsOf(notebook: Notebook, id: string): string {
  const cell = notebook.cells.find((candidate) => candidate.id === id);
  const outputs = cell?.outputs ?? assert.unreachable(`no cell ${id}`);
  return (outputs as { data?: Record<string, unknown> }[])
    .map((output) => String(output.data?.["text/plain"] ?? ""))
    .join("\n");
}

execution("the notebook that is run is not changed", async () => {
  const file = join(folder, chapters[0] as string);
  const before = readFileSync(file, "utf8");
  await inFolder((out) => runNotebook(file, { out, machine: "sim:hgx-h100-8" }));
  assert.is(readFileSync(file, "utf8"), before);
});

execution("committed notebooks are in the canonical form, byte for byte", () => {
  for (const chapter of chapters) {
    const file = join(folder, chapter);
    assert.is(formatNotebook(readNotebook(file)), readFileSync(file, "utf8"), chapter);
  }
});

/** The same notebook with each exercise's stub replaced by its solution. */
function solved(chapter: string): Notebook {
  const notebook = readNotebook(join(folder, chapter));
  const source = readFileSync(join(folder, "solutions", `${chapter.slice(0, 2)}.ts`), "utf8");
  for (const [, id, code] of source.matchAll(/^\/\/ #region (\S+)\n([\s\S]*?)^\/\/ #endregion/gm)) {
    const cell = notebook.cells.find((candidate) => candidate.id === id);
    if (!cell) throw new Error(`${chapter} has no cell ${id}`);
    cell.source = (code as string).replace(/^export /gm, "").trimEnd();
  }
  return notebook;
}

/** What must hold of every run of a chapter: all cells were executed, and each output says which kind of machine it is of. */
function requireComplete({ notebook, failures }: Executed, chapter: string, machine: string): void {
  assert.equal(failures, [], `${chapter} on ${machine}`);
  const code = notebook.cells.filter((cell) => cell.cell_type === "code");
  assert.is(code.filter((cell) => cell.execution_count != null).length, code.length);
  const kind = machine.startsWith("sim") ? "simulated" : "recorded";
  assert.is((notebook.metadata.p2plab as { provenance: string }).provenance, kind);
  const shown = JSON.stringify(notebook.cells.flatMap((cell) => cell.outputs ?? []));
  assert.ok(shown.includes(kind), machine);
  assert.not(/\bNaN\b/.test(shown), `${chapter} on ${machine} shows NaN`);
}

for (const chapter of chapters) {
  for (const machine of MACHINES) {
    execution(
      `${chapter} runs on ${machine}; its checks fail on the stubs and pass on the solutions`,
      async () => {
        await inFolder(async (out) => {
          const stub = await runNotebook(join(folder, chapter), { out: join(out, "stub"), machine });
          requireComplete(stub, chapter, machine);
          const file = join(out, basename(chapter));
          writeFileSync(file, formatNotebook(solved(chapter)));
          const answer = await runNotebook(file, { out: join(out, "solved"), machine });
          requireComplete(answer, chapter, machine);
          const checks = stub.notebook.cells
            .map((cell) => cell.id ?? "")
            .filter((id) => /-check-\d+$/.test(id));
          assert.ok(checks.length >= 2, chapter);
          for (const id of checks) {
            assert.match(textsOf(stub.notebook, id), /未通过/, `${id} passes on the stub, ${machine}`);
            assert.not.match(
              textsOf(answer.notebook, id),
              /未通过/,
              `${id} fails on the solution, ${machine}`,
            );
            assert.match(textsOf(answer.notebook, id), /通过 passed/, `${id} on ${machine}`);
          }
        });
      },
    );
  }
}

execution("the conclusions that the chapter draws on 2 × H200 are those of the recording", async () => {
  await inFolder(async (out) => {
    const { notebook } = await runNotebook(join(folder, "01-introduction.ipynb"), {
      out,
      machine: "recorded:h200x2",
    });
    assert.match(
      textsOf(notebook, "01-crossover"),
      /^none: peer wins at every size measured \(8 B … 64 MiB\)/,
    );
    assert.match(textsOf(notebook, "01-claims-small"), /refuted/);
    assert.match(textsOf(notebook, "01-claims-topology"), /not testable here/);
    assert.match(textsOf(notebook, "01-claims-bandwidth"), /supported/);
  });
});

execution.run();
