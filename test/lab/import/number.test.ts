import { suite } from "uvu";
import * as assert from "uvu/assert";
import { isAmbiguous, numberIn, numberStyle } from "../../../kernel/lab/import/number.js";
import { quantityOf } from "../../../kernel/lab/import/quantity.js";
import { Random } from "../../../kernel/lab/random.js";

const test = suite("printed numbers");

test("what a locale prints is read back as the same number, or as none where it may be two (seeded)", () => {
  const random = new Random(20_261_130);
  for (const locale of ["en-US", "de-DE", "fr-FR", "de-CH", "es-ES", "sv-SE"]) {
    const print = new Intl.NumberFormat(locale, { maximumFractionDigits: 3 });
    for (let round = 0; round < 50; round++) {
      const values = Array.from({ length: 12 }, () => Math.round(10 ** (8 * random.uniform()) * 1000) / 1000);
      const cells = values.map((value) => print.format(value));
      const style = numberStyle(cells);
      values.forEach((value, i) => {
        const cell = cells[i] as string;
        const read = numberIn(cell, style);
        assert.ok(
          read === value || (read === null && style.mixed) || isAmbiguous(cell),
          `${locale} ${cells.join(" ")}: ${cell} is ${read}`,
        );
      });
      // A number with both marks, or a group twice, leaves no doubt: then nothing is in doubt.
      const certain = numberStyle([...cells, print.format(1234567.5)]);
      assert.not(certain.mixed, `${locale} ${cells.join(" ")}`);
      values.forEach((value, i) => {
        assert.is(numberIn(cells[i] as string, certain), value, `${locale} ${cells[i]}`);
      });
    }
  }
});

test("numbers of any locale are told by those that leave no doubt", () => {
  const style = (...cells: string[]) => numberStyle(cells);
  assert.equal(style("1,234", "5"), { decimal: ".", mixed: false });
  assert.equal(style("1.234", "2,5"), { decimal: ",", mixed: false });
  assert.equal(style("1.234.567"), { decimal: ",", mixed: false });
  assert.equal(style("1.5", "1,5"), { decimal: ".", mixed: true });
  assert.equal(style("0.123"), { decimal: ".", mixed: false });
  assert.equal(style("0,123"), { decimal: ",", mixed: false });
  const comma = style("2,5");
  assert.equal(
    ["1.234", "1.234,5", "1.234.567", "-2,5e3", "12", "1,2,3", ""].map((cell) => numberIn(cell, comma)),
    [1234, 1234.5, 1234567, -2500, 12, null, null],
  );
  assert.equal(
    ["1,234", "1,234.5", "12,34", "1'234.5", "1\u202f234", "1e400", "abc", ".5", "5.", "."].map((cell) =>
      numberIn(cell),
    ),
    [1234, 1234.5, null, 1234.5, 1234, null, null, 0.5, 5, null],
  );
  assert.ok(isAmbiguous("117.344") && !isAmbiguous("0.344") && !isAmbiguous("1234.344"));
});

test("units are the library's, by what each tool means", () => {
  const factor = (unit: string, step: 1000 | 1024) => quantityOf(unit, step)?.factor ?? null;
  assert.equal(
    ["ns", "us", "msecond", "s"].map((unit) => factor(unit, 1000)),
    [1e-3, 1, 1e3, 1e6],
  );
  assert.equal(
    [factor("MB", 1000), factor("MB", 1024), factor("MiB", 1000), factor("Kbyte", 1000), factor("B", 1024)],
    [1e6, 2 ** 20, 2 ** 20, 1e3, 1],
  );
  assert.equal(
    [factor("GB/s", 1000), factor("MB/sec", 1024), factor("MBps", 1000)],
    [1, 2 ** 20 / 1e9, 1e-3],
  );
  assert.equal([factor("furlong", 1000), factor("", 1000)], [null, null]);
});

test.run();
