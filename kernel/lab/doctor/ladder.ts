/** The verdict ladder for every pair that programs started here can use. */
import { pairsOf } from "../machines/verdict/gate.js";
import { Prober } from "../machines/verdict/prober.js";
import { ALLOCATORS, type Verdict } from "../verdict.js";
import type { DriverAnswers, DriverPair } from "./driver.js";
import type { LadderFacts } from "./facts.js";

export function noLadder(reason: string): LadderFacts {
  return { verdicts: [], unasked: 0, reason };
}

/**
 * Verdicts of every pair in plain memory first, then in the other allocators'. GPUs are numbered by their place among the
 * driver's answers. A pair that hangs in one memory is not asked about in another: it would cost its deadline again.
 * @param budgetMs when it is over, no other cell is begun.
 * @param callMs how long the driver may take to start in a process.
 */
export async function climbLadder(
  driver: DriverAnswers,
  budgetMs: number,
  callMs: number,
  signal?: AbortSignal,
): Promise<LadderFacts> {
  const seen = driver.gpus.map((gpu) => driver.visible?.includes(gpu.uuid ?? "") ?? false);
  const pairs = pairsOf(driver.gpus.length).filter(({ from, to }) => seen[from] && seen[to]);
  if (pairs.length === 0) return noLadder(whyNone(driver, seen));
  const ground = {
    uuid: (gpu: number) => driver.gpus[gpu]?.uuid ?? "",
    denied: (from: number, to: number) => denied(driver, from, to),
  };
  const prober = new Prober(ground, callMs);
  const begin = performance.now();
  const verdicts: Verdict[] = [];
  const hung = new Set<string>();
  const keyOf = ({ from, to }: { from: number; to: number }) => `${from}>${to}`;
  let left = ALLOCATORS.flatMap((allocator) => pairs.map((pair) => ({ ...pair, allocator })));
  const all = left.length;
  let over = false;
  try {
    while (left.length > 0 && !over) {
      const found = await prober.verdicts(left, signal, (verdict) => {
        // A GPU that no process gets hold of costs as much as a link that hangs.
        const hangs =
          verdict.outcome === "hang" || (verdict.outcome === "inconclusive" && verdict.stage === "start");
        if (hangs) hung.add(keyOf(verdict));
        over = performance.now() - begin > budgetMs;
        return !hangs && !over;
      });
      verdicts.push(...found);
      left = left.slice(found.length).filter((cell) => !hung.has(keyOf(cell)));
    }
  } finally {
    await prober.close();
  }
  const unasked = all - verdicts.length;
  const reason =
    left.length > 0
      ? `the time for it, ${budgetMs / 1000} s, was over`
      : unasked > 0
        ? "pairs that hang in one kind of memory, or that no process can start on, are not asked about in another"
        : null;
  return { verdicts, unasked, reason };
}

function whyNone(driver: DriverAnswers, seen: readonly boolean[]): string {
  if (driver.gpus.length === 0) return driver.cuda.reason ?? "the driver shows no GPU";
  if (driver.visible === null) return "which GPUs programs started here see is not known";
  const count = seen.filter(Boolean).length;
  return `${count === 0 ? "no GPU is" : "one GPU is"} visible to programs started here: there is no pair`;
}

function denied(driver: DriverAnswers, from: number, to: number): string | null {
  const both = [
    [from, to],
    [to, from],
  ].map(([a, b]) => driver.pairs.find((pair) => pair.from === a && pair.to === b));
  const refused = both.find((pair): pair is DriverPair => pair?.access === false);
  if (!refused) return null;
  const code = [refused.nvml?.read, refused.nvml?.write].find((word) => word != null && word !== "OK");
  return `the driver does not let GPU ${refused.from} access the memory of GPU ${refused.to}${code ? ` (NVML says ${code})` : ""}`;
}
