/** What a notebook's cells have declared, as a table. The library knows no notebook: whoever runs the cells tells it. */
import { inspect, types } from "node:util";
import { P2pError } from "../errors.js";
import { formatBytes } from "../units.js";
import { type Table, tableOf } from "./table.js";

/** A name, and what reads its value. */
export interface Variable {
  readonly name: string;
  read(): unknown;
}

const PREVIEW_CHARACTERS = 80;

let list: (() => readonly Variable[]) | null = null;

/** Sets who knows the variables; null for nobody. */
export function onVariables(next: (() => readonly Variable[]) | null): void {
  list = next;
}

/**
 * The variables of this notebook's cells: name, type, size in its own terms, bytes and GPU where it is memory, and the beginning of
 * the value. Nothing of a value's own code runs: getters, `toString` and proxies are left alone.
 * @throws P2pError `usage` outside of a notebook.
 */
export function vars(): Table {
  if (!list) {
    throw new P2pError(
      "usage",
      "no notebook runs here whose variables could be listed",
      "Call lab.vars() in a cell.",
    );
  }
  const columns = ["name", "type", "size", "bytes", "gpu", "preview"];
  return tableOf(
    list().map(({ name, read }) => {
      try {
        return { name, ...described(read()) };
      } catch {
        return { name, type: "not initialised", size: null, bytes: null, gpu: null, preview: "" };
      }
    }),
    columns,
  );
}

interface Described {
  readonly type: string;
  readonly size: string | null;
  readonly bytes: number | null;
  readonly gpu: number | null;
  readonly preview: string;
}

function described(value: unknown): Described {
  const parts = {
    type: typeOf(value),
    size: sizeOf(value),
    bytes: null,
    gpu: null,
    preview: previewOf(value),
  };
  if (typeof value !== "object" || value === null || types.isProxy(value)) return parts;
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value))
    return { ...parts, bytes: value.byteLength };
  if (!/^Cuda(Buffer|Array)$/.test(parts.type)) return parts;
  try {
    return { ...parts, ...memoryOf(value) };
  } catch {
    return { ...parts, size: "closed" };
  }
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "function")
    return /^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "function";
  if (typeof value !== "object") return typeof value;
  if (types.isProxy(value)) return "Proxy";
  const prototype: unknown = Object.getPrototypeOf(value);
  if (types.isProxy(prototype)) return "object";
  const named =
    prototype === null ? undefined : Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  return typeof named === "function" && typeof named.name === "string" && named.name !== ""
    ? named.name
    : "object";
}

function sizeOf(value: unknown): string | null {
  if (typeof value === "string") return `${value.length} characters`;
  if (typeof value !== "object" || value === null || types.isProxy(value)) return null;
  if (Array.isArray(value) || types.isTypedArray(value)) return `${value.length}`;
  if (types.isMap(value) || types.isSet(value)) return `${value.size} entries`;
  const rows = tableShape(value);
  return rows ?? (typeOf(value) === "Object" ? `${Object.keys(value).length} properties` : null);
}

/** Of an Arquero table, or another's like it. */
function tableShape(value: object): string | null {
  const [rows, columns] = ["numRows", "numCols"].map((name) => methodOf(value, name)?.call(value));
  return typeof rows === "number" && typeof columns === "number" ? `${rows} rows × ${columns} columns` : null;
}

/** A method of a class, without any getter that may stand in its place. */
function methodOf(value: object, name: string): (() => unknown) | null {
  for (let at: object | null = value; at !== null && !types.isProxy(at); at = Object.getPrototypeOf(at)) {
    const found = Object.getOwnPropertyDescriptor(at, name);
    if (found) return typeof found.value === "function" ? found.value : null;
  }
  return null;
}

/** Of the library's memory, and of an array over such memory. */
function memoryOf(value: object): { bytes: number | null; gpu: number | null; size: string | null } {
  const { bytes, gpu } = (typeOf(value) === "CudaArray" ? (value as { buffer: object }).buffer : value) as {
    bytes?: unknown;
    gpu?: unknown;
  };
  return typeof bytes === "number"
    ? { bytes, gpu: typeof gpu === "number" ? gpu : null, size: formatBytes(bytes) }
    : { bytes: null, gpu: null, size: null };
}

/** Whether the value, or what it inherits from, is a proxy: to show it would run the proxy's code. */
function hasProxy(value: unknown): boolean {
  for (let at = value; typeof at === "object" && at !== null; at = Object.getPrototypeOf(at))
    if (types.isProxy(at)) return true;
  return false;
}

function previewOf(value: unknown): string {
  if (typeof value === "function") return "";
  if (hasProxy(value)) return "";
  const text = inspect(typeof value === "string" ? value.slice(0, PREVIEW_CHARACTERS) : value, {
    depth: 1,
    maxArrayLength: 8,
    maxStringLength: PREVIEW_CHARACTERS,
    breakLength: Number.POSITIVE_INFINITY,
    customInspect: false,
    getters: false,
  }).replace(/\s*\n\s*/g, " ");
  return text.length > PREVIEW_CHARACTERS ? `${text.slice(0, PREVIEW_CHARACTERS - 1)}…` : text;
}
