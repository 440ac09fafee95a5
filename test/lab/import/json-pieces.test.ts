import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type JsonPiece, JsonPieces } from "../../../kernel/lab/import/json-pieces.js";
import { Random } from "../../../kernel/lab/random.js";

const test = suite("JSON pieces");

function cut(text: string, partBytes: number): { pieces: JsonPiece[]; cutter: JsonPieces } {
  const bytes = Buffer.from(text);
  const cutter = new JsonPieces("list");
  const pieces: JsonPiece[] = [];
  for (let at = 0; at < bytes.length; at += partBytes) {
    pieces.push(...cutter.push(bytes.subarray(at, at + partBytes)));
  }
  return { pieces, cutter };
}

/** A value with everything that can confuse a cutter: brackets and quotes in strings, escapes, nesting. */
function anyValue(random: Random, depth: number): unknown {
  const texts = ['}],[{"', "\\", '\\"', "交换", "", "a:b,c"];
  const kind = Math.floor(random.uniform() * (depth > 2 ? 3 : 5));
  if (kind === 0) return texts[Math.floor(random.uniform() * texts.length)];
  if (kind === 1) return random.uniform() - 0.5;
  if (kind === 2) return [true, false, null][Math.floor(random.uniform() * 3)];
  const length = Math.floor(random.uniform() * 4);
  const values = Array.from({ length }, () => anyValue(random, depth + 1));
  return kind === 3 ? values : Object.fromEntries(values.map((value, i) => [`${texts[i % 6]}${i}`, value]));
}

test("members and elements come out as JSON.parse has them, however the text is cut", () => {
  const random = new Random(7);
  for (let round = 0; round < 300; round++) {
    const list = Array.from({ length: Math.floor(random.uniform() * 6) }, () => anyValue(random, 0));
    const others = Object.fromEntries([0, 1].map((i) => [`m"${i}`, anyValue(random, 0)]));
    const whole = round % 2 === 0 ? { ...others, list } : { list, ...others };
    const text = JSON.stringify(whole, null, round % 3);
    const { pieces, cutter } = cut(text, 1 + Math.floor(random.uniform() * 40));
    assert.ok(cutter.complete);
    const elements = pieces.filter(({ key }) => key === null).map((piece) => JSON.parse(piece.text));
    assert.equal(elements, list);
    const members = pieces.filter(({ key }) => key !== null).map(({ key, text }) => [key, JSON.parse(text)]);
    assert.equal(Object.fromEntries(members), others);
  }
});

test("an outermost list is taken apart too", () => {
  const { pieces, cutter } = cut(' [ {"a": 1}, 2 ,[3] ] ', 3);
  assert.ok(cutter.complete);
  assert.equal(
    pieces.map(({ text }) => JSON.parse(text)),
    [{ a: 1 }, 2, [3]],
  );
});

test("a text that ends early is not complete", () => {
  const { pieces, cutter } = cut('{"list": [{"a": 1}, {"b": ', 4);
  assert.not(cutter.complete);
  assert.equal(
    pieces.map(({ text }) => text.trim()),
    ['{"a": 1}'],
  );
});

test("an element whose end a stray quote hides is given up, and the next is found", () => {
  const filler = Array.from({ length: 40_000 }, (_, i) => `{"n": ${i}, "s": "xxxxxxxxxxxxxxxxxxxxxxxxxx"}`);
  const { pieces, cutter } = cut(`{"list": [{"bad": "a"b"}, ${filler.join(", ")}]}`, 65_536);
  assert.is(cutter.damaged, 1);
  const numbers = pieces.flatMap(({ text }) =>
    [...text.matchAll(/"n": (\d+)/g)].map((match) => Number(match[1])),
  );
  assert.ok(numbers.length >= 39_998 && numbers.at(-1) === 39_999, `${numbers.length}`);
});

test.run();
