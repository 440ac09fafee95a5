/** What must hold between two GPUs that reach each other's memory. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { lab } from "../../kernel/lab/index.js";
import { type Machine, type Program, QUICK, realGpus, STEADY } from "./real.js";

export const TIME_LIMIT_S = 240;

const pair = suite("two real GPUs");
const { noPair } = realGpus();

let machine: Machine;
pair.before(async () => {
  if (!noPair) machine = await lab.open("cuda");
});
pair.after(async () => {
  if (!noPair) await machine.close();
});

type Allocator = "malloc" | "pool" | "vmm";
type Engine = "copy-engine" | "kernel-write" | "kernel-read";

function push(
  from: number,
  to: number,
  bytes: number,
  options: { engine?: Engine; allocator?: Allocator; api?: "default" | "peer" | "batch" } = {},
): Program {
  const { engine = "copy-engine", allocator = "malloc", api = "default" } = options;
  return lab
    .program()
    .buffer("src", { gpu: from, bytes, allocator })
    .buffer("dst", { gpu: to, bytes, allocator })
    .stream("s", { gpu: engine === "kernel-read" ? to : from })
    .copy("s", "src", "dst", { engine, api })
    .sync("s");
}

const WAYS = [
  [0, 1],
  [1, 0],
] as const;
const SIZES = [8, 4093, 2 ** 20 + 24, 2 ** 26];

async function mustArrive(program: Program, what: string): Promise<void> {
  const run = await machine.run(program, { sampling: QUICK });
  assert.is(run.verification.state, "ok", what);
  assert.is(run.verification.wrongBytes, 0, what);
}

async function loadNs(owner: number | "host"): Promise<number> {
  const bytes = 2 ** 21;
  const program = lab
    .program()
    .buffer("chain", owner === "host" ? { host: "pinned", bytes } : { gpu: owner, bytes })
    .stream("s", { gpu: 0 })
    .probeLoad("s", "chain", { strideBytes: 128, accesses: 4000 });
  return (await machine.run(program)).samples.convergence.medianNs;
}

if (noPair) {
  console.log(`skipped: ${noPair}`);
  pair.skip(`skipped (optional): ${noPair}`, () => {});
} else {
  pair("every byte arrives both ways by every engine, one at a time and behind a gate", async () => {
    for (const [from, to] of WAYS) {
      for (const engine of ["copy-engine", "kernel-write", "kernel-read"] as const) {
        for (const bytes of SIZES) {
          const what = `GPU ${from} to ${to}, ${engine}, ${bytes} bytes`;
          await mustArrive(push(from, to, bytes, { engine }), what);
          const queued = await machine.run(push(from, to, bytes, { engine }), {
            mode: "throughput",
            sampling: QUICK,
          });
          assert.is(queued.verification.state, "ok", what);
          assert.is(queued.throughput?.gateTimeouts, 0, what);
        }
      }
    }
  });

  pair("every byte arrives from and into memory of every allocator, and by every copy call", async () => {
    for (const [from, to] of WAYS) {
      for (const allocator of ["malloc", "pool", "vmm"] as const) {
        await mustArrive(push(from, to, 2 ** 20, { allocator }), `${from} to ${to}, ${allocator}`);
      }
      for (const api of ["default", "peer", "batch"] as const) {
        await mustArrive(push(from, to, 2 ** 20, { api }), `${from} to ${to}, ${api}`);
      }
    }
  });

  pair("every byte arrives staged by hand and by the driver, and peer access comes back", async () => {
    for (const path of ["staged", "driver-staged", "peer"] as const) {
      for (const bytes of SIZES) await mustArrive(lab.transfer({ from: 0, to: 1, bytes, path }), path);
    }
  });

  pair("paths that must differ do: the driver's staging is slower than the link", async () => {
    const ns: Record<string, number> = {};
    for (const path of ["peer", "driver-staged"] as const) {
      const run = await machine.run(lab.transfer({ from: 0, to: 1, bytes: 2 ** 26, path }), {
        sampling: STEADY,
      });
      ns[path] = run.samples.convergence.medianNs;
    }
    assert.ok((ns["driver-staged"] as number) > 1.2 * (ns.peer as number), JSON.stringify(ns));
  });

  pair("loads from a peer lie between those from its own memory and twice those from the host", async () => {
    const own = await loadNs(0);
    const peer = await loadNs(1);
    const host = await loadNs("host");
    assert.ok(own * 1.5 < peer && peer < 2 * host, `own ${own}, peer ${peer}, host ${host} ns`);
  });

  pair("flags come and go, and with a fence no data is older than its flag", async () => {
    const two = lab
      .program()
      .buffer("a", { gpu: 0, bytes: 64 })
      .buffer("b", { gpu: 1, bytes: 64 })
      .stream("s", { gpu: 0 })
      .stream("t", { gpu: 1 });
    const ping = await machine.run(two.probePingPong("s", "t", { flag: "a", otherFlag: "b" }));
    assert.ok(ping.samples.convergence.medianNs > 0);
    const passing = two.probeMessagePassing("s", "t", { data: "b", flag: "a" }, { fence: "system" });
    const { counts } = await machine.run(passing);
    assert.ok((counts?.flagNewDataNew ?? 0) > 0, JSON.stringify(counts));
    assert.is(counts?.flagNewDataOld, 0, JSON.stringify(counts));
  });
}

pair.run();
