import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/errors.js";
import { formatBytes, formatNs, parseBytes, sizes } from "../../kernel/lab/units.js";

const units = suite("units");

units("parseBytes tells binary and decimal units apart", () => {
  assert.is(parseBytes("64 KiB"), 65536);
  assert.is(parseBytes("64 KB"), 64000);
  assert.is(parseBytes("1.5MiB"), 1572864);
  assert.is(parseBytes(8), 8);
  assert.is(parseBytes("8"), 8);
});

units("parseBytes refuses what is not a positive whole number of bytes", () => {
  for (const bad of [
    "",
    "8 b",
    "-1",
    0,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "1.0001 B",
    "ten",
    "1 PiB",
    "0x10",
  ]) {
    assert.throws(
      () => parseBytes(bad),
      (error: unknown) => error instanceof P2pError && error.code === "usage",
      String(bad),
    );
  }
});

units("formatBytes uses the largest binary unit that fits", () => {
  assert.is(formatBytes(8), "8 B");
  assert.is(formatBytes(1536), "1.5 KiB");
  assert.is(formatBytes(67108864), "64 MiB");
  assert.is(formatBytes(2 ** 30), "1 GiB");
});

units("formatNs picks the unit that reads best", () => {
  assert.is(formatNs(830), "830 ns");
  assert.is(formatNs(6780), "6.78 µs");
  assert.is(formatNs(1.25e6), "1.25 ms");
  assert.is(formatNs(3.1e9), "3.1 s");
});

units("sizes holds both ends and multiplies by the factor", () => {
  assert.equal(sizes("8 B", "64 B"), [8, 16, 32, 64]);
  assert.equal(sizes(8, 100, { factor: 4 }), [8, 32, 100]);
  assert.is(sizes("8 B", "64 MiB").length, 24);
  assert.equal(sizes(8, 8), [8]);
});

units("sizes refuses a falling range and a factor that does not grow", () => {
  for (const bad of [
    () => sizes(64, 8),
    () => sizes(8, 64, { factor: 1 }),
    () => sizes(8, 64, { factor: Number.NaN }),
  ]) {
    assert.throws(bad, (error: unknown) => error instanceof P2pError && error.code === "usage");
  }
});

units.run();
