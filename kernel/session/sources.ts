/** Cells by the file name that V8 gives their frames, and where in them a place of a frame is. */
import { SourceMap, type SourceMapPayload } from "node:module";
import type { Position } from "./diagnostic.js";

/** A cell that has run, or runs, or a module that one has imported. */
export interface CellSource {
  readonly source: string;
  /** What a reader knows it by: `Cell In[3]`, or the module's file. */
  readonly name: string;
  /** Where in the source a place of a stack frame is, both counted from 0; null for what stands in no cell. */
  origin(frame: Position): Position | null;
}

export type CellSources = ReadonlyMap<string, CellSource>;

export function fileOf(serial: number): string {
  return `p2plab-cell-${serial}.ts`;
}

/** @param count the execution count; null for a cell that is not counted. */
export function cellName(count: number | null): string {
  return `Cell In[${count ?? "*"}]`;
}

const OWN =
  /node_modules[\\/](tslab|typescript)[\\/]|kernel[\\/](session|jupyter|notebook)[\\/]|^evalmachine/;

/** Whether a file of a stack frame is the kernel's. */
export function isOwnFile(file: string): boolean {
  return OWN.test(file);
}

/** Whether it is the kernel's, or Node.js's own. */
export function isKernelFile(file: string): boolean {
  return file.startsWith("node:") || isOwnFile(file);
}

/** True for a line of a stack trace that stands in a cell. */
export function isCellFile(frame: string): boolean {
  return /\bp2plab-cell-\d+\.ts:/.test(frame);
}

/**
 * @param json source map of a cell's JavaScript.
 * @param shift characters before it on its first line.
 */
export function mappingOf(json: string, shift: number): CellSource["origin"] {
  let map: SourceMap | null = null;
  return ({ line, character }) => {
    map ??= new SourceMap(JSON.parse(json) as SourceMapPayload);
    const entry = map.findEntry(line, line === 0 ? character - shift : character);
    // The entry found may stand on an earlier line: then this line came from nowhere.
    if (!("originalLine" in entry) || entry.generatedLine !== line) return null;
    return { line: entry.originalLine, character: entry.originalColumn };
  };
}

/** Where code was made in two steps: the last one first. */
export function joined(last: CellSource["origin"], first: CellSource["origin"]): CellSource["origin"] {
  return (frame) => {
    const place = last(frame);
    return place && first(place);
  };
}
