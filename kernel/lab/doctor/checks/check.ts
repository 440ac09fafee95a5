/** What a check is, and the words that all of them share. */
import type { GpuFacts, MachineFacts, PairFacts } from "../facts.js";

/** A text in the two languages that the doctor speaks. */
export interface Text {
  readonly en: string;
  readonly zh: string;
}

export type Language = keyof Text;

/** `skip`: there is nothing to judge here, or it could not be looked at; the evidence says which. */
export type Status = "pass" | "warn" | "fail" | "skip";

/** Part of the machine that a check is about; findings are shown by it. */
export type Group = "driver" | "gpu" | "pcie" | "nvlink" | "peer" | "host" | "rdma" | "surroundings";

export interface Judgement {
  readonly status: Status;
  /** What was seen. */
  readonly evidence: Text;
  /** What to do, where it depends on what was seen; otherwise that of the check. */
  readonly fix?: Text;
}

export interface Check {
  /** Stable, such as `pcie-width`. */
  readonly id: string;
  readonly group: Group;
  readonly title: Text;
  /** What it means for the latency of transfers between GPUs when it does not hold. */
  readonly consequence: Text;
  readonly fix: Text;
  /** Where it is known from. */
  readonly source: string;
  /** Pure: facts in, judgement out. */
  run(facts: MachineFacts): Judgement;
}

export interface Finding extends Omit<Check, "run" | "fix"> {
  readonly status: Status;
  readonly evidence: Text;
  /** What to do, or how to find out; null where there is nothing to be done. */
  readonly fix: Text | null;
}

export function text(en: string, zh: string): Text {
  return { en, zh };
}

/** The same in both languages: numbers, names, what a library said. */
export function plain(words: string): Text {
  return { en: words, zh: words };
}

export function joined(parts: readonly Text[]): Text {
  return { en: parts.map((part) => part.en).join("; "), zh: parts.map((part) => part.zh).join("；") };
}

export function pass(evidence: Text): Judgement {
  return { status: "pass", evidence };
}

export function warn(evidence: Text, fix?: Text): Judgement {
  return { status: "warn", evidence, ...(fix ? { fix } : {}) };
}

export function fail(evidence: Text, fix?: Text): Judgement {
  return { status: "fail", evidence, ...(fix ? { fix } : {}) };
}

export function skip(evidence: Text, fix?: Text): Judgement {
  return { status: "skip", evidence, ...(fix ? { fix } : {}) };
}

/** What could not be looked at, with the reason that the probe gave. */
export function unread(reason: string | undefined): Judgement {
  return skip(text(`not known: ${reason ?? "nobody tells"}`, `未知：${reason ?? "没有任何来源给出"}`));
}

/** What only the machine itself can tell: neither a recording nor a model holds it. */
export function lookedAt({ basis }: MachineFacts): boolean {
  return basis === "machine" || basis === "snapshot";
}

export const NOT_LOOKED = unread("neither a recording nor a model tells");
export const NO_GPU: Judgement = skip(text("no NVIDIA GPU here", "这里没有NVIDIA GPU"));
export const NO_PAIR: Judgement = skip(text("fewer than two GPUs", "不足两块GPU"));

/** Known to have no NVLink between the two. */
export function overPcie(pair: PairFacts): boolean {
  return pair.link !== null && mayUsePcie(pair);
}

/** Not known to have NVLink between the two. */
export function mayUsePcie(pair: PairFacts): boolean {
  return !/^NV\d+$/.test(pair.link ?? "");
}

/** Each unordered pair once. */
export function once(pairs: readonly PairFacts[]): PairFacts[] {
  return pairs.filter((pair) => pair.from < pair.to);
}

/** `GPU 0–1`, a few of them, then how many more. */
export function pairNames(pairs: readonly PairFacts[]): string {
  return few(pairs.map((pair) => `GPU ${pair.from}–${pair.to}`));
}

export function gpuNames(gpus: readonly GpuFacts[]): string {
  return few(gpus.map((gpu) => `GPU ${gpu.index}`));
}

/** At most six of a list. */
export function few(names: readonly string[]): string {
  return names.length <= 6 ? names.join(", ") : `${names.slice(0, 6).join(", ")} (+${names.length - 6})`;
}

/** Facts of NVML that a check needs of each GPU; those that do not tell them are left out. */
export function telling<T>(
  gpus: readonly GpuFacts[],
  read: (gpu: GpuFacts) => T | null | undefined,
): { gpu: GpuFacts; value: T }[] {
  return gpus.flatMap((gpu) => {
    const value = read(gpu);
    return value === null || value === undefined ? [] : [{ gpu, value }];
  });
}
