/** Buffers of a program that another process owns. */
import { P2pError } from "../errors.js";
import type { Verification } from "../machine.js";
import type { NativeAddon } from "../native.js";
import type { Program } from "../program.js";
import { ChildGone, KillableChild } from "./children/killable-child.js";
import type { OwnerRequest } from "./children/owner-child.js";

/** What the other process may take to start, make its context and the memory; and then to look at it. */
const OWN_DEADLINE_MS = 60_000;
const LOOK_DEADLINE_MS = 20_000;
const END_DEADLINE_MS = 5000;

const HANDLE_BYTES = 64;

/** The process that owns them, and the handles by which this one opens them. */
export class ForeignBuffers {
  /** 64 bytes a buffer, in the order of the program. */
  readonly handles: Uint8Array;
  readonly #child: KillableChild | null;

  private constructor(child: KillableChild | null, handles: Uint8Array) {
    this.#child = child;
    this.handles = handles;
  }

  /**
   * Starts a process that owns the buffers of allocator `ipc`; none where the program has no such buffer.
   * @throws P2pError `not-available` when it ends or hangs, `cuda` when it cannot have the memory.
   */
  static async of(addon: NativeAddon, program: Program): Promise<ForeignBuffers> {
    const buffers = program.data.buffers.flatMap(({ place, bytes }) =>
      "gpu" in place && place.allocator === "ipc" ? [{ gpu: place.gpu, bytes }] : [],
    );
    if (buffers.length === 0) return new ForeignBuffers(null, new Uint8Array(0));
    const child = new KillableChild(new URL("./children/owner-child.js", import.meta.url));
    const handles = new Uint8Array(buffers.length * HANDLE_BYTES);
    try {
      for (const [index, { gpu, bytes }] of buffers.entries()) {
        const uuid = addon.devices()[gpu]?.uuid ?? "";
        const handle = await ask(child, { do: "own", uuid, bytes }, OWN_DEADLINE_MS);
        handles.set(handle as Uint8Array, index * HANDLE_BYTES);
      }
    } catch (error) {
      await child.kill();
      throw error;
    }
    return new ForeignBuffers(child, handles);
  }

  /**
   * What the owner sees of the bytes that were written into its memory, added to what was verified here.
   * @throws P2pError `verification` when it sees none: then this process has written somewhere else.
   */
  async seenByOwner(verification: Verification): Promise<Verification> {
    if (!this.#child || verification.checkedBytes === 0) return verification;
    const changed = (await ask(this.#child, { do: "changed" }, LOOK_DEADLINE_MS)) as number[];
    if (changed.some((bytes) => bytes === 0)) {
      throw new P2pError(
        "verification",
        "the process that owns the destination does not see a byte of what was copied into it. No numbers are given.",
        "Look for Xid messages in the kernel log; in a container, both processes need the same IPC and PID namespace.",
      );
    }
    const bytes = changed.reduce((sum, count) => sum + count, 0);
    return {
      ...verification,
      detail: `${verification.detail}; the process that owns the memory sees ${bytes} bytes of it changed`,
    };
  }

  /** Ends the other process. Nobody may have its memory open any more. */
  async close(): Promise<void> {
    await this.#child?.finish(END_DEADLINE_MS);
  }
}

async function ask(child: KillableChild, request: OwnerRequest, deadlineMs: number): Promise<unknown> {
  try {
    return await child.request(request, deadlineMs);
  } catch (error) {
    if (!(error instanceof ChildGone)) throw error;
    throw new P2pError(
      "not-available",
      `the process that owns the memory ${error.why === "deadline" ? "hangs" : "ended"} (${error.message})`,
      "Look for Xid messages in the kernel log; in a container, both processes need the same IPC and PID namespace.",
    );
  }
}
