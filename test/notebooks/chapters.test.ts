import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { formatNotebook, readNotebook } from "../../kernel/notebook/index.js";
import { chapterForm } from "./chapter-form.js";
import { cellsOf, chapters, enteredIds, FOLDER, solutionsOf, textOf } from "./course.js";
import { WRONG_ANSWERS } from "./wrong-answers.js";

const form = suite("form of the chapters");

const written = (file: string) => `node dist/test/notebooks/write-chapter.js notebooks/${file}`;

const HEADINGS = ["目标", "先猜", "背景", "测量", "解释", "结论登记", "练习", "小结与参考"];

form("there are chapters, named NN-slug.ipynb, each number once", () => {
  assert.ok(chapters.length > 0);
  for (const { file } of chapters) assert.match(file, /^\d\d-[a-z0-9-]+\.ipynb$/);
  assert.is(new Set(chapters.map(({ number }) => number)).size, chapters.length);
});

form("each chapter has the eight headings in their order", () => {
  for (const chapter of chapters) {
    const found = cellsOf(chapter, "markdown")
      .flatMap((cell) => textOf(cell).match(/^## .+$/gm) ?? [])
      .map((line) => line.slice(3));
    assert.equal(found, HEADINGS, chapter.file);
  }
});

form(
  "a chapter begins with its number and name, and says what hardware it wants and how long it takes",
  () => {
    for (const { file, number, cells } of chapters) {
      const [title, goals] = cells.slice(0, 2).map(textOf) as [string, string];
      assert.match(title, new RegExp(`^# ${number} .+`), file);
      assert.match(goals, /^硬件：/m, file);
      assert.match(goals, /^时间：.*分钟/m, file);
    }
  },
);

form("no outputs, no counts, no stray metadata", () => {
  for (const { file, cells } of chapters) {
    for (const cell of cells) {
      assert.equal(Object.keys(cell.metadata), [], `${file} ${cell.id}: ${written(file)}`);
      if (cell.cell_type === "code") {
        assert.equal(cell.outputs, [], `${file} ${cell.id}: ${written(file)}`);
        assert.is(cell.execution_count, null, `${file} ${cell.id}: ${written(file)}`);
      }
    }
  }
});

form("cell ids are unique slugs that begin with the chapter's number", () => {
  for (const { file, number, cells } of chapters) {
    const ids = cells.map((cell) => cell.id);
    assert.is(new Set(ids).size, ids.length, file);
    for (const id of ids)
      assert.ok(new RegExp(`^${number}-[a-z0-9-]+$`).test(id), `${file} ${id}: ${written(file)}`);
  }
});

form("a chapter that a front end saved is written anew in that form, its exercises and checks found", () => {
  const { file, number, cells } = chapters[0] as (typeof chapters)[number];
  const notebook = readNotebook(join(FOLDER, file));
  const saved = {
    ...notebook,
    metadata: { ...notebook.metadata, toc: {} },
    cells: notebook.cells.map((cell, index) => ({
      ...cell,
      id: `${index}-5f_9A`,
      metadata: { collapsed: true },
      source: `${cell.source}\n`,
      ...(cell.cell_type === "code"
        ? {
            execution_count: 3,
            outputs: [{ output_type: "stream" as const, name: "stdout" as const, text: "1" }],
          }
        : {}),
    })),
  };
  const again = chapterForm(saved, number, notebook.metadata);
  const expected = cells.map(({ id }, index) =>
    /-(exercise|check)-\d+$/.test(id) ? id : `${number}-${index}-5f-9a`,
  );
  assert.equal(
    again.cells.map(({ id }) => id),
    expected,
  );
  const named = again.cells.map((cell, index) => ({ ...cell, id: cells[index]?.id as string }));
  assert.is(formatNotebook({ ...again, cells: named }), readFileSync(join(FOLDER, file), "utf8"));
  assert.equal(chapterForm(again, number, notebook.metadata), again);
});

form("code cells have at most 25 lines of at most 120 columns, half of them at most 8", () => {
  for (const chapter of chapters) {
    const lengths = cellsOf(chapter, "code").map((cell) => {
      const lines = textOf(cell).split("\n");
      assert.ok(lines.length <= 25, `${cell.id}: ${lines.length} lines`);
      for (const line of lines) assert.ok(line.length <= 120, `${cell.id}: ${line}`);
      return lines.length;
    });
    const short = lengths.filter((length) => length <= 8).length;
    assert.ok(short >= lengths.length / 2, `${chapter.file}: ${short} of ${lengths.length} cells are short`);
  }
});

form(
  "each chapter guesses, enters claims under its own number, and no id is entered twice in the course",
  () => {
    for (const by of ["claim", "predict", "check"] as const) {
      const all = chapters.flatMap((chapter) => {
        const ids = enteredIds(chapter, by);
        assert.ok(ids.length > 0, `${chapter.file}: no lab.${by}`);
        for (const id of ids) assert.ok(id.startsWith(`${chapter.number}-`), `${chapter.file}: ${by} ${id}`);
        return ids;
      });
      assert.equal([...new Set(all)], all, by);
    }
  },
);

form("claims stand between 结论登记 and 练习, the ledger after them", () => {
  for (const { file, cells } of chapters) {
    const begins = (heading: string) => cells.findIndex((cell) => textOf(cell).startsWith(`## ${heading}`));
    cells.forEach((cell, index) => {
      if (cell.cell_type !== "code") return;
      if (/\blab\.claim\(/.test(textOf(cell)))
        assert.ok(index > begins("结论登记") && index < begins("练习"), `${file} ${cell.id}`);
    });
    const ledger = cells.findIndex(
      (cell) => cell.cell_type === "code" && textOf(cell).includes("lab.ledger()"),
    );
    assert.ok(ledger > begins("小结与参考"), `${file} shows its ledger at its end`);
  }
});

form("a table whose columns are chosen keeps those that say where its numbers come from", () => {
  for (const chapter of chapters) {
    for (const cell of cellsOf(chapter, "code")) {
      for (const [selected] of textOf(cell).matchAll(/\.select\([^)]*\)/g)) {
        assert.ok(selected.includes('"provenance"'), `${chapter.file} ${cell.id}: ${selected}`);
      }
    }
  }
});

form("two to four exercises, each with a solution and a check", () => {
  for (const chapter of chapters) {
    const ids = chapter.cells.map((cell) => cell.id);
    const exercises = ids.filter((id) => /^\d\d-exercise-\d+$/.test(id));
    assert.ok(
      exercises.length >= 2 && exercises.length <= 4,
      `${chapter.file}: ${exercises.length} exercises`,
    );
    assert.ok(existsSync(`${FOLDER}/solutions/${chapter.number}.ts`), chapter.file);
    assert.equal(
      solutionsOf(chapter).map(({ id }) => id),
      exercises,
      chapter.file,
    );
    assert.equal(
      ids.filter((id) => /^\d\d-check-\d+$/.test(id)),
      exercises.map((id) => id.replace("exercise", "check")),
      chapter.file,
    );
  }
});

form("wrong answers belong to exercises, two or more to each that has any", () => {
  const ids = chapters.flatMap(({ cells }) => cells.map((cell) => cell.id));
  for (const [id, answers] of Object.entries(WRONG_ANSWERS)) {
    assert.ok(ids.includes(id), id);
    assert.ok(answers.length >= 2, id);
  }
});

form("every chapter has its CUDA example, and names it", () => {
  const examples = readdirSync(`${FOLDER}/cuda`);
  for (const { file, number, cells } of chapters) {
    const own = examples.filter((example) => example.startsWith(`${number}_`) && example.endsWith(".cu"));
    assert.ok(own.length > 0, file);
    const text = cells.map(textOf).join("\n");
    for (const example of own) assert.ok(text.includes(`notebooks/cuda/${example}`), `${file}: ${example}`);
  }
});

form("addresses stand in angle brackets, are well formed, and files that are named exist", () => {
  for (const chapter of chapters) {
    const text = cellsOf(chapter, "markdown").map(textOf).join("\n");
    const links = [...text.matchAll(/<(https?:[^>]*)>/g)].map((match) => match[1] as string);
    assert.ok(links.length >= 2, `${chapter.file} names public sources`);
    for (const link of links) {
      assert.ok(URL.canParse(link) && link.startsWith("https://"), `${chapter.file}: ${link}`);
      assert.not.match(link, /[\s\u4e00-\u9fff，。；）]/, `${chapter.file}: ${link}`);
    }
    assert.not.match(text, /(?<![<\w])https?:/, `${chapter.file}: an address outside <…>`);
    for (const [, file] of text.matchAll(/`((?:notebooks|kernel|native)\/[^`\s]*)`/g)) {
      assert.ok(existsSync(packagePath(file as string)), `${chapter.file}: ${file}`);
    }
  }
});

form.run();
