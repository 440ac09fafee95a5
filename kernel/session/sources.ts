/** Cells by the file name that V8 gives their frames, and where in them a place of a frame is. */
import { SourceMap, type SourceMapPayload } from "node:module";
import type { Position } from "./diagnostic.js";

/** A cell that has run, or runs. */
export interface CellSource {
  readonly source: string;
  /** Its execution count; null for one that is not counted. */
  readonly count: number | null;
  /** Where in the source a place of a stack frame is, both counted from 0; null for what stands in no cell. */
  origin(frame: Position): Position | null;
}

export type CellSources = ReadonlyMap<string, CellSource>;

export function fileOf(serial: number): string {
  return `p2plab-cell-${serial}.ts`;
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
