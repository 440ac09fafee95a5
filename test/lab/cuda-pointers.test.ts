import { suite } from "uvu";
import * as assert from "uvu/assert";
import { peerAttributes } from "../../kernel/lab/cuda/peer-attributes.js";
import { pointers } from "../../kernel/lab/cuda/pointers.js";
import { RecordedMachine } from "../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../kernel/lab/machines/simulated.js";
import { inLab, missing } from "../native/toolchain.js";

const test = suite("lab.pointers and lab.peerAttributes");
const reason = missing("addon") ?? missing("compiler");
const KINDS = ["device", "pinned", "registered", "managed", "pageable"];

test("a recording and a model have no addresses, and say so in each row", () => {
  for (const machine of [RecordedMachine.open("h200x2"), SimulatedMachine.open("dgx1-v100-8")]) {
    const rows = pointers(machine).objects() as Record<string, unknown>[];
    assert.equal(
      rows.map((row) => row.kind),
      KINDS,
    );
    for (const row of rows) {
      assert.equal([row.memory, row.gpu, row.device_address], [null, null, null]);
      assert.match(String(row.note), /no driver to ask/);
      assert.is(row.provenance, machine.provenance.kind);
    }
  }
});

test("attributes of pairs come from what is held of them, and what only a driver tells is null with its reason", () => {
  const rows = peerAttributes(SimulatedMachine.open("dgx1-v100-8")).objects() as Record<string, unknown>[];
  assert.is(rows.length, 56);
  const of = (from: number, to: number) => rows.find((row) => row.from === from && row.to === to);
  assert.equal([of(0, 1)?.access, of(0, 1)?.link, of(0, 3)?.link], [true, "NV1", "NV2"]);
  assert.is(of(0, 5)?.access, false, "no NVLink joins them");
  assert.ok(String(of(0, 5)?.reason).length > 0);
  assert.is(of(0, 1)?.performance_rank ?? null, null);
  assert.match(String(of(0, 1)?.note), /only a driver tells/);
});

if (reason) {
  test.skip(`skipped: ${reason}`, () => {});
} else {
  test("the driver's own words of five kinds of memory, and of pairs", () => {
    const modules = ["cuda/pointers", "cuda/peer-attributes"].map((name) =>
      JSON.stringify(new URL(`../../kernel/lab/${name}.js`, import.meta.url).href),
    );
    const { lines, stderr } = inLab(
      `const { pointers } = await import(${modules[0]}), { peerAttributes } = await import(${modules[1]});
       const machine = await CudaMachine.open();
       print(pointers(machine, { gpu: 1, bytes: 4096 }).objects());
       print(peerAttributes(machine).objects());
       const managed = cuda.managedAlloc(64);
       managed.write(Float64Array.of(2.5));
       const device = cuda.alloc(1, 64);
       cuda.copy(device, managed);
       print(new Float64Array(device.read().buffer)[0]);
       const at = device.pointer();
       print([at.memory, at.gpu, at.rangeBytes, at.deviceAddress === device.address, at.hostAddress]);
       try { cuda.hostAlloc(8, { pinned: false }).pointer(); print("asked"); } catch (error) { print(failure(error)); }`,
    );
    assert.is(stderr, "");
    const [memory, pairs, value, facts, pageable] = lines;
    const row = (kind: string) => memory.find((one: { kind: string }) => one.kind === kind);
    assert.equal([row("device").memory, row("device").gpu, row("device").host_address], ["device", 1, null]);
    for (const kind of ["pinned", "registered"])
      assert.equal([row(kind).memory, row(kind).same_address, row(kind).managed], ["host", true, false]);
    assert.equal([row("managed").managed, row("managed").same_address], [true, true]);
    assert.equal(
      [row("pageable").memory, row("pageable").note],
      [null, "the driver does not know this address"],
    );
    for (const kind of ["device", "pinned", "registered", "managed"])
      assert.ok(row(kind).range_bytes >= 4096, kind);
    assert.equal(
      pairs.map((pair: Record<string, unknown>) => [pair.from, pair.to, pair.access, pair.performance_rank]),
      [
        [0, 1, true, 0],
        [1, 0, true, 0],
      ],
    );
    assert.is(value, 2.5);
    assert.equal(facts, ["device", 1, 64, true, null]);
    assert.is(pageable, "asked");
  });
}

test.run();
