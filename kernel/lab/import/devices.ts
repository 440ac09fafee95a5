import type { Table } from "../measure/table.js";
import { type ImportOrigin, importedTable } from "./importer.js";
import { machineOf as namedMachine } from "./machine-name.js";

/** A GPU as a profiler's file describes it; null where it does not say. */
export interface Device {
  readonly gpu: number | null;
  readonly name: string | null;
  readonly pci: string | null;
  readonly memoryBytes: number | null;
  readonly copyEngines: number | null;
  readonly multiprocessors: number | null;
  /** Such as `9.0`. */
  readonly computeCapability: string | null;
}

/** The name of the machine by its GPUs, such as `2 × NVIDIA H200`. */
export function machineOf(devices: readonly Device[]): string | null {
  return namedMachine(devices.map(({ name }) => name));
}

export function capabilityOf(major: unknown, minor: unknown): string | null {
  return finite(major) === null ? null : `${finite(major)}.${finite(minor) ?? 0}`;
}

/** Null for whatever is no number. */
export function finite(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Null for whatever is no text, or an empty one. */
export function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, 200) : null;
}

export function deviceTable(devices: readonly Device[], origin: ImportOrigin): Table {
  return importedTable(
    {
      gpu: devices.map((device) => device.gpu),
      name: devices.map((device) => device.name),
      pci: devices.map((device) => device.pci),
      memory_bytes: devices.map((device) => device.memoryBytes),
      copy_engines: devices.map((device) => device.copyEngines),
      multiprocessors: devices.map((device) => device.multiprocessors),
      compute_capability: devices.map((device) => device.computeCapability),
    },
    origin,
  );
}
