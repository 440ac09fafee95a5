/** What must hold on any machine with a GPU. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { lab, messageOf } from "../../kernel/lab/index.js";
import { GPU_REQUIRED, type Machine, type Program, QUICK, realGpus, STEADY } from "./real.js";

export const TIME_LIMIT_S = 240;

const gpu = suite("one real GPU");
const { noGpu } = realGpus();

let machine: Machine;
gpu.before(async () => {
  if (!noGpu) machine = await lab.open("cuda");
});
gpu.after(async () => {
  if (!noGpu) await machine.close();
});

type Engine = "copy-engine" | "kernel-write" | "kernel-read";
type End = "gpu" | "pinned" | "pageable";

function copy(from: End, to: End, bytes: number, engine: Engine = "copy-engine"): Program {
  const place = (end: End) => (end === "gpu" ? { gpu: 0, bytes } : { host: end, bytes });
  return lab
    .program()
    .buffer("src", place(from))
    .buffer("dst", place(to))
    .stream("s", { gpu: 0 })
    .copy("s", "src", "dst", { engine })
    .sync("s");
}

const PATHS: readonly (readonly [End, End, Engine])[] = [
  ["gpu", "gpu", "copy-engine"],
  ["pinned", "gpu", "copy-engine"],
  ["gpu", "pinned", "copy-engine"],
  ["pageable", "gpu", "copy-engine"],
  ["gpu", "pageable", "copy-engine"],
  ["gpu", "gpu", "kernel-write"],
  ["gpu", "gpu", "kernel-read"],
  ["pinned", "gpu", "kernel-read"],
  ["gpu", "pinned", "kernel-write"],
];
/** The smallest, one that no vector divides, and what takes many blocks. */
const SIZES = [8, 4093, 65_536, 2 ** 20 + 24, 2 ** 26];

async function medianNs(program: Program): Promise<number> {
  return (await machine.run(program, { sampling: STEADY })).samples.convergence.medianNs;
}

function compute(ns: number): Program {
  return lab.program().stream("s", { gpu: 0 }).compute("s", ns).sync("s");
}

/** Loads of GPU 0 through a chain in its own or in host memory. */
function loads(where: "gpu" | "pinned", chain: object): Program {
  const bytes = 2 ** 28;
  return lab
    .program()
    .buffer("chain", where === "gpu" ? { gpu: 0, bytes } : { host: "pinned", bytes })
    .stream("s", { gpu: 0 })
    .probeLoad("s", "chain", { accesses: 4000, ...chain });
}

if (noGpu && GPU_REQUIRED) {
  gpu("there is a GPU", () => assert.unreachable(noGpu));
} else if (noGpu) {
  console.log(`skipped: ${noGpu}`);
  gpu.skip(`skipped (optional): ${noGpu}`, () => {});
} else {
  gpu("every byte arrives by every engine between every kind of ends, one copy at a time", async () => {
    for (const [from, to, engine] of PATHS) {
      for (const bytes of SIZES) {
        const what = `${from} to ${to} by ${engine}, ${bytes} bytes`;
        const run = await machine.run(copy(from, to, bytes, engine), { sampling: QUICK });
        assert.is(run.verification.state, "ok", what);
        assert.is(run.verification.checkedBytes, bytes, what);
        assert.is(run.provenance.kind, "measured");
        assert.ok(
          run.samples.totalNs.every((ns, i) => ns > 0 && ns >= (run.samples.apiNs[i] as number)),
          what,
        );
      }
    }
  });

  gpu("the same behind a gate, with figures for its stream and no gate given up", async () => {
    for (const [from, to, engine] of PATHS.filter(([a, b]) => a !== "pageable" && b !== "pageable")) {
      for (const bytes of [8, 65_536, 2 ** 26]) {
        const what = `${from} to ${to} by ${engine}, ${bytes} bytes`;
        const run = await machine.run(copy(from, to, bytes, engine), { mode: "throughput", sampling: QUICK });
        assert.is(run.mode, "throughput", what);
        assert.is(run.verification.state, "ok", what);
        assert.is(run.throughput?.gateTimeouts, 0, what);
        assert.equal(
          run.throughput?.streams.map(({ name }) => name),
          ["s"],
          what,
        );
        assert.ok(
          run.samples.totalNs.every((ns) => ns > 0),
          what,
        );
      }
    }
  });

  gpu("one copy alone takes longer to be seen complete than one of a full queue", async () => {
    const program = copy("gpu", "gpu", 8);
    const queued = await machine.run(program, { mode: "throughput", sampling: STEADY });
    assert.ok((await medianNs(program)) > queued.samples.convergence.medianNs);
  });

  gpu("one address is good for host and GPU of page-locked, registered and managed memory", () => {
    const rows = lab.pointers(machine, { bytes: 4096 }).objects() as Record<string, unknown>[];
    const shared = rows.filter((row) => row.same_address === true).map((row) => row.kind);
    assert.equal(shared, ["pinned", "registered", "managed"], JSON.stringify(rows));
    const device = rows.find((row) => row.kind === "device");
    assert.equal([typeof device?.device_address, device?.host_address], ["string", null]);
  });

  gpu("work of a known duration is recovered: never less, and differences to 3 %", async () => {
    const short = await medianNs(compute(200_000));
    const long = await medianNs(compute(1_200_000));
    assert.ok(short >= 200_000, `${short} ns`);
    assert.ok(long >= 1_200_000, `${long} ns`);
    assert.ok(Math.abs(long - short - 1_000_000) <= 30_000, `${long} - ${short} ns`);
  });

  gpu("the same program twice differs by less than 3 %", async () => {
    const program = copy("pinned", "gpu", 2 ** 20);
    const first: number[] = [];
    const second: number[] = [];
    for (let round = 0; round < 5; round++) {
      first.push(await medianNs(program));
      second.push(await medianNs(program));
    }
    const quotient = lab.median(first) / lab.median(second);
    assert.ok(Math.abs(quotient - 1) < 0.03, `${quotient}`);
  });

  gpu("more bytes take longer, and a load from the host longer than one from its own memory", async () => {
    const small = await medianNs(copy("pinned", "gpu", 2 ** 20));
    const large = await medianNs(copy("pinned", "gpu", 2 ** 26));
    assert.ok(large > 10 * small, `${small} and ${large} ns`);
    const warm = { footprintBytes: 2 ** 20, strideBytes: 128, order: "random" };
    const own = (await machine.run(loads("gpu", warm))).samples.convergence.medianNs;
    const far = (await machine.run(loads("pinned", warm))).samples.convergence.medianNs;
    assert.ok(far > 2 * own, `own ${own}, host ${far} ns`);
    const cold = { footprintBytes: 2 ** 28, strideBytes: 4096, order: "random", cold: true };
    const missed = (await machine.run(loads("gpu", cold))).samples.convergence.medianNs;
    assert.ok(missed > 1.3 * own, `warm ${own}, cold ${missed} ns`);
  });

  gpu("the traced parts are positive and add up to the traced total within 5 %", async () => {
    const run = await machine.run(copy("pinned", "gpu", 2 ** 20), { sampling: QUICK, trace: "copies" });
    assert.ok(run.trace, run.traceReason ?? "");
    const { launchNs, engineNs, receiverNs, totalNs } = run.trace;
    const parts = [launchNs, engineNs, receiverNs].map((part) => lab.median(part));
    assert.ok(
      parts.every((ns) => ns > 0),
      parts.join(", "),
    );
    const sum = parts.reduce((a, b) => a + b);
    const total = lab.median(totalNs);
    assert.ok(Math.abs(sum - total) <= 0.05 * total, `${sum} against ${total} ns`);
  });

  gpu("a run is cancelled within a second, and the next one is whole", async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 100);
    const began = performance.now();
    const endless = { budgetMs: 60_000, target: 1e-12, maxSamples: 5e6, minSamples: 5e6 };
    try {
      await machine.run(copy("gpu", "pinned", 2 ** 22), { signal: abort.signal, sampling: endless });
      assert.unreachable("an aborted run rejects");
    } catch (error) {
      assert.is((error as { code?: string }).code, "cancelled", messageOf(error));
    }
    assert.ok(performance.now() - began < 3000);
    const run = await machine.run(copy("gpu", "pinned", 2 ** 22), { sampling: QUICK });
    assert.is(run.verification.state, "ok");
  });

  gpu(
    "a GPU that is not there and memory that is not there are typed errors, and the next run is whole",
    async () => {
      const nowhere = lab
        .program()
        .buffer("src", { gpu: 0, bytes: 8 })
        .buffer("dst", { gpu: 99, bytes: 8 })
        .stream("s", { gpu: 0 })
        .copy("s", "src", "dst")
        .sync("s");
      for (const [program, code] of [
        [nowhere, "not-available"],
        [copy("gpu", "gpu", 2 ** 43), "cuda"],
      ] as const) {
        try {
          await machine.run(program, { sampling: QUICK });
          assert.unreachable("it rejects");
        } catch (error) {
          assert.is((error as { code?: string }).code, code, messageOf(error));
        }
      }
      assert.is((await machine.run(copy("gpu", "gpu", 8), { sampling: QUICK })).verification.state, "ok");
    },
  );
}

gpu.run();
