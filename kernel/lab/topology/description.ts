import { escapeHtml, type MimeBundle, richDisplay } from "../rich.js";
import type { Layout } from "./layout.js";
import { topologyMatrix } from "./matrix.js";
import type { Topology } from "./topology.js";

/** What a source tells of a GPU beside its place; null where it does not. */
export interface DescribedGpu {
  readonly name: string | null;
  readonly computeCapability: string | null;
}

/** Kind (`measured`, `recorded`, `simulated`), name and date (ISO 8601) of a machine. */
export interface DescribedProvenance {
  readonly kind: string;
  readonly machine: string;
  readonly date: string;
}

/**
 * What is joined to what in a machine, as far as somebody told: a file, or the GPUs themselves. Shows itself in terms of
 * `nvidia-smi topo -m`. What nobody told is unknown, not guessed.
 */
export class Description {
  /** Who told, such as `NCCL topology XML`. */
  readonly format: string;
  readonly layout: Layout;
  readonly gpus: readonly DescribedGpu[];
  /** What the source does not tell, a sentence each. */
  readonly unknown: readonly string[];
  /** The same machine with every rate, where the source gives them all; null otherwise. */
  readonly topology: Topology | null;
  /** Where it comes from, for the reader: machine, kind and date. */
  readonly heading: string;
  /** The machine that it is of, as its numbers are labelled; null for what a file told. */
  readonly provenance: DescribedProvenance | null;

  constructor(told: {
    format: string;
    layout: Layout;
    gpus?: readonly DescribedGpu[];
    unknown: readonly string[];
    topology?: Topology | null;
    heading?: string;
    provenance?: DescribedProvenance;
  }) {
    this.format = told.format;
    this.layout = told.layout;
    this.gpus = told.gpus ?? told.layout.named("gpu").map(() => ({ name: null, computeCapability: null }));
    this.unknown = told.unknown;
    this.topology = told.topology ?? null;
    this.heading = told.heading ?? told.format;
    this.provenance = told.provenance ?? null;
  }

  /** Class of the way between two GPUs, see {@link Layout.classOf}; null where unknown. */
  pairClass(from: number, to: number): string | null {
    return this.layout.pairClass(from, to);
  }

  toString(): string {
    const notes = this.unknown.map((sentence) => `- ${sentence}`);
    const unknown = notes.length > 0 ? ["", "Unknown:", ...notes] : [];
    return [this.heading, "", this.#matrices(), ...unknown].join("\n");
  }

  /** A table for each kind of computer: those that are alike are shown once. */
  #matrices(): string {
    const hosts = [...new Set(this.layout.named("gpu").map((gpu) => this.layout.hostOf(gpu)))];
    const texts = new Map<string, number[]>();
    for (const host of hosts) {
      const text = topologyMatrix(this.layout, { host });
      texts.set(text, [...(texts.get(text) ?? []), host]);
    }
    if (hosts.length < 2) return [...texts.keys()].join("");
    return [...texts].map(([text, of]) => `Computers ${of.join(", ")}\n${text}`).join("\n");
  }

  [richDisplay](): MimeBundle {
    const text = this.toString();
    return { "text/html": `<pre>${escapeHtml(text)}</pre>`, "text/plain": text };
  }
}
