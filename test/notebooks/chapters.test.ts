import { existsSync, readdirSync, readFileSync } from "node:fs";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";

interface Cell {
  id: string;
  cell_type: string;
  source: string[];
  outputs?: unknown[];
  execution_count?: unknown;
  metadata: Record<string, unknown>;
}

const chapters = suite("chapters");
const folder = packagePath("notebooks");
const files = readdirSync(folder).filter((file) => file.endsWith(".ipynb"));
const notebooks = files.map((file) => ({ file, cells: cellsOf(file) }));

function cellsOf(file: string): Cell[] {
  return (JSON.parse(readFileSync(`${folder}/${file}`, "utf8")) as { cells: Cell[] }).cells;
}

const text = (cell: Cell) => cell.source.join("");
const prose = (cell: Cell) =>
  text(cell)
    .replace(/`[^`]*`/g, "")
    .replace(/<https?:[^>]*>/g, "");

const HEADINGS = ["目标", "先猜", "背景", "测量", "解释", "结论登记", "练习", "小结与参考"];

chapters("there is a chapter, named NN-slug.ipynb", () => {
  assert.ok(files.length > 0);
  for (const file of files) assert.match(file, /^\d\d-[a-z0-9-]+\.ipynb$/);
});

chapters("each chapter has the eight headings in their order", () => {
  for (const { file, cells } of notebooks) {
    const found = cells
      .filter((cell) => cell.cell_type === "markdown")
      .flatMap((cell) => text(cell).match(/^## .+$/gm) ?? [])
      .map((line) => line.slice(3));
    assert.equal(found, HEADINGS, file);
  }
});

chapters("no outputs, no counts, no stray metadata", () => {
  for (const { file, cells } of notebooks) {
    for (const cell of cells) {
      assert.equal(Object.keys(cell.metadata), [], `${file} ${cell.id}`);
      if (cell.cell_type === "code") {
        assert.equal(cell.outputs, [], `${file} ${cell.id}`);
        assert.is(cell.execution_count, null, `${file} ${cell.id}`);
      }
    }
  }
});

chapters("cell ids are unique slugs that begin with the chapter's number", () => {
  for (const { file, cells } of notebooks) {
    const ids = cells.map((cell) => cell.id);
    assert.is(new Set(ids).size, ids.length, file);
    for (const id of ids) assert.ok(new RegExp(`^${file.slice(0, 2)}-[a-z0-9-]+$`).test(id), `${file} ${id}`);
  }
});

chapters("code cells have at most 25 lines of at most 120 columns", () => {
  for (const { file, cells } of notebooks) {
    for (const cell of cells.filter((c) => c.cell_type === "code")) {
      const lines = text(cell).split("\n");
      assert.ok(lines.length <= 25, `${file} ${cell.id}: ${lines.length} lines`);
      for (const line of lines) assert.ok(line.length <= 120, `${file} ${cell.id}: ${line}`);
    }
  }
});

chapters("Chinese text: no space beside 汉字, full-width punctuation after them", () => {
  for (const { file, cells } of notebooks) {
    for (const cell of cells.filter((c) => c.cell_type === "markdown")) {
      const bad = prose(cell).match(
        /[\u4e00-\u9fff] [A-Za-z0-9]|[A-Za-z0-9] [\u4e00-\u9fff]|[\u4e00-\u9fff][,;:?!()]/g,
      );
      const allowed = (bad ?? []).filter((hit) => !/^\d\d? /.test(hit));
      assert.equal(allowed, [], `${file} ${cell.id}: ${text(cell)}`);
    }
  }
});

chapters("one sentence a line in prose", () => {
  for (const { file, cells } of notebooks) {
    for (const cell of cells.filter((c) => c.cell_type === "markdown")) {
      for (const line of text(cell).split("\n")) {
        if (/^[-|\d]/.test(line)) continue;
        const sentences = line.match(/[。！？](?=[^*”）)])/g) ?? [];
        assert.is(sentences.length, 0, `${file} ${cell.id}: ${line}`);
      }
    }
  }
});

chapters("terms are the canonical ones of terms.json", () => {
  const terms = JSON.parse(readFileSync(`${folder}/terms.json`, "utf8")) as Record<
    string,
    { instead_of: string[] }
  >;
  for (const { file, cells } of notebooks) {
    for (const cell of cells) {
      for (const [term, { instead_of }] of Object.entries(terms)) {
        for (const other of instead_of) {
          assert.not(text(cell).includes(other), `${file} ${cell.id}: write ${term} instead of ${other}`);
        }
      }
    }
  }
});

chapters("every exercise cell has a solution region, and every region an exercise", () => {
  for (const { file, cells } of notebooks) {
    const exercises = cells.map((cell) => cell.id).filter((id) => /^\d\d-exercise-\d+$/.test(id));
    const solutions = `${folder}/solutions/${file.slice(0, 2)}.ts`;
    assert.ok(existsSync(solutions), solutions);
    const regions = [...readFileSync(solutions, "utf8").matchAll(/^\/\/ #region (\S+)$/gm)].map(
      (match) => match[1],
    );
    assert.equal(regions, exercises, file);
  }
});

chapters("every chapter has its CUDA example", () => {
  const examples = readdirSync(`${folder}/cuda`);
  for (const { file } of notebooks) {
    assert.ok(
      examples.some((example) => example.startsWith(`${file.slice(0, 2)}_`) && example.endsWith(".cu")),
      file,
    );
  }
});

chapters.run();
