import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import * as timelines from "../../../kernel/lab/analyze/timeline/index.js";
import type { Importer } from "../../../kernel/lab/import/importer.js";
import { importer as kineto } from "../../../kernel/lab/import/kineto.js";
import { importer as nsys } from "../../../kernel/lab/import/nsys-sqlite.js";
import type { Table } from "../../../kernel/lab/measure/table.js";
import { sourceOf } from "./content-source.js";

export const TIME_LIMIT_S = 300;

const test = suite("samples of profilers");
const folder = process.env.P2PLAB_SAMPLES;

async function read(importer: Importer, part: string, name: string) {
  return importer.read(sourceOf(readFileSync(join(folder as string, part, name)), name));
}

if (!folder) {
  test.skip("skipped (optional): no folder of sample files is named by P2PLAB_SAMPLES", () => {});
} else {
  for (const [part, importer, ending] of [
    ["nsys-sqlite", nsys, ".sqlite"],
    ["kineto", kineto, ".json.gz"],
  ] as const) {
    test(`every file of ${part} is read, and every analysis answers or abstains`, async () => {
      const names = readdirSync(join(folder, part)).filter((name) => name.endsWith(ending));
      assert.ok(names.length > 0);
      for (const name of names) {
        const imported = await read(importer, part, name);
        assert.ok(imported.timeline && imported.timeline.kind.length > 0, name);
        for (const analyse of Object.values(timelines) as ((of: unknown) => Table)[]) {
          assert.ok(analyse(imported).numRows() > 0, name);
        }
        assert.not.match(String(imported), /damaged|token|PASSWORD/i, name);
      }
    });
  }

  test("peer copies of two H200, as torch.profiler saw them", async () => {
    const imported = await read(kineto, "own-h200x2", "kineto-p2p.json.gz");
    const copies = timelines.copies(imported).objects() as Record<string, unknown>[];
    const big = copies.find(({ copy, bytes_to }) => copy === "PtoP" && bytes_to === 2 ** 24) as Record<
      string,
      unknown
    >;
    assert.equal([big.from, big.to, big.n, big.memory], [0, 1, 13, "Device → Device"]);
    assert.ok((big.gbps_median as number) > 300 && (big.gbps_median as number) < 450);
    const staged = timelines.staged(imported).object() as Record<string, unknown>;
    assert.equal([staged.from, staged.to, staged.n, staged.peer_copies], [0, 1, 25, 65]);
    assert.is(imported.timeline?.origin?.machine, "2 × NVIDIA H200");
  });
}

test.run();
