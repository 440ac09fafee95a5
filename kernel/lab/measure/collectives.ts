import { P2pError } from "../errors.js";
import type { Machine } from "../machine.js";
import { ALGORITHMS, type CollectiveAlgorithm, type CollectiveOperation } from "../model.js";
import { type Bytes, nsToUs, parseBytes } from "../units.js";
import { expectMachine, expectNames, expectOptions, expectSome } from "./expect.js";
import { provenanceFields, type Table, tableOf } from "./table.js";

export interface CollectivesOptions {
  operation: CollectiveOperation;
  /** Default all that there are for the operation. */
  algorithm?: CollectiveAlgorithm | readonly CollectiveAlgorithm[];
  /** Ranks in order; default every GPU of the machine. */
  gpus?: readonly number[];
  bytes: Bytes | readonly Bytes[];
}

const OPTIONS = ["operation", "algorithm", "gpus", "bytes"] as const;

/**
 * How long collectives take by algorithm and size; a model answers, kernels resident on all GPUs, without any spread. A ring is one
 * ring in the order of the ranks; NCCL runs several at once over several cards. Between computers a rank sends by the network card
 * next to its GPU.
 * `bus_gbps` is nccl-tests' bus bandwidth: what each GPU's link would carry if the algorithm wasted nothing.
 *
 * @returns a row an algorithm and size: `operation`, `algorithm`, `ranks`, `bytes`, `total_us`, `bus_gbps`, `messages`,
 * `peak_share` (highest use of a link), `note` (why an algorithm cannot be had between these GPUs), and the provenance columns.
 * @throws P2pError `not-available` for a machine that is no model, or GPUs that do not reach each other by any algorithm; `usage`.
 */
export function collectives(machine: Machine, options: CollectivesOptions): Table {
  expectMachine(machine, "lab.collectives");
  expectOptions(options, "lab.collectives");
  expectNames(options, OPTIONS, "lab.collectives");
  const model = machine.backedBy?.model() ?? machine;
  const run = model.collective?.bind(model);
  if (!run) {
    throw new P2pError(
      "not-available",
      `${machine.info.name} is no model: it runs programs, and no collectives of its own`,
      'Open a model: lab.open("sim:hgx-h100-8"). For real GPUs use nccl-tests.',
    );
  }
  if (options.operation === undefined) {
    throw new P2pError(
      "usage",
      "lab.collectives was given no operation",
      `Give { operation: … }, one of ${Object.keys(ALGORITHMS).join(", ")}.`,
    );
  }
  const { operation } = options;
  const gpus = options.gpus ?? machine.info.gpus.map(({ index }) => index);
  const known = Object.hasOwn(ALGORITHMS, operation) ? ALGORITHMS[operation] : (["ring"] as const);
  const algorithms = expectSome([options.algorithm ?? known].flat(), "algorithm", "lab.collectives");
  const sizes = expectSome([options.bytes].flat() as Bytes[], "bytes", "lab.collectives").map(parseBytes);
  let failure: P2pError | null = null;
  const rows = algorithms.flatMap((algorithm) =>
    sizes.map((bytes) => {
      const [result, note] = orNote(() => run({ operation, algorithm, gpus, bytes }));
      if (note) failure ??= note;
      const share = (gpus.length - 1) / gpus.length;
      return {
        operation,
        algorithm,
        ranks: gpus.length,
        bytes,
        total_us: result && nsToUs(result.ns),
        bus_gbps: result && ((operation === "all-reduce" ? 2 : 1) * share * bytes) / result.ns,
        messages: result?.messages ?? null,
        peak_share: result?.peakShare ?? null,
        note: note?.message ?? null,
        ...provenanceFields(model.provenance),
      };
    }),
  );
  if (failure && rows.every(({ total_us }) => total_us === null)) throw failure;
  return tableOf(rows);
}

/** An algorithm whose ranks do not reach each other is an answer; a wrong question is not. */
function orNote<T>(ask: () => T): [T, null] | [null, P2pError] {
  try {
    return [ask(), null];
  } catch (error) {
    if (error instanceof P2pError && error.code === "not-available") return [null, error];
    throw error;
  }
}
