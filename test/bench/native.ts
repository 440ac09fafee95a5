/** The native measurement engine on this machine's GPUs, beside the public tools and hand-written loops of test/gpu/. */
import { cuda, lab, messageOf } from "../../kernel/lab/index.js";
import { besideLoop, besideNvbandwidth } from "../gpu/compare/bandwidth.js";
import { type Bench, type Group, type RowSpec, runGroup } from "../gpu/compare/group.js";
import { loadLatency } from "../gpu/compare/load-latency.js";
import { overhead } from "../gpu/compare/overhead.js";
import { smallCopies } from "../gpu/compare/small-copies.js";
import { wallTime } from "../gpu/compare/wall-time.js";
import { buildLoops } from "../gpu/loops.js";
import { type Found, findPeer } from "../gpu/peers.js";
import { type BenchRow, notRun, tableOf } from "./row.js";
import type { BenchOptions, BenchResult } from "./run.js";

// Each group has specs of its own kind; runGroup hands it none but its own.
const GROUPS = [
  besideNvbandwidth,
  besideLoop,
  smallCopies,
  overhead,
  loadLatency,
  wallTime,
] as readonly unknown[] as readonly Group<RowSpec>[];

/** Every row that the bench can give, whether or not this machine can measure it. */
export function nativeSpecs(): readonly RowSpec[] {
  return GROUPS.flatMap((group) => group.specs);
}

/** Without a usable GPU every row says why it is not run. */
export async function nativeBench({ rounds, wants, say }: BenchOptions): Promise<BenchResult> {
  const nvbandwidth = findPeer("nvbandwidth");
  const p2pTest = findPeer("p2pBandwidthLatencyTest");
  const facts = { nvbandwidth: placeOf(nvbandwidth), p2p_test: placeOf(p2pTest) };
  const { available, reason } = cuda.availability().cuda;
  if (!available) {
    const rows = nativeSpecs()
      .filter((spec) => wants(spec.name))
      .map((spec) => notRun(spec.name, spec.unit, spec.bar, `no GPU can be used: ${reason}`));
    return { machine: "no GPU", rows, warnings: [], facts };
  }
  const machine = await lab.open("cuda");
  try {
    const warnings = new Set<string>();
    const bench: Bench = { machine, nvbandwidth, p2pTest, loops: loops(), rounds, warnings, say };
    const rows: BenchRow[] = [];
    for (const group of GROUPS) {
      const done = await runGroup(group, bench, wants);
      rows.push(...done);
      // What is known is said at once: a run that is ended from outside leaves this much.
      if (done.length > 0) say(tableOf(done));
    }
    return {
      machine: machine.info.name,
      rows,
      warnings: [...warnings],
      facts: { ...machine.info.facts, ...facts },
    };
  } finally {
    await machine.close();
  }
}

function loops(): Found {
  try {
    return { path: buildLoops() };
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

function placeOf(found: Found): string {
  return "path" in found ? found.path : `none: ${found.reason}`;
}
