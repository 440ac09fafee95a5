import { P2pError, shown } from "../errors.js";
import type { NativeGraph } from "../native-binding.js";
import { call } from "./addon.js";
import { type CudaStream, capturing, expectStream } from "./stream.js";

/**
 * Makes a graph of what a function submits to a stream: launches, copies and fills with that stream, and on other streams
 * that wait for its events and are waited for again. Nothing runs until the graph is launched.
 *
 *     using graph = cuda.graph(s, () => { touch.launch({ grid: 1, block: 32, stream: s }, buffer); });
 *     graph.launch(s); s.sync();
 *
 * @param submit runs once, at once; it may not be asynchronous.
 */
export function graph(stream: CudaStream, submit: (stream: CudaStream) => void): CudaGraph {
  expectStream(stream, "cuda.graph");
  if (typeof submit !== "function") {
    throw new P2pError(
      "usage",
      `cuda.graph: what is to be captured is ${shown(submit)}`,
      "Give a function that submits it: cuda.graph(stream, () => { … }).",
    );
  }
  call(() => stream.native.beginCapture());
  let native: NativeGraph | null = null;
  try {
    const result: unknown = capturing(() => submit(stream));
    if (result instanceof Promise) {
      result.catch(() => undefined);
      throw new P2pError(
        "usage",
        "a graph cannot be captured from an asynchronous function",
        "Submit everything without await.",
      );
    }
    native = call(() => stream.native.endCapture());
  } finally {
    if (!native) endCapture(stream);
  }
  return new CudaGraph(native, stream);
}

/** Ends a capture that failed, so that the stream can be used again; the first error is the one to show. */
function endCapture(stream: CudaStream): void {
  try {
    stream.native.endCapture().close();
  } catch {
    // Already ended, or broken by what the function did.
  }
}

/** A captured graph. Closed by `close()`, at the end of a `using` block, or when it is collected. */
export class CudaGraph {
  /** The addon's own object. */
  readonly native: NativeGraph;
  readonly gpu: number;
  /** Number of its nodes. */
  readonly nodes: number;
  readonly #stream: CudaStream;

  constructor(native: NativeGraph, stream: CudaStream) {
    this.native = native;
    this.gpu = native.gpu;
    this.nodes = native.nodes;
    this.#stream = stream;
  }

  /** Submits all of it and returns at once; default to the stream that it was captured from. */
  launch(stream: CudaStream = this.#stream): void {
    expectStream(stream, "graph.launch");
    call(() => stream.native.launchGraph(this.native));
  }

  /** Safe to call twice. */
  close(): void {
    this.native.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  toString(): string {
    return `graph of ${this.nodes} nodes on GPU ${this.gpu}`;
  }
}
