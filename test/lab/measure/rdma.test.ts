import { suite } from "uvu";
import * as assert from "uvu/assert";
import { registration } from "../../../kernel/lab/analyze/registration.js";
import type { P2pError } from "../../../kernel/lab/errors.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { type RdmaOptions, rdma } from "../../../kernel/lab/measure/rdma.js";
import { NETWORK_NDR } from "../../../kernel/lab/topology/figures.js";
import { scriptedMachine } from "../scripted-machine.js";

const test = suite("lab.rdma and lab.registration");

const hgx = SimulatedMachine.open("hgx-h100-8");
type Cost = { source: string; once_us: number; per_use_us: number; provenance: string };
type Row = { nic: string; class: string; path: string; bytes: number; total_us: number; gbps: number };
const rowsOf = async (options: RdmaOptions) => (await rdma(hgx, options)).objects() as Row[];

async function refusal(call: () => unknown): Promise<P2pError> {
  try {
    await call();
  } catch (error) {
    return error as P2pError;
  }
  throw new Error("nothing was refused");
}

test("the nearest card is the one behind the GPU's switch, the farthest behind another socket", async () => {
  const cards = hgx.rdma(5);
  assert.equal([cards[0]?.nic, cards[0]?.pciClass, cards.at(-1)?.pciClass], ["nic5", "PIX", "SYS"]);
  assert.ok(cards.every((card, i) => i === 0 || card.gpu.latencyNs >= (cards[i - 1]?.gpu.latencyNs ?? 0)));
  for (const { gpu, host } of cards) {
    assert.ok(gpu.latencyNs >= host.latencyNs && gpu.gbps <= NETWORK_NDR.forwardGbps);
  }
});

test("a small write takes the card's latency, a large one its rate; staging adds a copy on either side", async () => {
  const rows = await rowsOf({ gpu: 0, bytes: [8, "64 MiB"] });
  const of = (nic: string, path: string, bytes: number) =>
    rows.find((row) => row.nic === nic && row.path === path && row.bytes === bytes) as Row;
  assert.is(rows.length, 8);
  const [direct, large] = [of("nic0", "gpu-direct", 8), of("nic0", "gpu-direct", 2 ** 26)];
  // Published: 1.44 us between hosts without a switch, 2.64 us between GPUs of another socket than their card.
  assert.ok(direct.total_us > 1.44 && direct.total_us < 3, String(direct.total_us));
  assert.ok(large.gbps > 0.95 * NETWORK_NDR.forwardGbps && large.gbps < NETWORK_NDR.forwardGbps);
  assert.ok(of("nic7", "gpu-direct", 8).total_us > direct.total_us);
  assert.ok(of("nic0", "staged", 8).total_us > direct.total_us + 8);
  for (const row of rows) assert.ok(Math.abs(row.gbps * row.total_us * 1000 - row.bytes) < 1e-6 * row.bytes);
});

test("a machine without a card, without a model, or a card that there is not is refused by name", async () => {
  const none = await refusal(() => rdma(SimulatedMachine.open("pcie-gen4-2"), { bytes: 8 }));
  assert.is(none.code, "not-available");
  assert.match(none.message, /has no network card/);
  const real = await refusal(() => rdma(scriptedMachine("measured"), { bytes: 8 }));
  assert.match(real.message, /is no model/);
  assert.is((await refusal(() => rdma(hgx, { gpu: 99, bytes: 8 }))).code, "not-available");
  for (const wrong of [{ nic: "eth0" }, { nic: [] }, { bytes: [] }, { path: "sideways" }, { bites: 8 }]) {
    const error = await refusal(() => rdma(hgx, { bytes: 8, ...wrong } as never));
    assert.is(error.code, "usage", JSON.stringify(wrong));
  }
});

test("published registration costs grow with the size, spread over uses, and are no measurement", () => {
  const rows = registration({ bytes: ["64 KiB", "64 MiB"], uses: 10 }).objects() as Cost[];
  assert.ok(new Set(rows.map((row) => row.source)).size >= 4);
  for (const row of rows) {
    assert.is(row.provenance, "simulated");
    assert.ok(Math.abs(row.per_use_us * 10 - row.once_us) < 1e-9);
  }
  const ucx = rows.filter((row) => /^UCX/.test(row.source));
  assert.equal(
    ucx.map((row) => Math.round(row.once_us)),
    [20, 4043],
  );
  for (const wrong of [{ bytes: [] }, { bytes: 8, uses: 0 }, { bytes: 8, use: 1 }]) {
    assert.throws(
      () => registration(wrong as never),
      (error: P2pError) => error.code === "usage",
    );
  }
});

test.run();
