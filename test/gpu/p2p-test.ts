import type { P2pTest } from "../../kernel/lab/import/p2p-test.js";

/** One cell of the latency matrix, microseconds a copy; null when it was not printed. */
export function latencyUs(
  output: P2pTest,
  row: number,
  column: number,
  options: { peerAccess?: boolean; clock?: "GPU" | "CPU" } = {},
): number | null {
  const { peerAccess = true, clock = "GPU" } = options;
  const matrix = output.matrices.find(
    (item) => item.unit === "us" && item.peerAccess === peerAccess && item.clock === clock,
  );
  return matrix?.cells[row]?.[column] ?? null;
}
