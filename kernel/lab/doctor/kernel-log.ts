/** What the kernel's log tells of GPUs: Xid errors, and accesses that the IOMMU refused. */
import { spawnSync } from "node:child_process";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { KERNEL_LOG, type Root, why } from "./root.js";
import { gather, known, type Missing, type Told, understood, unknown } from "./told.js";

/** One kind of error of one GPU. */
export interface LoggedXid {
  readonly pci: string;
  /** As NVIDIA numbers them, such as 79. */
  readonly xid: number;
  readonly count: number;
}

export interface LoggedFault {
  readonly pci: string;
  readonly count: number;
}

export interface KernelLogFacts {
  /** Since the system was started, as far as the log reaches back. */
  readonly xids: readonly LoggedXid[] | null;
  /** Accesses of any device that the IOMMU refused. */
  readonly iommuFaults: readonly LoggedFault[] | null;
  readonly missing: Missing;
}

const XID = /NVRM: Xid \(PCI:([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})[^)]*\): (\d{1,4})\b/i;
/** AMD-Vi and DMAR, with the address where they have put it over the years. */
const FAULTS: readonly RegExp[] = [
  /\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): AMD-Vi: Event logged \[IO_PAGE_FAULT\b/i,
  /AMD-Vi: Event logged \[IO_PAGE_FAULT device=((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/i,
  /DMAR: \[(?:DMA|INTR)[^\]]*\] Request device \[((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\]/i,
];

/** Records of the kernel's ring are at most as long. */
const RECORD_BYTES = 16 * 1024;
/** Of the lines that are kept; a GPU in trouble writes thousands. */
const MOST_LINES = 10_000;
const JOURNAL_MS = 3000;
/** Major 1, minor 11; in containers something else may stand in its place. */
const KMSG_DEVICE = 0x10b;

export function readKernelLog(root: Root): KernelLogFacts {
  const log = root.text(KERNEL_LOG);
  return gather({
    xids: understood(log, xidsOf, "a log"),
    iommuFaults: understood(log, faultsOf, "a log"),
  });
}

function xidsOf(log: string): LoggedXid[] {
  const counts = new Map<string, LoggedXid>();
  for (const line of log.split("\n")) {
    const [, place, number] = XID.exec(line) ?? [];
    if (place === undefined) continue;
    const [pci, xid] = [`${place.toLowerCase()}.0`, Number(number)];
    const key = `${pci} ${xid}`;
    counts.set(key, { pci, xid, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()].sort((a, b) => (a.pci < b.pci ? -1 : a.pci > b.pci ? 1 : a.xid - b.xid));
}

function faultsOf(log: string): LoggedFault[] {
  const counts = new Map<string, number>();
  for (const line of log.split("\n")) {
    const found = FAULTS.map((pattern) => pattern.exec(line)?.[1]).find((place) => place !== undefined);
    if (found === undefined) continue;
    const pci = (found.split(":").length === 2 ? `0000:${found}` : found).toLowerCase();
    counts.set(pci, (counts.get(pci) ?? 0) + 1);
  }
  return [...counts].map(([pci, count]) => ({ pci, count })).sort((a, b) => (a.pci < b.pci ? -1 : 1));
}

/** The part of a line that is looked for: the rest may name programs and users. */
function publicPart(line: string): string | null {
  return (
    [XID, ...FAULTS].map((pattern) => pattern.exec(line)?.[0]).find((part) => part !== undefined) ?? null
  );
}

/** The lines that tell of GPUs in the live machine's log: the kernel's ring, or the journal where that is closed to this user. */
export function liveKernelLog(): Told<string> {
  const ring = kernelRing();
  return ring.value === null ? (journal() ?? ring) : ring;
}

function kernelRing(): Told<string> {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(KERNEL_LOG, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (!stat.isCharacterDevice() || stat.rdev !== KMSG_DEVICE)
      return unknown(`${KERNEL_LOG}: there is none`);
    const record = Buffer.alloc(RECORD_BYTES);
    const lines: string[] = [];
    while (lines.length < MOST_LINES) {
      const length = nextRecord(descriptor, record);
      if (length === 0) break;
      const line = publicPart(record.toString("utf8", 0, length));
      if (line !== null) lines.push(line);
    }
    return known(lines.join("\n"));
  } catch (error) {
    return unknown(why(KERNEL_LOG, error));
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** @returns its length; 0 after the last. */
function nextRecord(descriptor: number, record: Buffer): number {
  for (;;) {
    try {
      return readSync(descriptor, record, 0, record.length, null);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EAGAIN") return 0;
      // Records that were overwritten meanwhile; the next call goes on behind them.
      if (code !== "EPIPE") throw error;
    }
  }
}

/** Null where it tells nothing: without the right to read it, it is empty. */
function journal(): Told<string> | null {
  const args = ["--dmesg", "--boot", "--no-pager", "--quiet", "--output=cat"];
  const { status, stdout } = spawnSync("journalctl", args, {
    encoding: "utf8",
    timeout: JOURNAL_MS,
    killSignal: "SIGKILL",
    maxBuffer: 64 * 2 ** 20,
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (status !== 0 || stdout.trim() === "") return null;
  const lines = stdout.split("\n").flatMap((line) => publicPart(line) ?? []);
  return known(lines.slice(0, MOST_LINES).join("\n"));
}
