import { P2pError } from "../errors.js";
import { expectNames, expectOptions, expectTable } from "../measure/expect.js";
import { type Table, tableOf } from "../measure/table.js";
import type { SetupKind } from "../operations.js";

export interface AmortiseOptions {
  /** Transfers over which what is done once is spread. */
  uses: number;
  /** Work that is done once; default by path: what a program does before its first transfer. */
  kinds?: readonly SetupKind[];
}

/** What a program does before its first transfer by a path: memory and what lets the transfer reach it, a stream, an event. */
const KINDS: Readonly<Record<string, readonly SetupKind[]>> = {
  peer: ["malloc", "peer-enable", "stream-create", "event-create"],
  staged: ["malloc", "host-malloc", "stream-create", "event-create"],
  "driver-staged": ["malloc", "stream-create", "event-create"],
  "host-staged": ["malloc", "stream-create", "event-create"],
};

/**
 * Puts the one-off costs beside the parts of a transfer, per use over so many uses.
 * @param parts a table of `lab.breakdown` or `lab.sweep`.
 * @param costs the table of `lab.setupCosts` of the same machine.
 * @returns for each row of `parts` a row a kind of set-up work: `path`, `bytes`, `kind`, `cost_bytes` (size whose cost was
 * measured: the nearest to `bytes`; null where the kind has none), `once_us` (median), `first_us` (the very first call),
 * `uses`, `per_use_us` (once over uses), `total_us` (of one transfer), `share_pct` (per use, of total and per use together),
 * `reason` (why it is null), and the provenance columns of the costs. Memory is counted once a GPU.
 * @throws P2pError `usage` for tables or options that are none.
 */
export function amortise(parts: Table, costs: Table, options: AmortiseOptions): Table {
  expectTable(parts, ["path", "bytes", "total_us"], "lab.amortise");
  expectTable(costs, ["kind", "bytes", "median_us", "first_us", "note", "machine"], "lab.amortise");
  expectOptions(options, "lab.amortise");
  expectNames(options, ["uses", "kinds"], "lab.amortise");
  const { uses, kinds } = options;
  if (!Number.isSafeInteger(uses) || uses < 1) {
    throw new P2pError("usage", `lab.amortise over ${String(uses)} uses`, "Give a whole number from 1.");
  }
  const known = costs.objects() as Cost[];
  const rows = (parts.objects() as { path: string; bytes: number; total_us: number | null }[]).flatMap(
    ({ path, bytes, total_us }) =>
      (kinds ?? KINDS[path] ?? []).map((kind) => {
        const cost = nearest(known, kind, bytes);
        const times = kind === "malloc" ? 2 : 1;
        const scaled = (us: number | null | undefined) => (typeof us === "number" ? times * us : null);
        const once = scaled(cost?.median_us);
        const perUse = once === null ? null : once / uses;
        return {
          path,
          bytes,
          kind,
          cost_bytes: cost?.bytes ?? null,
          once_us: once,
          first_us: scaled(cost?.first_us),
          uses,
          per_use_us: perUse,
          total_us,
          share_pct: perUse === null || total_us === null ? null : (100 * perUse) / (total_us + perUse),
          reason: once !== null ? null : cost ? cost.note : `the costs hold no ${kind}`,
          machine: cost?.machine ?? null,
          provenance: cost?.provenance ?? null,
          date: cost?.date ?? null,
        };
      }),
  );
  if (rows.length > 0) return tableOf(rows);
  throw new P2pError(
    "usage",
    "lab.amortise has nothing to spread",
    'Name kinds: lab.amortise(parts, costs, { uses, kinds: ["malloc"] }).',
  );
}

interface Cost {
  kind: string;
  bytes: number | null;
  median_us: number | null;
  first_us: number | null;
  note: string;
  machine: string;
  provenance: string;
  date: string;
}

/** Of the sizes of a kind that were measured the nearest, by ratio. */
function nearest(costs: readonly Cost[], kind: string, bytes: number): Cost | undefined {
  const own = costs.filter((cost) => cost.kind === kind);
  const measured = own.filter((cost) => cost.median_us !== null);
  const far = (cost: Cost) => (cost.bytes === null ? 0 : Math.abs(Math.log(cost.bytes / bytes)));
  return [...(measured.length > 0 ? measured : own)].sort((a, b) => far(a) - far(b))[0];
}
