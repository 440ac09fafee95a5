import { P2pError } from "../errors.js";
import type { Machine, Run } from "../machine.js";
import type { RdmaCard } from "../model.js";
import { program } from "../program.js";
import { type Bytes, nsToUs, parseBytes } from "../units.js";
import { expectMachine, expectNames, expectOptions, expectSome, expectWord } from "./expect.js";
import { listOf } from "./probe-cells.js";
import { provenanceFields, type Table, tableOf } from "./table.js";

/** `gpu-direct`: the card reads and writes GPU memory; `staged`: it reads and writes host memory, with a copy on either side. */
export type RdmaPath = "gpu-direct" | "staged";
const PATHS = ["gpu-direct", "staged"] as const;

export interface RdmaOptions {
  /** Default 0. */
  gpu?: number;
  /** Names of cards such as `nic0`; default the nearest and the farthest. */
  nic?: string | readonly string[];
  bytes: Bytes | readonly Bytes[];
  /** Default both. */
  path?: RdmaPath | readonly RdmaPath[];
}

/**
 * How long a write takes from memory of a GPU into memory of the same GPU of another computer that looks alike, by RDMA: straight,
 * or staged through both hosts' memories one copy after the other. A model answers: a card is no part of a measurement here, and
 * what perftest measures is imported by `lab.import`.
 *
 * @returns a row a card, path and size: `gpu`, `nic`, `class` (of the way between GPU and card), `path`, `bytes`, `total_us`,
 * `gbps` (bytes / total), and the provenance columns. Without any spread.
 * @throws P2pError `not-available` where there is no model of the machine, or no card in it; `usage`.
 */
export async function rdma(machine: Machine, options: RdmaOptions): Promise<Table> {
  expectMachine(machine, "lab.rdma");
  expectOptions(options, "lab.rdma");
  expectNames(options, ["gpu", "nic", "bytes", "path"], "lab.rdma");
  const { gpu = 0 } = options;
  const model = machine.backedBy?.model() ?? machine;
  const cards = model.rdma?.(gpu) ?? [];
  if (cards.length === 0) {
    throw new P2pError(
      "not-available",
      `${machine.info.name} ${model.rdma ? `has no network card that GPU ${gpu} reaches` : "is no model, and its cards are not measured"}`,
      'Open a model that has one: lab.open("sim:hgx-h100-8"). Measure real cards with perftest, and read its output by lab.import.',
    );
  }
  const wanted = listOf(options.nic ?? [...new Set([cards[0]?.nic, cards.at(-1)?.nic])]) as string[];
  const sizes = expectSome(listOf(options.bytes), "bytes", "lab.rdma").map(parseBytes);
  const paths = expectSome(listOf(options.path ?? PATHS), "path", "lab.rdma").map((path) =>
    expectWord("path", path, PATHS),
  );
  const chosen = expectSome(wanted, "nic", "lab.rdma").map((nic) => cardOf(cards, nic));
  const copiesNs = new Map<number, number>();
  if (paths.includes("staged"))
    for (const bytes of sizes) copiesNs.set(bytes, await copyNs(model, gpu, bytes));
  return tableOf(
    chosen.flatMap((card) =>
      paths.flatMap((path) =>
        sizes.map((bytes) => {
          const { latencyNs, gbps } = path === "staged" ? card.host : card.gpu;
          const ns = latencyNs + bytes / gbps + (path === "staged" ? (copiesNs.get(bytes) as number) : 0);
          return {
            gpu,
            nic: card.nic,
            class: card.pciClass,
            path,
            bytes,
            total_us: nsToUs(ns),
            gbps: bytes / ns,
            ...provenanceFields(model.provenance),
          };
        }),
      ),
    ),
  );
}

function cardOf(cards: readonly RdmaCard[], nic: string): RdmaCard {
  const found = cards.find((card) => card.nic === nic);
  if (found) return found;
  const names = cards.map((card) => card.nic).join(", ");
  throw new P2pError("usage", `lab.rdma: no card "${String(nic)}"`, `Choose of ${names}.`);
}

/** The copy to the host and, on the other computer, from it: each submitted and waited for. */
async function copyNs(model: Machine, gpu: number, bytes: number): Promise<number> {
  const both = [
    ["device", "stage"],
    ["stage", "device"],
  ] as const;
  const runs: Run[] = [];
  for (const [from, to] of both) {
    const copy = program()
      .buffer("device", { gpu, bytes })
      .buffer("stage", { host: "pinned", bytes })
      .stream("s", { gpu })
      .copy("s", from, to)
      .sync("s", "spin");
    runs.push(await model.run(copy));
  }
  return runs.reduce((sum, run) => sum + run.samples.convergence.medianNs, 0);
}
