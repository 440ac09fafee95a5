import { loadAddon, type NativeAddon, translate } from "../native.js";

/** How long a wait for the GPU may take when its caller names no deadline. */
export const DEADLINE_MS = 60_000;

/** Calls the addon; what it throws becomes a CudaError, CompileError or P2pError. */
export function call<T>(work: (addon: NativeAddon) => T): T {
  try {
    return work(loadAddon());
  } catch (error) {
    throw translate(error);
  }
}

/** The same for what settles later. */
export async function later<T>(work: (addon: NativeAddon) => Promise<T>): Promise<T> {
  try {
    return await work(loadAddon());
  } catch (error) {
    throw translate(error);
  }
}
