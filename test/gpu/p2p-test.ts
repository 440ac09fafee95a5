/** What p2pBandwidthLatencyTest of the CUDA samples prints, read into numbers. */

export interface P2pTestMatrix {
  /** Title as printed, without its unit. */
  readonly title: string;
  readonly unit: "GB/s" | "us";
  readonly peerAccess: boolean;
  /**
   * `GPU`: time between two events around copies that wait behind a delay kernel, by copy; `CPU`: what submitting one costs
   * the host. Null for bandwidth, and where old versions print one latency only.
   */
  readonly clock: "GPU" | "CPU" | null;
  /** Row i, column j: GPU i issues. The diagonal is a copy within one GPU. */
  readonly cells: readonly (readonly (number | null)[])[];
}

export interface P2pTest {
  /** Names of the GPUs, in the order of the rows. */
  readonly devices: readonly string[];
  readonly matrices: readonly P2pTestMatrix[];
}

/** @throws Error when the text is not that output, or says that a CUDA call failed. */
export function readP2pTest(text: string): P2pTest {
  const failure = /^Cuda failure .*$/m.exec(text);
  if (failure) throw new Error(`p2pBandwidthLatencyTest: ${failure[0]}`);
  if (!/P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test/.test(text)) {
    throw new Error(`no output of p2pBandwidthLatencyTest: ${JSON.stringify(text.slice(0, 200))}`);
  }
  const matrices: P2pTestMatrix[] = [];
  let title: Pick<P2pTestMatrix, "title" | "unit" | "peerAccess"> | null = null;
  let cells: (number | null)[][] | null = null;
  for (const line of text.split(/\r?\n/)) {
    const titled = /^(.*P2P=(Enabled|Disabled).*?)\s*\((GB\/s|us)\)\s*$/.exec(line);
    const header = /^\s*(D\\D|GPU|CPU)\s+\d+(\s+\d+)*\s*$/.exec(line);
    if (titled) {
      const unit = titled[3] as "GB/s" | "us";
      title = { title: titled[1] as string, unit, peerAccess: titled[2] === "Enabled" };
      cells = null;
    } else if (header && title) {
      const clock = header[1] === "D\\D" ? null : (header[1] as "GPU" | "CPU");
      cells = [];
      matrices.push({ ...title, clock, cells });
    } else if (cells && /^\s*\d+\s/.test(line)) {
      // The row's own number comes first; cells are split by blanks, also where one is too wide for its column.
      cells.push(line.trim().split(/\s+/).slice(1).map(numberOf));
    } else {
      cells = null;
    }
  }
  const devices = [...text.matchAll(/^Device: \d+, (.+), pciBusID:/gm)].map((match) => match[1] as string);
  return { devices, matrices };
}

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

function numberOf(text: string): number | null {
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
