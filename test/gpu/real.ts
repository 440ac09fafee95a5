/** Tests on real GPUs: what there is here, and whether a test that lacks it fails or is skipped. */
import { cuda, type lab } from "../../kernel/lab/index.js";

export type Machine = Awaited<ReturnType<typeof lab.open>>;
export type Program = ReturnType<typeof lab.program>;
export type Run = Awaited<ReturnType<Machine["run"]>>;

export interface RealGpus {
  readonly count: number;
  /** Why there is none; null when there is one. */
  readonly noGpu: string | null;
  /** Why GPUs 0 and 1 cannot be tested as a pair; null when they can. */
  readonly noPair: string | null;
}

export function realGpus(): RealGpus {
  const { cuda: driver, deviceCount } = cuda.availability();
  if (!driver.available) return { count: 0, noGpu: `no GPU can be used: ${driver.reason}`, noPair: "no GPU" };
  const noPair =
    deviceCount < 2
      ? "needs two GPUs, and this machine has one"
      : cuda.peer(0, 1).access && cuda.peer(1, 0).access
        ? null
        : "needs two GPUs with peer access, and the driver grants GPUs 0 and 1 none";
  return { count: deviceCount, noGpu: null, noPair };
}

/** `npm run test:gpu` sets it: then a machine without a GPU is a failure. */
export const GPU_REQUIRED = process.env.P2PLAB_REQUIRE_GPU === "1";

/** Few samples: these tests ask what arrives and in which order, not how long exactly. */
export const QUICK = { warmup: 5, minSamples: 20, maxSamples: 50, budgetMs: 200 } as const;
/** Enough for figures that are compared. */
export const STEADY = {
  warmup: 100,
  minSamples: 200,
  maxSamples: 2000,
  budgetMs: 1000,
  target: 0.005,
} as const;
