import { readFileSync } from "node:fs";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Cell, cellsOf, chapters, FOLDER, textOf } from "./course.js";

const prose = suite("Chinese of the chapters");

/** Text without code, addresses and quoted English. */
const wordsOf = (cell: Cell) =>
  textOf(cell)
    .replace(/`[^`]*`/g, "")
    .replace(/<https?:[^>]*>/g, "");

/** Calls `see` with each markdown cell and where it stands. */
function eachText(see: (cell: Cell, where: string) => void): void {
  for (const chapter of chapters)
    for (const cell of cellsOf(chapter, "markdown")) see(cell, `${chapter.file} ${cell.id}`);
}

prose("no space beside 汉字, full-width punctuation after them", () => {
  eachText((cell, where) => {
    const bad = wordsOf(cell).match(
      /[\u4e00-\u9fff] [A-Za-z0-9]|[A-Za-z0-9] [\u4e00-\u9fff]|[\u4e00-\u9fff][,;:?!()]/g,
    );
    const allowed = (bad ?? []).filter((hit) => !/^\d\d? /.test(hit));
    assert.equal(allowed, [], `${where}: ${textOf(cell)}`);
  });
});

prose("one sentence a line, none longer than 120 characters", () => {
  eachText((cell, where) => {
    for (const line of textOf(cell).split("\n")) {
      if (!/^[-|\d]/.test(line)) {
        const sentences = line.match(/[。！？](?=[^*”）)])/g) ?? [];
        assert.is(sentences.length, 0, `${where}: ${line}`);
      }
      const plain = line.replace(/<https?:[^>]*>/g, "").replace(/`[^`]*`/g, "x");
      if (!line.startsWith("|"))
        assert.ok(plain.length <= 120, `${where}: ${plain.length} characters: ${line}`);
    }
  });
});

prose("terms are the canonical ones of terms.json, in text and code", () => {
  const terms = JSON.parse(readFileSync(`${FOLDER}/terms.json`, "utf8")) as Record<
    string,
    { english: string; instead_of: string[] }
  >;
  for (const [term, { english, instead_of }] of Object.entries(terms)) {
    assert.ok(english !== "" && instead_of.length > 0, term);
    for (const { file, cells } of chapters)
      for (const cell of cells)
        for (const other of instead_of)
          assert.not(textOf(cell).includes(other), `${file} ${cell.id}: write ${term} instead of ${other}`);
  }
});

/** Turns of phrase that betray a translation or fill a line, and what to do about them. */
const STILTED: readonly (readonly [RegExp, string])[] = [
  [/进行(了)?(一次|一个)?(测量|测试|比较|分析|拷贝|检查|优化|验证|访问|计算)/, "use the verb itself"],
  [/(做出|作出)(了)?(测量|比较|分析)/, "use the verb itself"],
  [/被(用来|用于|称为|认为是|设计)/, "turn the sentence to the active"],
  [
    /众所周知|毋庸置疑|不难看出|显而易见|值得注意的是|需要注意的是|值得一提|总的来说|综上所述/,
    "leave it out",
  ],
  [/让我们|我们将会|接下来我们|本章将会/, "say what is done"],
  [/是非常重要的|至关重要|不可或缺|扮演着?.{0,6}角色|起着?.{0,6}作用/, "say what it does"],
  [/通过使用|基于对|对于.{1,12}来说|就.{1,12}而言|在.{1,10}的情况下/, "shorten it"],
  [/的的|了了|这这|是是/, "a word is doubled"],
  [/赋能|抓手|打通|闭环|助力|底层逻辑|颗粒度/, "plain words"],
  [/如此一来|与此同时|除此之外，还/, "shorten it"],
];

prose("no turns of phrase of a translation", () => {
  eachText((cell, where) => {
    for (const [phrase, advice] of STILTED) {
      const found = phrase.exec(wordsOf(cell));
      assert.is(found, null, `${where}: ${found?.[0]}: ${advice}`);
    }
  });
});

prose("您 is nowhere: the reader is 你", () => {
  eachText((cell, where) => assert.not(textOf(cell).includes("您"), where));
});

prose("units: a space after the number, µs and not us, GB/s and not GBps, one micro sign", () => {
  eachText((cell, where) => {
    const text = wordsOf(cell);
    assert.not.match(text, /\d(ns|µs|us|ms|[KMGT]i?B|GB\/s|GHz|MHz)\b/, where);
    assert.not.match(text, /\d us\b|[GM]Bps|Gbps|\bus\b/, where);
    assert.not(text.includes("\u03bcs"), `${where}: the Greek letter in µs`);
    assert.not.match(text, /\d%/, where);
  });
});

prose("code cells show µs by the micro sign, and comments are Chinese where there are any", () => {
  for (const chapter of chapters) {
    for (const cell of cellsOf(chapter, "code")) {
      const where = `${chapter.file} ${cell.id}`;
      assert.not(textOf(cell).includes("\u03bcs"), where);
      for (const [, comment] of textOf(cell).matchAll(/(?:^|\s)\/\/ (.+)$/gm))
        assert.match(comment as string, /[\u4e00-\u9fff]/, where);
    }
  }
});

prose.run();
