/** What a notebook calls `display`: rich output on request, in the running cell. */
import { type MimeBundle, P2pError } from "../lab/index.js";
import { bundleOf, completed } from "./bundle.js";
import type { CellOutput, OutputSink } from "./outputs.js";

let sink: OutputSink | null = null;
let pending: Promise<unknown>[] = [];
let handles = 0;

/** The session says where output goes; null when no cell runs. */
export function setDisplaySink(next: OutputSink | null): void {
  sink = next;
}

/** Resolves when everything displayed so far has been sent. */
export async function displayed(): Promise<void> {
  while (pending.length > 0) {
    const waiting = pending;
    pending = [];
    await Promise.all(waiting);
  }
}

function emit(output: CellOutput): void {
  if (!sink) {
    throw new P2pError("usage", "nothing can be displayed: no cell is running", "Call display from a cell.");
  }
  sink(output);
}

/** A display that can be changed in place. */
export class DisplayHandle {
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }

  /** Shows another value in the same place. */
  update(value: unknown): void {
    const target = sink;
    pending.push(
      bundleOf(value).then((data) =>
        target?.({ type: "update_display_data", data, metadata: {}, displayId: this.id }),
      ),
    );
  }
}

function show(value: unknown): DisplayHandle {
  const handle = new DisplayHandle(`p2plab-${process.pid}-${++handles}`);
  const target = sink;
  if (!target) emit({ type: "clear_output", wait: false });
  pending.push(
    bundleOf(value).then((data) =>
      target?.({ type: "display_data", data, metadata: {}, displayId: handle.id }),
    ),
  );
  return handle;
}

function raw(bundle: MimeBundle, metadata: Record<string, unknown> = {}): void {
  emit({ type: "display_data", data: completed({ ...bundle }), metadata });
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

/** `display(value)` shows a value as the last expression of a cell would; the methods show one MIME type. */
export const display = Object.assign(show, {
  text: (text: string): void => raw({ "text/plain": text }),
  html: (html: string): void => raw({ "text/html": html, "text/plain": html.replace(/<[^>]*>/g, "") }),
  markdown: (markdown: string): void => raw({ "text/markdown": markdown, "text/plain": markdown }),
  latex: (latex: string): void => raw({ "text/latex": latex, "text/plain": latex }),
  svg: (svg: string): void => raw({ "image/svg+xml": svg, "text/plain": "[SVG]" }),
  png: (bytes: Uint8Array): void => raw({ "image/png": base64(bytes), "text/plain": "[PNG]" }),
  jpeg: (bytes: Uint8Array): void => raw({ "image/jpeg": base64(bytes), "text/plain": "[JPEG]" }),
  json: (value: unknown): void => raw({ "application/json": value, "text/plain": JSON.stringify(value) }),
  /** A whole MIME bundle with metadata. */
  raw,
  /** Clears the cell's output; with `wait`, only when the next output comes. */
  clear: (options: { wait?: boolean } = {}): void =>
    emit({ type: "clear_output", wait: options.wait ?? false }),
});
