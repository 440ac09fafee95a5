import { P2pError, shown } from "./errors.js";
import {
  type Operation,
  type ProgramData,
  type ProgramKind,
  SETUP_KINDS,
  type SetupKind,
  type StepOperation,
} from "./operations.js";

/** @throws P2pError `program` when it is not complete enough to be run. */
export function validate(data: ProgramData, kind: ProgramKind): void {
  if (kind === "transfer") validateTransfer(data, data.operations as readonly StepOperation[]);
  else validateAlone(data.operations);
}

const MOVERS: readonly string[] = ["copy", "put", "signal", "compute", "launch"];

function validateTransfer(data: ProgramData, operations: readonly StepOperation[]): void {
  if (!operations.some((o) => MOVERS.includes(o.op))) {
    throw new P2pError("program", "the program copies nothing", "Add at least one copy().");
  }
  const last = new Map<string, string>();
  for (const operation of operations) last.set(operation.stream, operation.op);
  for (const [stream, op] of last) {
    const joined = operations.some((o) => JOINS.includes(o.op) && o.stream !== stream);
    if (op !== "sync" && !joined) {
      throw new P2pError(
        "program",
        `nothing waits for stream "${stream}" at the end of an iteration`,
        `End with .sync("${stream}"), or let another stream wait for its event.`,
      );
    }
  }
  if (operations.at(-1)?.op !== "sync") {
    throw new P2pError("program", "the program does not end with a sync", 'End with .sync("…", "spin").');
  }
  validateFlags(operations);
  if (data.submit === "graph") validateGraph(operations);
}

/** Operations by which a stream waits for another one. */
const JOINS: readonly string[] = ["wait", "await", "receive"];

/** Each wait for a flag needs somebody who sets it, or the iteration would hang. */
function validateFlags(operations: readonly StepOperation[]): void {
  for (const o of operations) {
    if (
      o.op === "await" &&
      !operations.some((s) => s.op === "signal" && s.buffer === o.buffer && s.offset === o.offset)
    ) {
      throw new P2pError(
        "program",
        `stream "${o.stream}" awaits ${o.buffer}+${o.offset}, which nothing signals`,
        `Add .signal("…", "${o.buffer}", ${o.offset}) on another stream.`,
      );
    }
    if (
      o.op === "receive" &&
      !operations.some((p) => p.op === "put" && p.dst === o.window && p.protocol === o.protocol)
    ) {
      throw new P2pError(
        "program",
        `stream "${o.stream}" receives from "${o.window}", into which nothing is put by ${o.protocol}`,
        `Add .put("…", "…", "${o.window}", { protocol: "${o.protocol}" }).`,
      );
    }
  }
}

/** A graph is what lies before the syncs of an iteration; a captured stream memory operation would repeat its number. */
function validateGraph(operations: readonly StepOperation[]): void {
  const firstSync = operations.findIndex((o) => o.op === "sync");
  if (operations.slice(firstSync).some((o) => o.op !== "sync")) {
    throw new P2pError(
      "program",
      "a graph cannot hold a host sync between its operations",
      'Move the syncs to the end, or use .submitBy("stream").',
    );
  }
  const memory = operations.find((o) => o.op === "signal" || o.op === "await");
  if (memory) {
    throw new P2pError(
      "program",
      `${memory.op} counts iterations, which a graph cannot`,
      'Order the streams of a graph with record() and wait(), or use .submitBy("stream").',
    );
  }
}

function validateAlone(operations: readonly Operation[]): void {
  const [first, ...others] = operations;
  if (others.length > 0 || (first?.op !== "probe" && first?.op !== "setup")) {
    throw new P2pError(
      "program",
      `a ${operations.find((o) => o.op === "probe" || o.op === "setup")?.op} stands alone, but the program holds ${operations.length} operations`,
      "Make a program of its own for it.",
    );
  }
  if (first.op !== "setup") return;
  if (!SETUP_KINDS.includes(first.kind)) {
    throw new P2pError(
      "program",
      `no set-up work ${shown(first.kind)}`,
      `Use one of ${SETUP_KINDS.join(", ")}.`,
    );
  }
  for (const [field, kinds] of Object.entries(SETUP_NEEDS)) {
    const given = first[field as keyof typeof SETUP_NEEDS] !== undefined;
    if (kinds.includes(first.kind) === given) continue;
    throw new P2pError(
      "program",
      given ? `set-up "${first.kind}" takes no ${field}` : `set-up "${first.kind}" needs ${field}`,
      given ? "Leave it out." : `Give { ${field}: … }.`,
    );
  }
  // Another process may open memory of its own GPU: then the two names are the same.
  if (first.peer === first.gpu && !OPENED_ELSEWHERE.includes(first.kind)) {
    throw new P2pError("program", `GPU ${first.gpu} is no peer of itself`, "Name two different GPUs.");
  }
}

/** Set-up work that another process does with memory of this one. */
export const OPENED_ELSEWHERE: readonly SetupKind[] = [
  "ipc-open",
  "ipc-open-again",
  "ipc-close",
  "vmm-import",
];

/** Which set-up work needs which parameter; the others must not have it. */
export const SETUP_NEEDS: {
  readonly peer: readonly SetupKind[];
  readonly bytes: readonly SetupKind[];
  readonly nodes: readonly SetupKind[];
} = {
  peer: [
    "pool-access",
    "vmm-access",
    "peer-enable",
    "peer-enable-again",
    "peer-disable",
    "peer-query",
    "peer-attribute",
    ...OPENED_ELSEWHERE,
  ],
  bytes: [
    "malloc",
    "free",
    "pool-malloc",
    "pool-free",
    "pool-access",
    "vmm-create",
    "vmm-map",
    "vmm-access",
    "vmm-unmap",
    "vmm-export",
    "host-malloc",
    "host-free",
    "host-register",
    "host-unregister",
    "ipc-export",
    ...OPENED_ELSEWHERE,
  ],
  nodes: ["graph-capture", "graph-instantiate", "graph-update"],
};
