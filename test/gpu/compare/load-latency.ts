/** Load latency under nvbandwidth's conditions, and cold in random order beside it. */
import { lab } from "../../../kernel/lab/index.js";
import { type BenchRow, measured, type Round, ratio } from "../../bench/row.js";
import { cellOf } from "../nvbandwidth.js";
import { runNvbandwidth } from "../peers.js";
import { type Bench, failed, type Group, measure, pathOf, type RowSpec } from "./group.js";

const ROUNDS = 5;
const AGREES = { min: 0.97, max: 1.03 };
/** nvbandwidth: a chain of 8-byte pointers 128 bytes apart in 2 MiB, 10^6 loads shared out over the SMs in turn. */
export const CHAIN = {
  footprintBytes: 2 * 2 ** 20,
  strideBytes: 128,
  order: "sequential",
  cold: false,
} as const;
const ACCESSES = 7575;
/** Far beyond the L2 cache, a page apart, so that each load misses the caches. */
const COLD = { footprintBytes: 2 ** 30, strideBytes: 4096, order: "random", cold: true } as const;

type Owner = "host" | "local" | "peer";

interface Spec extends RowSpec {
  readonly owner: Owner;
  readonly kind: "beside" | "cold";
}

const WORDS: Record<Owner, string> = {
  host: "host memory",
  local: "its own memory",
  peer: "a peer's memory",
};

function specOf(owner: Owner, kind: Spec["kind"]): Spec {
  const what = `load of GPU 0 from ${WORDS[owner]}`;
  const gpus = owner === "peer" ? 2 : 1;
  return kind === "beside"
    ? {
        owner,
        kind,
        name: `${what}, over nvbandwidth`,
        unit: "ratio",
        bar: AGREES,
        gpus,
        needs: ["nvbandwidth"],
      }
    : { owner, kind, name: `${what}, cold, random order`, unit: "ns", bar: null, gpus, needs: [] };
}

/** A chain in the memory of `owner`, walked by `gpu`. */
export function chainProgram(gpu: number, owner: number | "host", chain: typeof CHAIN | typeof COLD) {
  const bytes = chain.footprintBytes;
  return lab
    .program()
    .buffer("chain", owner === "host" ? { host: "pinned", bytes } : { gpu: owner, bytes })
    .stream("s", { gpu })
    .probeLoad("s", "chain", { ...chain, accesses: ACCESSES });
}

/** The library's figure, nanoseconds a load. */
async function oursNs(bench: Bench, owner: Owner, chain: typeof CHAIN | typeof COLD): Promise<number> {
  const place = { host: "host", local: 0, peer: 1 } as const;
  const run = await measure(bench, chainProgram(0, place[owner], chain), {
    sampling: { target: 0.005, minSamples: 10, maxSamples: 200, budgetMs: 1000, warmup: 1 },
  });
  return run.samples.convergence.medianNs;
}

export const loadLatency: Group<Spec> = {
  specs: [
    specOf("host", "beside"),
    specOf("peer", "beside"),
    specOf("local", "cold"),
    specOf("host", "cold"),
    specOf("peer", "cold"),
  ],
  async run(bench, wanted) {
    const rows: BenchRow[] = [];
    for (const spec of wanted) {
      bench.say(spec.name);
      try {
        rows.push(
          spec.kind === "cold"
            ? measured(spec.name, await oursNs(bench, spec.owner, COLD), "ns", null, {
                definition:
                  "dependent loads through 1 GiB, 4096 bytes apart in a random cycle, caches flushed before",
              })
            : await besideRow(bench, pathOf(bench.nvbandwidth), spec, bench.rounds ?? ROUNDS),
        );
      } catch (error) {
        rows.push(failed(spec, error));
      }
    }
    return rows;
  },
};

async function besideRow(bench: Bench, path: string, spec: Spec, count: number): Promise<BenchRow> {
  const testcase = spec.owner === "host" ? "host_device_latency_sm" : "device_to_device_latency_sm";
  const rounds: Round[] = [];
  for (let round = 0; round < count; round++) {
    const { output } = await runNvbandwidth(path, [testcase]);
    const theirs = cellOf(output, testcase, 0, spec.owner === "host" ? 0 : 1);
    if (theirs === null) throw new Error(`nvbandwidth gives no figure for ${testcase}`);
    rounds.push({ ours: await oursNs(bench, spec.owner, CHAIN), theirs });
  }
  return ratio(spec.name, rounds, spec.bar, "ns", {
    testcase,
    definition:
      "2 MiB, 8-byte pointers 128 bytes apart in order, one thread; nvbandwidth times launches on every SM in turn with " +
      "events and gives their mean, the library one SM by its own clock",
  });
}
