import { type NativeAddon, Opcode } from "../native.js";

/**
 * Makes the contexts of GPUs, side by side and off the event loop, where making them one by one would take a tenth of a second
 * and more each. They stay for the life of the process.
 * @throws what the addon throws where one cannot be made.
 */
export async function makeContexts(addon: NativeAddon, gpus: readonly number[]): Promise<void> {
  const none = new Float64Array(0);
  const streams = gpus.map((_, stream) => stream);
  // A program that is never run: a nanosecond of work on each GPU.
  const executor = await addon.prepare({
    buffers: none,
    streams: Int32Array.from(gpus),
    eventCount: 0,
    operations: Float64Array.from([
      ...streams.flatMap((stream) => [Opcode.compute, stream, 0, 0, 1, 0, 0, 0]),
      ...streams.flatMap((stream) => [Opcode.sync, stream, 0, 0, 0, 0, 0, 0]),
    ]),
    peers: new Int32Array(0),
    sources: none,
    checks: none,
    graph: false,
  });
  executor.close();
}
