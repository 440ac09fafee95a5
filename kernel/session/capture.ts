/** Sends what user code writes to process.stdout, process.stderr and console to the running cell. */
import type { OutputSink } from "./outputs.js";

type Write = typeof process.stdout.write;

/**
 * Takes both streams over until the returned function is called. Output that comes while no cell runs goes to the newest
 * cell's sink, as in other kernels.
 */
export function captureStreams(sink: () => OutputSink | null): () => void {
  const release = (["stdout", "stderr"] as const).map((name) => {
    const stream = process[name];
    const original = stream.write;
    const decoder = new TextDecoder();
    const write = (chunk: unknown, encoding?: unknown, callback?: unknown): boolean => {
      const target = sink();
      if (!target) return original.call(stream, chunk as never, encoding as never, callback as never);
      const text = typeof chunk === "string" ? chunk : decoder.decode(chunk as Uint8Array, { stream: true });
      if (text) target({ type: "stream", name, text });
      const done = typeof encoding === "function" ? encoding : callback;
      if (typeof done === "function") queueMicrotask(() => done());
      return true;
    };
    stream.write = write as Write;
    return () => {
      stream.write = original;
    };
  });
  return () => {
    for (const undo of release) undo();
  };
}
