/**
 * Files as accidents leave them: cut off, with parts doubled, swapped, or from another file. Each is imported or refused with a
 * typed error, in time that grows with its length. P2PLAB_FUZZ_SECONDS gives the seconds to go on for, P2PLAB_FUZZ_SEED the seed;
 * P2PLAB_SAMPLES a folder of real files to begin with beside the made-up ones.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { IMPORTERS } from "../../../kernel/lab/import/formats.js";
import { importFile } from "../../../kernel/lab/import/index.js";
import { plainText } from "../../../kernel/lab/import/text.js";
import { Random } from "../../../kernel/lab/random.js";
import { richDisplay } from "../../../kernel/lab/rich.js";
import { HWLOC, NCCL } from "../topology/helpers.js";
import * as fixtures from "./fixtures.js";

/** The short form ends after so many files; the long one after its seconds. */
const FILES = 800;
const SECONDS =
  process.env.P2PLAB_FUZZ_SECONDS === undefined ? null : Number(process.env.P2PLAB_FUZZ_SECONDS);
const SEED = Number(process.env.P2PLAB_FUZZ_SEED ?? 20_261_130);
/** Processor time of one file of at most some hundred kilobytes: far more than any takes, far less than one that hangs. */
const MOST_MS = 5000;
const MOST_RSS = 1.5 * 2 ** 30;

export const TIME_LIMIT_S = 240;

const test = suite("mutated files");

const WORDS = [
  ...[
    "\0",
    "\r",
    "\n",
    "\t",
    ",",
    ";",
    '"',
    "'",
    "|",
    "<",
    ">",
    "&",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    " ",
    "=",
    "-",
    "#",
    "\u001b[4m",
  ],
  ...[
    "nan",
    "N/A",
    "inf",
    "-1",
    "1e999",
    "99999999999999999999",
    "1.234,5",
    "1,234.5",
    "0x",
    "\ufeff",
    "é",
    "\ud800",
    "SUM ",
    "GPU0",
  ],
  ...[
    "Time (%)",
    "Start (ns)",
    "D\\D",
    "%ile",
    "NCCL INFO ",
    "==1== ",
    "__proto__",
    "constructor",
    "]]>",
    "<!--",
    "-".repeat(200),
  ],
  ...[" ".repeat(500), "\t".repeat(500), "9".repeat(300), '"'.repeat(99), "(".repeat(300), "a ".repeat(300)],
];

function mutate(random: Random, texts: readonly string[]): string {
  const pick = () => texts[random.integer(texts.length)] as string;
  let text = pick();
  for (let change = random.integer(6); change >= 0; change--) {
    const at = random.integer(text.length + 1);
    const span = random.integer(3) === 0 ? random.integer(400) : random.integer(4);
    switch (random.integer(7)) {
      case 0:
        text = text.slice(0, at);
        break;
      case 1:
        text = text.slice(0, at) + text.slice(at + span);
        break;
      case 2:
        text = text.slice(0, at) + text.slice(at, at + span).repeat(1 + random.integer(20)) + text.slice(at);
        break;
      case 3: {
        const other = pick();
        const from = random.integer(other.length + 1);
        text = text.slice(0, at) + other.slice(from, from + 10 * span) + text.slice(at + span);
        break;
      }
      case 4: {
        const lines = text.split("\n");
        const i = random.integer(lines.length);
        const [line] = lines.splice(i, 1);
        lines.splice(random.integer(lines.length + 1), 0, line as string);
        text = lines.join("\n");
        break;
      }
      default:
        text =
          text.slice(0, at) +
          (WORDS[random.integer(WORDS.length)] as string) +
          text.slice(at + random.integer(2) * span);
    }
  }
  return text.slice(0, 2 ** 21);
}

/** Time that this process has computed for: others on the machine do not count. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function bytesOf(random: Random, text: string): Uint8Array {
  const kind = random.integer(12);
  if (kind === 0) return Buffer.from(`\ufeff${text}`, "utf16le");
  if (kind === 1) return Buffer.from(text, "latin1");
  if (kind === 2) return Buffer.from(text.replaceAll("\n", "\r\n"));
  return Buffer.from(text);
}

function seeds(): string[] {
  const texts = [...Object.values(fixtures), NCCL, HWLOC];
  const samples = process.env.P2PLAB_SAMPLES;
  if (samples && SECONDS !== null) {
    for (const name of readdirSync(samples, { recursive: true, encoding: "utf8" })) {
      const path = join(samples, name);
      if (!statSync(path).isFile() || statSync(path).size > 200_000 || /\.(?:sqlite|gz)$/.test(name))
        continue;
      texts.push(plainText(readFileSync(path)).text);
    }
  }
  return texts;
}

test("they are imported or refused, never worse (seeded)", async () => {
  const random = new Random(SEED);
  const texts = seeds();
  const until = performance.now() + (SECONDS ?? 0) * 1000;
  const counts = { read: 0, refused: 0 };
  let slowest = 0;
  while (SECONDS === null ? counts.read + counts.refused < FILES : performance.now() < until) {
    const text = mutate(random, texts);
    const bytes = bytesOf(random, text);
    // By its content, or as something that it may not be at all.
    const format =
      random.integer(4) === 0 ? (IMPORTERS[random.integer(IMPORTERS.length)]?.format ?? "auto") : "auto";
    const began = processorMs();
    try {
      const imported = await importFile(bytes, { format });
      imported[richDisplay]();
      for (const [name, table] of Object.entries(imported.tables)) {
        for (const column of table.columnNames()) {
          for (const value of table.array(column) as unknown[]) {
            const fine =
              value === null ||
              typeof value === "string" ||
              typeof value === "boolean" ||
              Number.isFinite(value);
            assert.ok(fine, `${imported.format} ${name} ${column}: ${String(value)}`);
          }
        }
      }
      counts.read++;
    } catch (error) {
      assert.instance(
        error,
        P2pError,
        `${error instanceof Error ? error.stack : error}\n${format}\n${JSON.stringify(text)}`,
      );
      counts.refused++;
    }
    const took = processorMs() - began;
    slowest = Math.max(slowest, took);
    assert.ok(took < MOST_MS, `${Math.round(took)} ms\n${format}\n${JSON.stringify(text)}`);
    assert.ok(
      process.memoryUsage().rss < MOST_RSS,
      `${process.memoryUsage().rss} bytes of memory\n${JSON.stringify(text.slice(0, 10_000))}`,
    );
  }
  assert.ok(counts.read > 50 && counts.refused > 20, JSON.stringify(counts));
  if (process.env.P2PLAB_FUZZ_SECONDS)
    console.log(`${JSON.stringify(counts)}, the slowest took ${Math.round(slowest)} ms`);
});

test("lines that go on and on take time that grows with their length", async () => {
  const pieces = [
    " ",
    "\t",
    "1 ",
    "a ",
    "9",
    '"',
    '",',
    '""',
    "|",
    "-",
    "- ",
    "(",
    "<",
    "[",
    "{",
    "GPU0 ",
    "NCCL INFO ",
    "N/A ",
    "\u001b[",
    "1.",
    "0,",
    "'",
  ];
  const starts = [
    "",
    "#",
    " size count busbw ",
    "Start (ns),Name",
    "=== ",
    "GPU/0 :",
    '"ID","Kernel Name",',
    "==1== ",
    "Link 0: ",
    "<!--",
    "bandwidthTest-",
  ];
  for (const piece of pieces) {
    for (const start of starts) {
      const line = start + piece.repeat(Math.ceil(100_000 / piece.length));
      for (const text of [line, `${fixtures.NCCL_TESTS}${line}`, `${line}\n${fixtures.P2P_TEST}`]) {
        const began = processorMs();
        await importFile(Buffer.from(text)).catch((error: unknown) => assert.instance(error, P2pError));
        const took = processorMs() - began;
        assert.ok(
          took < MOST_MS,
          `${Math.round(took)} ms for ${JSON.stringify(start)} and ${JSON.stringify(piece)}`,
        );
      }
    }
  }
});

test.run();
