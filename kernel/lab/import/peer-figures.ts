import type { Table } from "../measure/table.js";
import type { Imported } from "./importer.js";
import { isBefore08 } from "./nvbandwidth.js";

/** A figure of another tool in terms of this library, with what sets it apart from ours of the same name. */
export interface PeerFigure {
  readonly metric: "latency" | "bandwidth" | "load-latency";
  /** µs, GB/s or ns by the metric. */
  readonly value: number;
  /** GPUs that the data leave and reach; null where the tool's output does not tell, or they are on other computers. */
  readonly from: number | null;
  readonly to: number | null;
  /** Null where it may be either. */
  readonly path: "peer" | "host-staged" | "local" | null;
  readonly direction: "one-way" | "both-ways";
  readonly engine: "copy-engine" | "kernel" | "load" | null;
  /** GPU that issues the copy; absent where it may be either. */
  readonly initiator?: number;
  /** Column of ours that it stands beside, where that is not the metric's own. */
  readonly column?: "api_us";
  readonly bytes: number | null;
  /** The tool measured many sizes: only the same is held against ours. */
  readonly sizes: boolean;
  /** What the tool calls it. */
  readonly name: string;
  readonly definition: string;
  /** Why the two numbers are not the same quantity, a sentence each; empty where they are. */
  readonly differences: readonly string[];
}

type Row = Record<string, unknown>;
type Common = Omit<PeerFigure, "metric" | "value" | "from" | "to" | "path" | "direction" | "engine" | "name">;

/** Every figure in an import that this library has a counterpart of; empty for logs, topologies and traces. */
export function peerFigures(imported: Imported): PeerFigure[] {
  const reader = READERS[imported.format];
  return reader ? reader(imported) : [];
}

const READERS: Readonly<Record<string, (imported: Imported) => PeerFigure[]>> = {
  nvbandwidth: ofNvbandwidth,
  p2pBandwidthLatencyTest: ofP2pTest,
  "nccl-tests": ofNcclTests,
  gpu_copy: ofGpuCopy,
  perftest: ofPerftest,
  ucx_perftest: ofUcx,
};

function rowsOf(imported: Imported, name: string): Row[] {
  const table: Table | undefined = imported.tables[name];
  return table ? (table.objects() as Row[]) : [];
}

function ofNvbandwidth(imported: Imported): PeerFigure[] {
  const copies: Common = {
    bytes: null,
    sizes: false,
    definition:
      "bytes over the time between two events around 16 copies queued behind a kernel that waits (512 MiB each unless -b says otherwise), median of 3",
    differences: [],
  };
  return rowsOf(imported, "cells").flatMap((row): PeerFigure[] => {
    const { testcase, part, row: i, column: j, engine, gbps, latency_us: us } = row;
    const name = String(testcase ?? "");
    const kind = engine === "SM" ? "kernel" : "copy-engine";
    const [, shape, way] = /^device_to_device_(bidirectional_)?memcpy_(read|write)_/.exec(name) ?? [];
    if (typeof i !== "number" || typeof j !== "number") return [];
    if (name === "device_to_device_latency_sm" && typeof us === "number" && !isBefore08(imported.version)) {
      return [
        {
          ...copies,
          metric: "load-latency",
          value: us * 1000,
          from: j,
          to: i,
          path: i === j ? "local" : "peer",
          direction: "one-way",
          engine: "load",
          bytes: 2 ** 21,
          name,
          definition:
            "dependent loads through 2 MiB in steps of 128 B, by one thread on one SM after another; events around all of them, over their number",
          differences: [
            "The chain fits into the L2 cache of the GPU that owns it, is walked in order, and the time is a mean over SMs.",
          ],
        },
      ];
    }
    if (typeof gbps !== "number" || (way === undefined && name !== "device_local_copy")) return [];
    const both = shape !== undefined;
    // Of three matrices of a testcase both ways the last is the sum.
    if (both && part !== null && part !== "total") return [];
    const reversed = way === "read";
    return [
      {
        ...copies,
        metric: "bandwidth",
        value: gbps,
        from: reversed ? j : i,
        to: reversed ? i : j,
        path: way === undefined || i === j ? "local" : "peer",
        direction: both ? "both-ways" : "one-way",
        engine: kind,
        initiator: i,
        name: part === null ? name : `${name}, ${part}`,
        differences: [
          ...(both
            ? [
                "Each direction is timed by events of its own and the two rates are added, also where they did not overlap all the time.",
              ]
            : []),
          ...(kind === "kernel" ? ["The 16 copies are made inside one kernel: launching is paid once."] : []),
        ],
      },
    ];
  });
}

function ofP2pTest(imported: Imported): PeerFigure[] {
  return rowsOf(imported, "cells").flatMap((row): PeerFigure[] => {
    const {
      row: i,
      column: j,
      metric,
      peer_access: access,
      direction,
      operation,
      clock,
      gbps,
      latency_us: us,
      title,
    } = row;
    if (typeof i !== "number" || typeof j !== "number") return [];
    const reading = operation === "read";
    const shared = {
      from: reading ? j : i,
      to: reading ? i : j,
      path: i === j ? "local" : access === true ? "peer" : "host-staged",
      engine: "copy-engine",
      initiator: i,
      sizes: false,
    } as const;
    if (metric === "latency" && typeof us === "number") {
      const onDevice = clock !== "CPU";
      return [
        {
          ...shared,
          metric: "latency",
          value: us,
          direction: "one-way",
          bytes: 16,
          name: `${title} (${clock})`,
          ...(!onDevice && { column: "api_us" }),
          definition: onDevice
            ? "time between two events around 100 copies of 16 B queued behind a kernel that waits, over 100"
            : "host time to submit 100 copies of 16 B, over 100",
          differences: onDevice
            ? [
                "It is the time from one copy to the next in a filled queue, not that of one copy from an idle stream: launch and notice of the end are not in it.",
              ]
            : [
                "It is what the API call costs the host, a mean of 100 calls in a row; ours, api_us, is the median of single ones. Neither says when a copy is done.",
              ],
        },
      ];
    }
    if (metric !== "bandwidth" || typeof gbps !== "number") return [];
    const both = direction === "both";
    return [
      {
        ...shared,
        metric: "bandwidth",
        value: gbps,
        direction: both ? "both-ways" : "one-way",
        bytes: 160_000_000,
        name: String(title),
        definition:
          "5 copies of 160 MB (unless the sample was changed) behind a kernel that waits, bytes over the time between two events; once, not warmed up",
        differences: [
          ...(both ? ["Bytes of both directions over the time from the first begin to the last end."] : []),
          ...(i === j ? ["Within one GPU reading and writing are counted both: twice our figure."] : []),
        ],
      },
    ];
  });
}

function ofNcclTests(imported: Imported): PeerFigure[] {
  // In a ring of two each GPU sends to the other; of more it is not told who sends to whom.
  const devices = rowsOf(imported, "devices");
  return rowsOf(imported, "results").flatMap((row): PeerFigure[] => {
    const { test, run, bytes, place, time_us: us, algbw_gbps: gbps } = row;
    const own = devices.filter((device) => device.run === run);
    if (test !== "sendrecv_perf" || place !== "out-of-place" || typeof bytes !== "number" || own.length !== 2)
      return [];
    if (new Set(own.map((device) => device.host)).size !== 1) return [];
    const shared = {
      path: "peer",
      direction: "both-ways",
      engine: "kernel",
      bytes,
      sizes: true,
      name: "sendrecv_perf",
    } as const;
    return [0, 1].flatMap((at): PeerFigure[] => {
      const [from, to] = [own[at]?.device, own[1 - at]?.device];
      if (typeof from !== "number" || typeof to !== "number") return [];
      return [
        ...(typeof us === "number" && us > 0
          ? [
              {
                ...shared,
                from,
                to,
                metric: "latency" as const,
                value: us,
                definition:
                  "host time from the first call to the end of all, over the calls, each GPU sending and receiving",
                differences: [
                  "It is a mean over calls that follow one another, with the launch of NCCL's kernel in it; at small sizes it is how fast calls can be issued.",
                ],
              },
            ]
          : []),
        ...(typeof gbps === "number" && gbps > 0
          ? [
              {
                ...shared,
                from,
                to,
                metric: "bandwidth" as const,
                // The tool's rate is of one direction, ours both ways the sum.
                value: 2 * gbps,
                definition: "bytes over the mean time of a call, both directions added here",
                differences: ["NCCL's kernel copies through buffers and channels of its own."],
              },
            ]
          : []),
      ];
    });
  });
}

function ofGpuCopy(imported: Imported): PeerFigure[] {
  return rowsOf(imported, "results").flatMap((row): PeerFigure[] => {
    const [from, to] = [gpuOf(row.from), gpuOf(row.to)];
    if (from === null || to === null || typeof row.gbps !== "number") return [];
    const reading = row.operation === "read";
    return [
      {
        metric: "bandwidth",
        value: row.gbps,
        from,
        to,
        path: from === to ? "local" : "peer",
        direction: row.direction === "both" ? "both-ways" : "one-way",
        engine: row.engine === "SM" ? "kernel" : "copy-engine",
        ...(from !== to && { initiator: reading ? to : from }),
        bytes: typeof row.bytes === "number" ? row.bytes : null,
        sizes: typeof row.bytes === "number",
        name: `gpu_copy, ${reading ? "read" : "write"}`,
        definition: "bytes over the mean time of copies in a loop, by events",
        differences: row.direction === "both" ? ["The sum of both directions."] : [],
      },
    ];
  });
}

function ofPerftest(imported: Imported): PeerFigure[] {
  const shared = {
    from: null,
    to: null,
    path: null,
    direction: "one-way",
    engine: null,
    sizes: true,
  } as const;
  const between =
    "It goes between two network cards, from memory that the output does not name, not between two GPUs of one computer.";
  const latency = rowsOf(imported, "latency").flatMap((row): PeerFigure[] => {
    const { bytes, test } = row;
    const value = row.median_us ?? row.mean_us;
    if (typeof value !== "number" || typeof bytes !== "number") return [];
    const whole = /read|atomic/i.test(String(test));
    return [
      {
        ...shared,
        metric: "latency",
        value,
        bytes,
        name: String(test ?? "perftest"),
        definition: whole
          ? "median time of a whole round trip"
          : "median of half a round trip, by the processor's cycle counter",
        differences: [
          whole
            ? "A read or atomic is timed until its answer is back."
            : "Half a round trip: what the receiver takes to notice is half in it, and no submission to a GPU at all.",
          between,
        ],
      },
    ];
  });
  const bandwidth = rowsOf(imported, "bandwidth").flatMap((row): PeerFigure[] => {
    const { bytes, mean_gbps: value, test } = row;
    if (typeof value !== "number" || typeof bytes !== "number") return [];
    const both = /Bidirectional/i.test(String(test));
    return [
      {
        ...shared,
        metric: "bandwidth",
        value,
        direction: both ? "both-ways" : "one-way",
        bytes,
        name: String(test ?? "perftest"),
        definition: "bytes over time with many messages under way, mean over the run",
        differences: [between],
      },
    ];
  });
  return [...latency, ...bandwidth];
}

function ofUcx(imported: Imported): PeerFigure[] {
  return rowsOf(imported, "results").flatMap((row): PeerFigure[] => {
    const value = row.percentile === 50 ? row.percentile_us : row.overall_us;
    if (row.final !== true || typeof value !== "number" || row.time_is === "overhead") return [];
    return [
      {
        metric: "latency",
        value,
        from: null,
        to: null,
        path: null,
        direction: "one-way",
        engine: null,
        bytes: null,
        sizes: false,
        name: String(row.test ?? "ucx_perftest"),
        definition:
          row.percentile === 50
            ? "median of half a round trip of the last 2048"
            : "mean of half a round trip",
        differences: [
          "Half a round trip between two processes, of a size and from memory that the output does not name.",
          ...(row.time_is === null ? ["The CSV does not say whether it is of a ping-pong at all."] : []),
        ],
      },
    ];
  });
}

function gpuOf(place: unknown): number | null {
  const number = /^gpu(\d{1,4})$/.exec(String(place))?.[1];
  return number === undefined ? null : Number(number);
}
