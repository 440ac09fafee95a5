import { suite } from "uvu";
import * as assert from "uvu/assert";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { type Program, program } from "../../../kernel/lab/program.js";
import { median } from "../../../kernel/lab/sampling.js";
import { FIXED, MIB, medianNs, near, rate, together } from "./helpers.js";

const test = suite("simulated copies");

test("small copies take what the two-GPU Hopper machine took", async () => {
  near(await medianNs("hgx-h200-8", transfer({ from: 0, to: 1, bytes: 8 })), 6780, 0.03);
  near(await medianNs("hgx-h200-8", transfer({ from: 0, to: 1, bytes: MIB })), 9730, 0.06);
  // Staged by hand 14.1 µs on a day when the peer copy took 8.3.
  near(
    await medianNs("hgx-h200-8", transfer({ from: 0, to: 1, bytes: 8, path: "staged" })),
    (14100 * 6780) / 8300,
    0.03,
  );
});

test("large copies reach the published rates", async () => {
  const large = (from: number, to: number, path: "peer" | "driver-staged") =>
    transfer({ from, to, bytes: 64 * MIB, path });
  near(await rate("hgx-h100-8", large(0, 1, "peer"), 64 * MIB), 395, 0.1);
  near(await rate("hgx-h100-8", large(0, 1, "driver-staged"), 64 * MIB), 37, 0.2);
  near(await rate("dgx-a100-8", large(0, 1, "peer"), 64 * MIB), 276, 0.1);
  near(await rate("pcie-gen4-2", large(0, 1, "peer"), 64 * MIB), 24.2, 0.1);
  // Not fitted: M08 gives 17.6-18.3 GB/s within a socket and 19.7-21.0 between two.
  near(await rate("pcie-gen4-2", large(0, 1, "driver-staged"), 64 * MIB), 18, 0.15);
  near(await rate("dgx-a100-8", large(0, 4, "driver-staged"), 64 * MIB), 20.5, 0.15);
});

test("the two directions of NVLink do not contend, two flows into one GPU do", async () => {
  const one = await medianNs("hgx-h100-8", together([[0, 1]], 64 * MIB));
  near(
    await medianNs(
      "hgx-h100-8",
      together(
        [
          [0, 1],
          [1, 0],
        ],
        64 * MIB,
      ),
    ),
    one,
    0.03,
  );
  near(
    await medianNs(
      "hgx-h100-8",
      together(
        [
          [0, 1],
          [2, 3],
        ],
        64 * MIB,
      ),
    ),
    one,
    0.03,
  );
  near(
    await medianNs(
      "hgx-h100-8",
      together(
        [
          [0, 2],
          [1, 2],
        ],
        64 * MIB,
      ),
    ),
    2 * one,
    0.03,
  );
});

test("GPUs of Volta and Ampere on NVSwitches lose some when both directions are busy, links from GPU to GPU do not", async () => {
  const ratio = async (preset: string, a: number, b: number) => {
    const one = await medianNs(preset, together([[a, b]], 64 * MIB));
    const both = together(
      [
        [a, b],
        [b, a],
      ],
      64 * MIB,
    );
    return (2 * one) / (await medianNs(preset, both));
  };
  near(await ratio("dgx2-v100-16", 0, 9), 1.86, 0.02);
  near(await ratio("dgx-a100-8", 0, 5), 1.89, 0.02);
  near(await ratio("dgx1-v100-8", 0, 3), 2, 0.02);
  near(await ratio("hgx-h100-8", 0, 5), 2, 0.02);
});

test("behind other work a copy that the driver stages waits for its stream and for the driver's channel", async () => {
  const staged = (copies: number) => {
    let of = program()
      .buffer("src", { gpu: 0, bytes: 16 })
      .buffer("dst", { gpu: 1, bytes: 16 })
      .stream("s", { gpu: 0 })
      .peerAccess(false);
    for (let i = 0; i < copies; i++) of = of.copy("s", "src", "dst", { api: "peer" });
    return of.sync("s");
  };
  const machine = SimulatedMachine.open("hgx-h100-8", { seed: 3 });
  const [one, nine] = await Promise.all([1, 9].map((copies) => machine.run(staged(copies), FIXED)));
  const each = ((nine?.samples.convergence.medianNs ?? 0) - (one?.samples.convergence.medianNs ?? 0)) / 8;
  // M07: 16.1 or 18.3 µs in a filled queue, by pair; only the difference of the two is a figure of the model.
  assert.ok(each > 14_500 && each < 19_500, String(each));
});

test("staged copies in both directions at once stay as far below twice one way as published", async () => {
  const both = async (preset: string, a: number, b: number) => {
    const of = together(
      [
        [a, b],
        [b, a],
      ],
      64 * MIB,
    ).peerAccess(false);
    return (2 * 64 * MIB) / (await medianNs(preset, of));
  };
  near(await both("hgx-h100-8", 0, 4), 52.4, 0.1);
  // Not fitted: M08 gives 20 GB/s within a socket and 27.5-29.7 between two.
  near(await both("pcie-gen4-2", 0, 1), 20, 0.1);
  near(await both("dgx-a100-8", 0, 4), 29, 0.15);
});

test("two GPUs behind one PCIe switch share its uplink to the host", async () => {
  const down = (gpus: readonly number[]) => {
    let of = program();
    for (const gpu of gpus) {
      of = of
        .buffer(`h${gpu}`, { host: "pinned", bytes: 64 * MIB })
        .buffer(`d${gpu}`, { gpu, bytes: 64 * MIB })
        .stream(`s${gpu}`, { gpu })
        .copy(`s${gpu}`, `h${gpu}`, `d${gpu}`);
    }
    for (const gpu of gpus) of = of.sync(`s${gpu}`);
    return of;
  };
  const one = await medianNs("dgx-a100-8", down([0]));
  near(await medianNs("dgx-a100-8", down([0, 1])), 2 * one, 0.03);
  near(await medianNs("dgx-a100-8", down([0, 2])), one, 0.03);
});

function chunked(streams: number, chunks: number, bytes: number): Program {
  let of = program().buffer("src", { gpu: 0, bytes }).buffer("dst", { gpu: 1, bytes });
  of = of.buffer("stage", { host: "pinned", bytes });
  for (let s = 0; s < streams; s++) of = of.stream(`s${s}`, { gpu: 0 });
  const size = bytes / chunks;
  for (let c = 0; c < chunks; c++) {
    const at = { bytes: size, srcOffset: c * size, dstOffset: c * size };
    of = of.copy(`s${c % streams}`, "src", "stage", at).copy(`s${c % streams}`, "stage", "dst", at);
  }
  for (let s = 0; s < streams; s++) of = of.sync(`s${s}`);
  return of;
}

test("staged chunks in two streams overlap and beat one stream", async () => {
  const one = await medianNs("hgx-h100-8", chunked(1, 16, 64 * MIB));
  const two = await medianNs("hgx-h100-8", chunked(2, 16, 64 * MIB));
  assert.ok(two < 0.85 * one, `${two} against ${one}`);
});

test("a copy from or to pageable memory returns to the host only when it is complete", async () => {
  const from = (host: "pinned" | "pageable") =>
    program()
      .buffer("h", { host, bytes: MIB })
      .buffer("d", { gpu: 0, bytes: MIB })
      .stream("s", { gpu: 0 })
      .copy("s", "d", "h")
      .sync("s");
  const machine = SimulatedMachine.open("dgx-a100-8");
  const pinned = await machine.run(from("pinned"), FIXED);
  const pageable = await machine.run(from("pageable"), FIXED);
  assert.ok(median(pinned.samples.apiNs) < 0.1 * median(pinned.samples.totalNs));
  assert.ok(median(pageable.samples.apiNs) > 0.95 * median(pageable.samples.totalNs));
  // SIBO: 580 µs for 1 MB of pageable memory.
  near(pageable.samples.convergence.medianNs, 580e3, 0.15);
});

test.run();
