import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { timePrograms } from "../../../kernel/lab/measure/programs.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";

const test = suite("lab.timePrograms");
const machine = SimulatedMachine.open("hgx-h100-8");

test("a row a program by its name, with what its copies move", async () => {
  const table = await timePrograms(
    machine,
    {
      peer: transfer({ from: 0, to: 1, bytes: 4096 }),
      staged: transfer({ from: 0, to: 1, bytes: 4096, path: "staged" }),
    },
    { sampling: { minSamples: 10, maxSamples: 20 } },
  );
  const [peer, staged] = table.objects() as { program: string; copied_bytes: number; total_us: number }[];
  assert.equal([peer?.program, peer?.copied_bytes], ["peer", 4096]);
  assert.equal([staged?.program, staged?.copied_bytes], ["staged", 8192]);
  assert.ok((peer?.total_us ?? 0) > 0 && (peer?.total_us ?? 0) < (staged?.total_us ?? 0));
  assert.equal(table.columnNames().slice(-4), ["reason", "machine", "provenance", "date"]);
});

test("a program that the machine cannot run is a row with its reason", async () => {
  const table = await timePrograms(
    machine,
    {
      here: transfer({ from: 0, to: 1, bytes: 8 }),
      box: transfer({ from: 0, to: 1, bytes: 8, api: "peer-3d" }),
    },
    { sampling: { minSamples: 10, maxSamples: 20 } },
  );
  const rows = table.objects() as { program: string; total_us: number | null; reason: string }[];
  assert.is(rows.find((row) => row.program === "box")?.total_us ?? null, null);
  assert.match(rows.find((row) => row.program === "box")?.reason ?? "", /no cost of cuMemcpy3DPeerAsync/);
  assert.ok((rows.find((row) => row.program === "here")?.total_us ?? 0) > 0);
});

test("what is no program, and no programs at all, are refused", async () => {
  for (const wrong of [{}, { one: "copy" }, null, { one: null }]) {
    try {
      await timePrograms(machine, wrong as never);
      assert.unreachable(JSON.stringify(wrong));
    } catch (error) {
      assert.ok(error instanceof P2pError && error.code === "usage", String(error));
    }
  }
});

test.run();
