import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  formatNotebook,
  type Notebook,
  type NotebookCell,
  readNotebook,
  runNotebook,
} from "../../kernel/notebook/index.js";
import { type Chapter, chapters, enteredIds, FOLDER, solutionsOf } from "./course.js";
import { WRONG_ANSWERS } from "./wrong-answers.js";

export const TIME_LIMIT_S = 900;

const execution = suite("chapter execution");
/** The recording, which holds every program of these chapters; a simulation has what two GPUs do not. */
const MACHINES = ["recorded:h200x2", "sim:hgx-h100-8"];
/** What a computer without GPUs opens by itself, the fitted model alone, and a machine of two GPUs without NVLink. */
const MORE_MACHINES = ["recorded:h200x2+twin", "twin:h200x2", "sim:pcie-gen4-2"];
const ALL_MACHINES = process.env.P2PLAB_ALL_MACHINES === "1";

/** Numbers of the only chapters to execute, such as `09` or `01,09`: for who writes one. */
const CHOSEN = process.env.P2PLAB_CHAPTERS?.split(",");

type Executed = Awaited<ReturnType<typeof runNotebook>>;

/**
 * The chapter as it stands, and after its last cell each solution and each wrong answer with its check once more: one run
 * shows all.
 */
function withAnswers(chapter: Chapter): Notebook {
  const notebook = readNotebook(join(FOLDER, chapter.file));
  const exercises = notebook.cells.filter(({ id }) => /-exercise-\d+$/.test(id ?? ""));
  const answers = new Map(solutionsOf(chapter).map(({ id, code }) => [id, [[solved, code]]] as const));
  const again = exercises.flatMap((cell): NotebookCell[] => {
    const id = cell.id as string;
    const check = notebook.cells.find((other) => other.id === checkOf(id)) as NotebookCell;
    return [
      ...(answers.get(id) ?? []),
      ...(WRONG_ANSWERS[id] ?? []).map((code, index) => [wrong(index), code] as const),
    ].flatMap(([named, code]) => [
      { ...cell, id: named(id), source: code },
      { ...check, id: named(checkOf(id)) },
    ]);
  });
  return { ...notebook, cells: [...notebook.cells, ...again] };
}

const checkOf = (id: string) => id.replace("-exercise-", "-check-");
const solved = (id: string) => `${id}-solved`;
const wrong = (index: number) => (id: string) => `${id}-wrong-${index + 1}`;

const executed = new Map<string, Executed>();

/** A chapter with its solutions, executed once a machine. */
async function execute(chapter: Chapter, machine: string): Promise<Executed> {
  const key = `${chapter.file} ${machine}`;
  const known = executed.get(key);
  if (known) return known;
  const folder = mkdtempSync(join(tmpdir(), "p2plab-run-"));
  try {
    const file = join(folder, chapter.file);
    writeFileSync(file, formatNotebook(withAnswers(chapter)));
    const result = await runNotebook(file, { out: join(folder, "out"), machine, allowErrors: true });
    executed.set(key, result);
    return result;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function textsOf(notebook: Notebook, id: string): string {
  const cell = notebook.cells.find((candidate) => candidate.id === id);
  const outputs = cell?.outputs ?? assert.unreachable(`no cell ${id}`);
  return (outputs as { data?: Record<string, unknown> }[])
    .map((output) => String(output.data?.["text/plain"] ?? ""))
    .join("\n");
}

/** What must hold of every run: all cells were executed, and what they show says which kind of machine it is of. */
function requireComplete({ notebook, failures }: Executed, chapter: Chapter, machine: string): void {
  const where = `${chapter.file} on ${machine}`;
  assert.equal(failures, [], where);
  const code = notebook.cells.filter((cell) => cell.cell_type === "code");
  assert.is(code.filter((cell) => cell.execution_count != null).length, code.length, where);
  const kind = /^(sim|twin):/.test(machine) ? "simulated" : "recorded";
  assert.is((notebook.metadata.p2plab as { machines: { kind: string }[] }).machines[0]?.kind, kind, where);
  const shown = JSON.stringify(notebook.cells.flatMap((cell) => cell.outputs ?? []));
  assert.ok(shown.includes(kind), where);
  assert.not(/\bNaN\b/.test(shown), `${where} shows NaN`);
}

/** Each figure prints where its numbers come from: one of the kinds stands in its layout. */
function requireOrigins({ notebook }: Executed, where: string): void {
  for (const cell of notebook.cells) {
    for (const output of (cell.outputs ?? []) as { data?: Record<string, { layout?: unknown }> }[]) {
      const figure = output.data?.["application/vnd.plotly.v1+json"];
      if (figure === undefined) continue;
      assert.match(
        JSON.stringify(figure.layout),
        /measured|recorded|simulated|SIMULATED|imported/,
        `${where}: figure of ${cell.id}`,
      );
    }
  }
}

/** What the chapter enters stands in the ledger that it shows at its end, each claim with a verdict. */
function requireLedger({ notebook }: Executed, chapter: Chapter, where: string): void {
  const ids = [...enteredIds(chapter, "claim"), ...enteredIds(chapter, "predict")];
  const shown = notebook.cells
    .filter((cell) => cell.cell_type === "code" && cell.source.includes("lab.ledger()"))
    .map((cell) => JSON.stringify(cell.outputs))
    .join("\n");
  for (const id of ids) assert.ok(shown.includes(id), `${where}: ${id} is not in the ledger that is shown`);
}

execution("committed notebooks are in the canonical form, byte for byte", () => {
  for (const { file } of chapters) {
    const path = join(FOLDER, file);
    const again = `node dist/test/notebooks/write-chapter.js notebooks/${file}`;
    assert.is(formatNotebook(readNotebook(path)), readFileSync(path, "utf8"), again);
  }
});

function runsOn(chapter: Chapter, machine: string): () => Promise<void> {
  return async () => {
    const result = await execute(chapter, machine);
    const where = `${chapter.file} on ${machine}`;
    requireComplete(result, chapter, machine);
    requireOrigins(result, where);
    requireLedger(result, chapter, where);
    const checks = chapter.cells.map((cell) => cell.id).filter((id) => /-check-\d+$/.test(id));
    assert.ok(checks.length >= 2, chapter.file);
    for (const id of checks) {
      assert.match(textsOf(result.notebook, id), /未通过/, `${id} passes on the stub, ${machine}`);
      const answer = textsOf(result.notebook, solved(id));
      assert.match(answer, /: 通过 passed/, `${id} on the solution, ${machine}: ${answer}`);
      (WRONG_ANSWERS[id.replace("-check-", "-exercise-")] ?? []).forEach((code, index) => {
        assert.match(
          textsOf(result.notebook, wrong(index)(id)),
          /未通过/,
          `${id} passes, ${machine}: ${code}`,
        );
      });
    }
  };
}

for (const chapter of chapters.filter(({ number }) => CHOSEN?.includes(number) ?? true)) {
  for (const machine of ALL_MACHINES ? [...MACHINES, ...MORE_MACHINES] : MACHINES) {
    execution(
      `${chapter.file} on ${machine}: all cells run, checks fail on the stubs and pass on the solutions`,
      runsOn(chapter, machine),
    );
  }
}

if (CHOSEN) {
  execution.skip("skipped: P2PLAB_CHAPTERS names the chapters that are executed", () => {});
}

if (!ALL_MACHINES) {
  execution.skip(
    "skipped (optional): P2PLAB_ALL_MACHINES=1 runs the chapters on the twin and on PCIe too",
    () => {},
  );
}

execution("chapter 01 concludes on 2 × H200 what the recording says", async () => {
  const { notebook } = await execute(chapters[0] as Chapter, MACHINES[0] as string);
  assert.match(textsOf(notebook, "01-crossover"), /^none: peer wins at every size measured \(8 B … 64 MiB\)/);
  assert.match(textsOf(notebook, "01-claims-small"), /refuted/);
  assert.match(textsOf(notebook, "01-claims-topology"), /not testable here/);
  assert.match(textsOf(notebook, "01-claims-bandwidth"), /supported/);
});

execution(
  "chapter 01 goes on with the recording where GPU 0 has no peer access to GPU 1, and says so",
  async () => {
    const machine = "sim:rtx4090-2";
    const result = await execute(chapters[0] as Chapter, machine);
    requireComplete(result, chapters[0] as Chapter, machine);
    assert.match(textsOf(result.notebook, "01-pair"), /下面改用2 × H200的录制/);
    assert.match(textsOf(result.notebook, "01-sweep"), /recorded/);
  },
);

execution.run();
