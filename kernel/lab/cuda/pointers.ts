/** What the driver says of addresses of each kind of memory. */
import { P2pError } from "../errors.js";
import type { Machine } from "../machine.js";
import { expectMachine, expectNames, expectOptions } from "../measure/expect.js";
import { provenanceFields, type Table, tableOf } from "../measure/table.js";
import { type Bytes, parseBytes } from "../units.js";
import { alloc, type CudaBuffer, hostAlloc, managedAlloc } from "./buffer.js";

export interface PointersOptions {
  /** GPU of the device memory; default 0. */
  gpu?: number;
  /** Size of each allocation; default 1 MiB. */
  bytes?: Bytes;
}

/** Kinds of memory, and how each is allocated. */
const KINDS: Readonly<Record<string, (gpu: number, bytes: number) => CudaBuffer>> = {
  device: alloc,
  pinned: (_, bytes) => hostAlloc(bytes),
  registered: (_, bytes) => hostAlloc(bytes, { registered: true }),
  managed: (_, bytes) => managedAlloc(bytes),
  pageable: (_, bytes) => hostAlloc(bytes, { pinned: false }),
};

const COLUMNS = [
  ...["kind", "memory", "gpu", "managed", "device_address", "host_address", "same_address"],
  ...["range_bytes", "note", "machine", "provenance", "date"],
];

/**
 * Allocates memory of each kind on real GPUs and asks the driver about its address (cuPointerGetAttribute).
 *
 * @returns a row a kind: `kind` (`device`, `pinned`, `registered`, `managed`, `pageable`), `memory` (`host`, `device`; null:
 * the driver does not know the address), `gpu` (in whose context it was allocated), `managed`, `device_address` and
 * `host_address` (hexadecimal; by which GPUs and the host reach it), `same_address` (whether the two are one), `range_bytes`
 * (of the allocation that it lies in), `note` (why a row is empty), and the provenance columns. A recording or a model has no
 * addresses: its rows say so.
 * @throws P2pError `usage` for options that there are not.
 */
export function pointers(machine: Machine, options: PointersOptions = {}): Table {
  expectMachine(machine, "lab.pointers");
  expectOptions(options, "lab.pointers");
  expectNames(options, ["gpu", "bytes"], "lab.pointers");
  const bytes = parseBytes(options.bytes ?? "1 MiB");
  const gpu = options.gpu ?? 0;
  const { kind: source } = machine.provenance;
  const rows = Object.entries(KINDS).map(([kind, allocate]) => ({
    kind,
    ...(source === "measured"
      ? asked(() => allocate(gpu, bytes))
      : { note: `${source}: no driver to ask; addresses exist on real GPUs only` }),
    ...provenanceFields(machine.provenance),
  }));
  return tableOf(rows, COLUMNS);
}

function asked(allocate: () => CudaBuffer): Record<string, unknown> {
  let buffer: CudaBuffer;
  try {
    buffer = allocate();
  } catch (error) {
    if (error instanceof P2pError && error.code !== "usage") return { note: error.message };
    throw error;
  }
  try {
    const { memory, gpu, managed, deviceAddress, hostAddress, rangeBytes } = buffer.pointer();
    return {
      memory,
      gpu,
      managed,
      device_address: hexOf(deviceAddress),
      host_address: hexOf(hostAddress),
      same_address: deviceAddress === null || hostAddress === null ? null : deviceAddress === hostAddress,
      range_bytes: rangeBytes,
      note: memory === null ? "the driver does not know this address" : "",
    };
  } finally {
    buffer.close();
  }
}

function hexOf(address: bigint | null): string | null {
  return address === null ? null : `0x${address.toString(16)}`;
}
