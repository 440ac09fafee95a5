import { P2pError } from "../errors.js";
import type { Run } from "../machine.js";
import { type Program, program, type SyncMethod } from "../program.js";
import { type Bytes, parseBytes } from "../units.js";

/**
 * How bytes get from one GPU to the other:
 * - `peer`: one copy by the copy engine over the link, peer access on.
 * - `staged`: by hand through page-locked host memory, device → host and host → device in one stream.
 * - `driver-staged`: one peer copy with peer access off; the driver stages it through its own host buffers.
 */
export type Path = "peer" | "staged" | "driver-staged";

export const PATHS: readonly Path[] = ["peer", "staged", "driver-staged"];

export interface TransferOptions {
  from: number;
  to: number;
  bytes: Bytes;
  path?: Path;
  sync?: SyncMethod;
}

/** The program of one transfer from a GPU to another: submit, then wait on the host until it is complete. */
export function transfer(options: TransferOptions): Program {
  const path = options.path ?? "peer";
  if (!PATHS.includes(path)) {
    throw new P2pError("usage", `no path "${String(path)}"`, `Choose one of: ${PATHS.join(", ")}.`);
  }
  if (options.from === options.to) {
    throw new P2pError("usage", `a transfer from GPU ${options.from} to itself`, "Name two different GPUs.");
  }
  const bytes = parseBytes(options.bytes);
  const base = program()
    .buffer("src", { gpu: options.from, bytes })
    .buffer("dst", { gpu: options.to, bytes })
    .stream("s", { gpu: options.from })
    .peerAccess(path !== "driver-staged");
  const copies =
    path === "staged"
      ? base.buffer("stage", { host: "pinned", bytes }).copy("s", "src", "stage").copy("s", "stage", "dst")
      : base.copy("s", "src", "dst", { api: path === "driver-staged" ? "peer" : "default" });
  return copies.sync("s", options.sync ?? "spin");
}

/**
 * What a table calls the path of a run: the one that was asked for, or `host-staged` where the machine turned peer access off
 * for it (P2PLAB_P2P=off). Numbers of a staged copy must not stand under `peer`.
 */
export function pathOf(run: Run, asked: Path): Path | "host-staged" {
  return asked === "peer" && !run.program.data.peerAccess ? "host-staged" : asked;
}
