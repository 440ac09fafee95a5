import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { RecordedMachine } from "../../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { type HostCopiesOptions, hostCopies, hostCopy } from "../../../kernel/lab/measure/host-copies.js";

const test = suite("lab.hostCopies");

interface Row {
  gpu: number;
  direction: string;
  memory: string;
  bytes: number;
  gbps: number | null;
  reason: string | null;
  provenance: string;
}

test("a row a GPU, direction, memory and size; pageable memory is slower, and no rate passes the link", async () => {
  const machine = SimulatedMachine.open("pcie-gen4-2");
  const table = await hostCopies(machine, {
    bytes: ["64 KiB", "64 MiB"],
    sampling: { minSamples: 10, maxSamples: 20 },
  });
  const rows = table.objects() as Row[];
  assert.is(rows.length, 16);
  assert.equal(table.columnNames().slice(0, 5), ["gpu", "direction", "memory", "bytes", "metric"]);
  assert.equal(table.columnNames().slice(-4), ["reason", "machine", "provenance", "date"]);
  const rate = (gpu: number, direction: string, memory: string) =>
    rows.find(
      (r) => r.gpu === gpu && r.direction === direction && r.memory === memory && r.bytes === 64 * 2 ** 20,
    )?.gbps as number;
  for (const gpu of [0, 1]) {
    for (const direction of ["to-gpu", "to-host"]) {
      assert.ok(rate(gpu, direction, "pinned") < 31.6, "x16 of generation 4");
      assert.ok(rate(gpu, direction, "pageable") < rate(gpu, direction, "pinned"));
    }
  }
});

test("what a recording does not hold is a row with its reason", async () => {
  const machine = RecordedMachine.open("h200x2");
  const [row] = (
    await hostCopies(machine, { gpu: 0, direction: "to-host", memory: "pageable", bytes: 4096 })
  ).objects() as Row[];
  assert.is(row?.gbps ?? null, null);
  assert.match(row?.reason ?? "", /holds no run of this program/);
  assert.is(row?.provenance, "recorded");
});

test("pageable memory cannot be timed behind a gate, and its row says so", async () => {
  const machine = SimulatedMachine.open("pcie-gen4-2");
  const options = { gpu: 0, bytes: "1 MiB", direction: "to-gpu", metric: "bandwidth" } as const;
  const rows = (await hostCopies(machine, options)).objects() as Row[];
  const of = (memory: string) => rows.find((row) => row.memory === memory);
  assert.ok((of("pinned")?.gbps ?? 0) > 0);
  assert.is(of("pageable")?.gbps ?? null, null);
  assert.match(of("pageable")?.reason ?? "", /one by one/);
});

test("the program copies the way that is named", () => {
  const [toGpu, toHost] = (["to-gpu", "to-host"] as const).map(
    (direction) => hostCopy(0, direction, "pinned", 64).data.operations[0],
  );
  assert.equal(
    [toGpu && "src" in toGpu && toGpu.src, toHost && "src" in toHost && toHost.src],
    ["host", "device"],
  );
});

test("options that there are not are refused by name", async () => {
  const machine = SimulatedMachine.open("pcie-gen4-2");
  for (const wrong of [
    { bytes: 8, memory: "managed" },
    { bytes: 8, direction: "up" },
    { bytes: [] },
    { bytes: 8, sise: 1 },
    { bytes: Number.NaN },
    null,
  ]) {
    try {
      await hostCopies(machine, wrong as unknown as HostCopiesOptions);
      assert.unreachable(JSON.stringify(wrong));
    } catch (error) {
      assert.ok(error instanceof P2pError && error.code === "usage", `${JSON.stringify(wrong)}: ${error}`);
    }
  }
});

test.run();
