/**
 * What `error.stack`, and with it `console.error(error)`, says in a cell: frames by the cell's own lines, and none of the kernel
 * around them.
 */
import { type CellSources, isKernelFile, isOwnFile } from "./sources.js";

/** Room for the kernel's own frames, and for those of Node.js's loader, beside a cell's. */
const MOST_FRAMES = 30;

/** V8's own text, by error, and the one that is shown instead. */
const prepared = new WeakMap<object, { readonly shown: string; readonly raw: string }>();

/** Until the returned function is called, stacks are told by the lines of the sources. */
export function tellStacksBySource(sources: CellSources): () => void {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = MOST_FRAMES;
  Error.prepareStackTrace = (error, sites) => {
    const head = headOf(error);
    const raw = written(head, sites.map(String));
    let shown = raw;
    try {
      shown = written(head, frames(sites, sources));
      prepared.set(error, { shown, raw });
    } catch {
      // A cell has replaced what is used here.;
    }
    return shown;
  };
  return () => {
    Error.stackTraceLimit = stackTraceLimit;
    if (prepareStackTrace) Error.prepareStackTrace = prepareStackTrace;
    else Reflect.deleteProperty(Error, "prepareStackTrace");
  };
}

/**
 * A stack as V8 writes it, with the files that it knows.
 * @param stack what `error.stack` is.
 */
export function rawStackOf(error: Error, stack: string): string {
  const known = prepared.get(error);
  return known?.shown === stack ? known.raw : stack;
}

function written(head: string, frames: readonly string[]): string {
  return [head, ...frames].join("\n    at ");
}

function headOf(error: Error): string {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return "Error";
  }
}

function frames(sites: readonly NodeJS.CallSite[], sources: CellSources): string[] {
  const told = sites.map((site) => {
    const text = String(site);
    const file = site.getFileName() ?? "";
    const source = sources.get(file);
    if (!source) return { text, isSource: false, isKernel: isKernelFile(file), isOwn: isOwnFile(file) };
    const [row, column] = [site.getLineNumber() ?? 1, site.getColumnNumber() ?? 1];
    const place = source.origin({ line: row - 1, character: column - 1 });
    // The line around a cell is the kernel's.
    if (!place) return { text, isSource: false, isKernel: true, isOwn: true };
    const own = `${source.name}:${place.line + 1}:${place.character + 1}`;
    return {
      text: text.replace(`${file}:${row}:${column}`, own),
      isSource: true,
      isKernel: false,
      isOwn: false,
    };
  });
  const last = told.findLastIndex(({ isSource }) => isSource);
  const end = last < 0 ? -1 : told.findIndex(({ isKernel }, i) => i > last && isKernel);
  const above = end < 0 ? told : told.slice(0, end);
  return above.filter(({ isOwn }) => last < 0 || !isOwn).map(({ text }) => text);
}
