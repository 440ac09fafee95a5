/** The process that opens memory of another: does its kinds of set-up work for cuda-setup.ts. */
import { P2pError } from "../../errors.js";
import { loadAddon, type NativeAddon } from "../../native.js";
import type { NativeSetup } from "../../native-setup.js";
import { serve } from "./serve.js";

export type Elsewhere = "ipc-open" | "ipc-open-again" | "ipc-close" | "vmm-import";

/** What the parent asks. GPUs are named by UUID: the two processes may number them differently. */
export type IpcRequest =
  | {
      readonly do: "setup";
      readonly kind: Elsewhere;
      readonly uuid: string;
      /** Of the GPU that has the memory. */
      readonly owner: string;
      readonly bytes: number;
      /** A file descriptor that this process inherited for `vmm-import`. */
      readonly handle: Uint8Array | number;
    }
  | { readonly do: "time"; readonly repetitions: number; readonly budgetMs: number }
  | { readonly do: "checked" };

let work: NativeSetup | null = null;

function ordinalOf(addon: NativeAddon, uuid: string): number {
  const gpu = addon.devices().findIndex((device) => device.uuid === uuid);
  if (gpu >= 0) return gpu;
  throw new P2pError(
    "not-available",
    `another process does not see the GPU ${uuid}`,
    "Leave CUDA_VISIBLE_DEVICES as it was when the kernel started.",
  );
}

async function answer(request: IpcRequest): Promise<unknown> {
  if (request.do === "setup") {
    const addon = loadAddon();
    const gpu = ordinalOf(addon, request.uuid);
    const owner = request.kind === "vmm-import" ? ordinalOf(addon, request.owner) : -1;
    work = await addon.setup(request.kind, gpu, owner, request.bytes, 0, request.handle);
    return null;
  }
  if (!work) throw new P2pError("usage", "nothing was opened", "Ask for a set-up first.");
  return request.do === "checked" ? work.checked() : await work.time(request.repetitions, request.budgetMs);
}

serve(
  (request) => answer(request as unknown as IpcRequest),
  async () => work?.close(),
);
