/** What a notebook calls `display`: rich output on request, in the cell that asks for it. */
import { escapeHtml, type MimeBundle, P2pError, shown } from "../lab/index.js";
import { bytesOf, noJson, objectOf, stepsOf, textOf } from "./arguments.js";
import { bundleOf, completed } from "./bundle.js";
import { type Cell, currentCell, inTurn } from "./cell.js";

let displays = 0;
/** What display's functions return is for later use, not to be shown when a cell ends with the call. */
const handles = new WeakSet<object>();

export function isHandle(value: unknown): boolean {
  return typeof value === "object" && value !== null && handles.has(value);
}

function runningCell(): Cell {
  const cell = currentCell();
  if (cell) return cell;
  throw new P2pError("usage", "nothing can be displayed: no cell has run", "Call display from a cell.");
}

/** A display that can be changed in place. */
export interface DisplayHandle {
  /** Identifies the display among those of the notebook. */
  readonly id: string;
  /** Shows another value in the same place; metadata by MIME type, as in `raw`. */
  update(value: unknown, metadata?: Record<string, unknown>): void;
}

/** A progress bar that changes in place. */
export interface ProgressBar {
  /** Moves on by `steps`, default 1. */
  tick(steps?: number): void;
  /** Moves to `done` of the total. */
  set(done: number): void;
  /** Takes the bar away. */
  close(): void;
}

/** `display(value)` shows a value as the last expression of a cell would; the methods show one MIME type, or control what is shown. */
export interface Display {
  /** Shows a value: an Arquero table, a figure, an object with a method `[Symbol.for("Jupyter.display")]`, or anything else as text. */
  (value: unknown): DisplayHandle;
  /** Shows text as it is. */
  text(text: string): void;
  /** Shows HTML; scripts in it run. */
  html(html: string): void;
  /** Shows Markdown. */
  markdown(markdown: string): void;
  /** Shows LaTeX, such as `$$x^2$$`. */
  latex(latex: string): void;
  /** Shows an SVG document. */
  svg(svg: string): void;
  /** Shows the bytes of a PNG image. */
  png(bytes: Uint8Array): void;
  /** Shows the bytes of a JPEG image. */
  jpeg(bytes: Uint8Array): void;
  /** Shows a value as a JSON tree. */
  json(value: unknown): void;
  /** Shows a whole MIME bundle, with metadata. */
  raw(bundle: MimeBundle, metadata?: Record<string, unknown>): DisplayHandle;
  /** Shows another value in the place of the display with this id; metadata as in `raw`. */
  update(id: string, value: unknown, metadata?: Record<string, unknown>): void;
  /** Shows a value in the front end's pager when the cell has ended; in the cell where there is no pager. */
  page(value: unknown): void;
  /** Clears the cell's output; with `wait`, only when the next output comes. */
  clear(options?: { wait?: boolean }): void;
  /** Shows a progress bar of `total` steps. */
  progress(total: number, label?: string): ProgressBar;
  /** Aborted when the reader stops the running cell: `fetch(url, { signal: display.signal })`. */
  readonly signal: AbortSignal;
}

/** Sends a bundle when it is made, and not before what was displayed earlier. @throws P2pError `usage` for what JSON cannot hold. */
function send(
  cell: Cell,
  bundle: () => MimeBundle | Promise<MimeBundle>,
  emit: (data: MimeBundle) => void,
): void {
  const sent = (data: MimeBundle) => {
    try {
      emit(data);
    } catch (cause) {
      throw noJson("what a display holds", cause);
    }
  };
  inTurn(cell, () => {
    const made = bundle();
    if (!(made instanceof Promise)) return sent(made);
    return made.then(sent);
  });
}

function newHandle(): DisplayHandle {
  const id = `p2plab-${process.pid}-${++displays}`;
  const handle: DisplayHandle = { id, update: (value, metadata) => update(id, value, metadata) };
  handles.add(handle);
  return handle;
}

function show(value: unknown): DisplayHandle {
  const cell = runningCell();
  const handle = newHandle();
  const displayId = handle.id;
  send(
    cell,
    () => bundleOf(value),
    (data) => cell.emit({ type: "display_data", data, metadata: {}, displayId }),
  );
  return handle;
}

function update(id: string, value: unknown, metadata: Record<string, unknown> = {}): void {
  const cell = runningCell();
  const displayId = textOf(id, "the id of a display");
  const about = objectOf(metadata, "the metadata of a display");
  send(
    cell,
    () => bundleOf(value),
    (data) => cell.emit({ type: "update_display_data", data, metadata: about, displayId }),
  );
}

function raw(bundle: MimeBundle, metadata: Record<string, unknown> = {}): DisplayHandle {
  const cell = runningCell();
  const given = objectOf(bundle, "a MIME bundle");
  const about = objectOf(metadata, "the metadata of a display");
  const handle = newHandle();
  const displayId = handle.id;
  send(
    cell,
    () => completed(given),
    (data) => cell.emit({ type: "display_data", data, metadata: about, displayId }),
  );
  return handle;
}

function page(value: unknown): void {
  const cell = runningCell();
  send(
    cell,
    () => (typeof value === "string" ? { "text/plain": value } : bundleOf(value)),
    (data) => {
      if (cell.showPage) cell.showPage(data);
      else cell.emit({ type: "display_data", data, metadata: {} });
    },
  );
}

function clear(options: { wait?: boolean } = {}): void {
  const cell = runningCell();
  const { wait } = objectOf(options, "the options of display.clear");
  inTurn(cell, () => cell.emit({ type: "clear_output", wait: wait === true }));
}

const withoutTags = (html: string) => html.replace(/<[^>]*>/g, "");

const BAR_CHARACTERS = 30;

function progress(total: number, label = ""): ProgressBar {
  if (!(Number.isFinite(total) && total > 0))
    throw new P2pError("usage", `a progress bar of ${shown(total)} steps`, "Give a number above 0.");
  textOf(label, "the label of a progress bar");
  const cell = runningCell();
  const { id } = newHandle();
  let done = 0;
  const bundle = (): MimeBundle => {
    const filled = Math.round((done / total) * BAR_CHARACTERS);
    const bar = "█".repeat(filled) + "░".repeat(BAR_CHARACTERS - filled);
    return {
      "text/html": `<progress max="${total}" value="${done}" aria-label="${escapeHtml(label || "progress")}"></progress> ${done}/${total} ${escapeHtml(label)}`,
      "text/plain": `${bar} ${done}/${total} ${label}`.trimEnd(),
    };
  };
  const set = (next: number) => {
    done = Math.min(total, Math.max(0, stepsOf(next)));
    cell.emit({ type: "update_display_data", data: bundle(), metadata: {}, displayId: id });
  };
  cell.emit({ type: "display_data", data: bundle(), metadata: {}, displayId: id });
  const bar: ProgressBar = {
    tick: (by = 1) => set(done + stepsOf(by)),
    set,
    close: () => {
      const data = { "text/html": "", "text/plain": "" };
      cell.emit({ type: "update_display_data", data, metadata: {}, displayId: id });
    },
  };
  handles.add(bar);
  return bar;
}

/** @throws P2pError `usage` for what has no JSON: `undefined`, a function, a BigInt, an object that holds itself. */
function json(value: unknown): void {
  let written: string | undefined;
  try {
    written = JSON.stringify(value);
  } catch (cause) {
    throw noJson(shown(value), cause);
  }
  if (written === undefined) throw noJson(shown(value), "JSON has nothing for it");
  raw({ "application/json": value, "text/plain": written });
}

/** Shows a text under its MIME type, and as plain text. */
function textual(mime: string, name: string, plain = (given: string) => given): (value: string) => void {
  return (value) => {
    const given = textOf(value, `what display.${name} is to show`);
    raw({ [mime]: given, "text/plain": plain(given) });
  };
}

const methods = {
  text: textual("text/plain", "text"),
  html: textual("text/html", "html", withoutTags),
  markdown: textual("text/markdown", "markdown"),
  latex: textual("text/latex", "latex"),
  svg: textual("image/svg+xml", "svg", () => "[SVG]"),
  png: (bytes: Uint8Array): void =>
    void raw({ "image/png": bytesOf(bytes, "a PNG image"), "text/plain": "[PNG]" }),
  jpeg: (bytes: Uint8Array): void =>
    void raw({ "image/jpeg": bytesOf(bytes, "a JPEG image"), "text/plain": "[JPEG]" }),
  json,
  raw,
  update,
  page,
  clear,
  progress,
};

export const display: Display = Object.defineProperty(Object.assign(show, methods), "signal", {
  get: () => runningCell().abort.signal,
  enumerable: true,
}) as Display;
