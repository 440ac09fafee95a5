/** The process that owns memory which another one opens: for cuda-foreign.ts. */
import { P2pError } from "../../errors.js";
import { loadAddon } from "../../native.js";
import type { NativeExport } from "../../native-setup.js";
import { serve } from "./serve.js";

/** What the parent asks. GPUs are named by UUID: the two processes may number them differently. */
export type OwnerRequest =
  | { readonly do: "own"; readonly uuid: string; readonly bytes: number }
  | { readonly do: "changed" };

const owned: NativeExport[] = [];

/** `own` answers the handle; `changed` how many bytes of each buffer are no longer as this process wrote them. */
async function answer(request: OwnerRequest): Promise<unknown> {
  if (request.do === "changed") return await Promise.all(owned.map((memory) => memory.changedBytes()));
  const addon = loadAddon();
  const gpu = addon.devices().findIndex((device) => device.uuid === request.uuid);
  if (gpu < 0) {
    throw new P2pError(
      "not-available",
      `another process does not see the GPU ${request.uuid}`,
      "Leave CUDA_VISIBLE_DEVICES as it was when the kernel started.",
    );
  }
  const memory = await addon.exportMemory(gpu, request.bytes, "ipc");
  owned.push(memory);
  return memory.handle;
}

serve(
  (request) => answer(request as unknown as OwnerRequest),
  async () => {
    for (const memory of owned) memory.close();
  },
);
