/** Sends what user code writes to process.stdout, process.stderr and console to its cell. */
import { currentCell } from "./cell.js";

/**
 * Takes both streams over until the returned function is called. What is written while there is no cell goes where it went
 * before.
 */
export function captureStreams(): () => void {
  const release = (["stdout", "stderr"] as const).map((name) => {
    const stream = process[name];
    const original = stream.write;
    const terminal = Object.getOwnPropertyDescriptor(stream, "isTTY");
    const decoder = new TextDecoder();
    const write = (chunk: unknown, encoding?: unknown, callback?: unknown): boolean => {
      const cell = currentCell();
      if (!cell) return original.call(stream, chunk as never, encoding as never, callback as never);
      const text = textOf(chunk, encoding, decoder);
      if (text) cell.emit({ type: "stream", name, text });
      const done = typeof encoding === "function" ? encoding : callback;
      if (typeof done === "function") process.nextTick(done as () => void);
      return true;
    };
    stream.write = write as typeof stream.write;
    // The last bytes are shown, and the stream goes on: it is that of all cells.
    const originalEnd = stream.end;
    const end = (...given: unknown[]): typeof stream => {
      if (!currentCell()) return Reflect.apply(originalEnd, stream, given);
      const callback = given.find((one) => typeof one === "function");
      const [chunk, encoding] = given.filter((one) => typeof one !== "function");
      if (chunk !== undefined && chunk !== null) write(chunk, encoding);
      process.nextTick(() => {
        // What has been piped into it waits for this.
        stream.emit("finish");
        if (callback) (callback as () => void)();
      });
      return stream;
    };
    stream.end = end as typeof stream.end;
    // A notebook is no terminal, wherever the server was started: no colour codes in its outputs.
    Object.defineProperty(stream, "isTTY", { value: false, configurable: true, writable: true });
    return () => {
      stream.write = original;
      stream.end = originalEnd;
      if (terminal) Object.defineProperty(stream, "isTTY", terminal);
      else Reflect.deleteProperty(stream, "isTTY");
    };
  });
  return () => {
    for (const undo of release) undo();
  };
}

function textOf(chunk: unknown, encoding: unknown, decoder: TextDecoder): string {
  if (chunk instanceof Uint8Array) return decoder.decode(chunk, { stream: true });
  if (typeof chunk !== "string") throw new TypeError(`a string or bytes can be written, not ${typeof chunk}`);
  if (typeof encoding !== "string" || /^utf-?8$/i.test(encoding)) return chunk;
  return decoder.decode(Buffer.from(chunk, encoding as BufferEncoding), { stream: true });
}
