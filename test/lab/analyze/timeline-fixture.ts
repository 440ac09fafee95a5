import { Draft, TimelineBuilder } from "../../../kernel/lab/import/timeline-builder.js";
import type { Timeline } from "../../../kernel/lab/timeline.js";

/** A timeline from spans of which only what matters is said; times in microseconds. */
export function timelineFrom(
  spans: readonly (Partial<Omit<Draft, "startNs" | "endNs">> & { readonly us: readonly [number, number] })[],
): Timeline {
  const builder = new TimelineBuilder();
  for (const { us, ...span } of spans) {
    const [startUs, endUs] = us;
    builder.add(
      Object.assign(new Draft("api"), DEFAULTS[span.kind ?? "api"], span, {
        startNs: startUs * 1e3,
        endNs: endUs * 1e3,
      }),
    );
  }
  return builder.build("test", { machine: "test machine", date: "2026-01-02" });
}

const HOST = { lane: "host thread 1", process: 1 };
const GPU = { lane: "GPU 0 stream 7", process: 1, device: 0 };
const DEFAULTS: Readonly<Record<string, Partial<Draft>>> = {
  api: { ...HOST, name: "cudaMemcpyAsync" },
  sync: { ...HOST, name: "cudaStreamSynchronize" },
  range: { ...HOST, name: "step" },
  overhead: { ...HOST, name: "profiler buffer flush" },
  copy: { ...GPU, name: "Memcpy PtoP", copyKind: "PtoP", from: 0, to: 1, memory: "Device → Device" },
  kernel: { ...GPU, name: "k" },
  memset: { ...GPU, name: "Memset" },
  graph: { ...GPU, name: "graph 1" },
};
