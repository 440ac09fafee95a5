import { NOT_STATED, provenancesOf, type Table } from "../measure/table.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import type { TimelineOrigin } from "../timeline.js";
import { type Style, textWidth, wrap } from "./style.js";

/** Plotly's own JSON: traces. Plain arrays only, so that the figure can be stored in a notebook. */
export type PlotlyTrace = Record<string, unknown>;
export type PlotlyLayout = Record<string, unknown>;

/** Where the numbers of a figure come from. */
export interface Origin {
  readonly machine: string;
  readonly provenance: string;
  readonly date: string;
}

export interface FigureParts {
  readonly title: string;
  readonly traces: readonly PlotlyTrace[];
  /** Axes and whatever else differs from other figures; height and margins follow from the rest. */
  readonly layout: PlotlyLayout;
  /** Height of the plotting area with its axis, without title and legend, in pixels; default 360. */
  readonly plotHeight?: number;
  /** Provenance of the data, drawn under the title, in red where anything is simulated; none where nothing was measured. */
  readonly origins: readonly Origin[] | null;
  /** What a reader must know beside it: cells left out and why, what a line stands for. */
  readonly notes?: readonly string[];
  /** The figure in a sentence, for front ends that cannot draw. */
  readonly summary: string;
  readonly style: Style;
}

const KINDS: Record<string, readonly [zh: string, en: string]> = {
  measured: ["实测 measured", "measured"],
  recorded: ["录制的实测 recorded", "recorded from a real machine"],
  simulated: ["模拟，不是实测 SIMULATED, not a measurement", "SIMULATED, not a measurement"],
  imported: ["取自其他工具的文件 imported", "imported from another tool's file"],
};

/** Lines are broken for this width; a figure is 800 px wide in a page, a little less in a JupyterLab cell. */
const TEXT_WIDTH = 720;
const TITLE = 17;
const SMALL = 12;
/** Leading of the small lines. */
const LINE = 16;
const LEGEND_ROW = 22;
/** Origins that are named one by one. */
const NAMED_ORIGINS = 4;

/** A Plotly figure that always says where its numbers come from. */
export class Figure {
  readonly data: readonly PlotlyTrace[];
  readonly layout: PlotlyLayout;
  readonly config: Record<string, unknown> = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d"],
  };
  readonly #summary: string;

  constructor(parts: FigureParts) {
    const { style, origins, layout } = parts;
    const named = origins === null ? [] : originTexts(origins, style);
    const origin = named.join(style.say("；", "; "));
    const simulated = origins?.some((o) => kindsOf(o).includes("simulated")) ?? false;
    const unknown = origins?.length === 0;
    // One line where they all fit, else one for each.
    const fits = wrap(origin, TEXT_WIDTH, SMALL).length <= 1;
    const lines = (fits ? [origin] : named)
      .flatMap((text) => wrap(text, TEXT_WIDTH, SMALL))
      .map((line) => (simulated || unknown ? `<b>${safe(line)}</b>` : safe(line)));
    const notes = (parts.notes ?? []).flatMap((note) => wrap(note, TEXT_WIDTH, SMALL)).map(safe);
    const small = [...lines, ...notes.map((note) => `<span style="color:${style.faint}">${note}</span>`)];
    const titleLines = wrap(parts.title, TEXT_WIDTH, TITLE).map(safe);
    const top = 20 + titleLines.length * 22 + small.length * LINE + 12 + (hasTopAxis(layout) ? 44 : 0);
    const bottom = (hasBottomAxis(layout) ? 58 : 20) + legendRows(parts.traces, layout) * LEGEND_ROW;
    this.data = parts.traces;
    this.layout = {
      template: templateOf(style),
      height: top + (parts.plotHeight ?? 360) + bottom,
      margin: { l: 70, r: 30, t: top, b: bottom },
      hovermode: "closest",
      ...layout,
      legend: {
        orientation: "h",
        x: 0,
        xanchor: "left",
        xref: "container",
        y: 0,
        yanchor: "bottom",
        yref: "container",
        font: { size: SMALL },
        ...(layout.legend as object | undefined),
      },
      annotations: [
        ...((layout.annotations as unknown[] | undefined) ?? []),
        ...(simulated ? [watermark(style)] : []),
      ],
      title: {
        text: titleLines.join("<br>"),
        x: 0,
        xanchor: "left",
        y: 1,
        yanchor: "top",
        pad: { l: 16, t: 12 },
        font: { size: TITLE },
        subtitle: {
          text: small.join("<br>"),
          font: { size: SMALL, color: simulated || unknown ? style.alarm : style.faint },
        },
      },
    };
    const bracket = origin === "" ? "" : ` [${origin}]`;
    this.#summary = `${parts.title}${bracket}: ${[parts.summary, ...(parts.notes ?? [])].join("; ")}`;
  }

  toJSON(): { data: readonly PlotlyTrace[]; layout: PlotlyLayout; config: Record<string, unknown> } {
    return { data: this.data, layout: this.layout, config: this.config };
  }

  toString(): string {
    return this.#summary;
  }

  [richDisplay](): MimeBundle {
    return { "application/vnd.plotly.v1+json": this.toJSON(), "text/plain": this.#summary };
  }
}

/** Origins of a table's rows, for a figure made from it. */
export function originsOf(table: Table): Origin[] {
  return provenancesOf(table);
}

/** Origin of an imported timeline, for a figure made from it. */
export function importedOrigin(origin: TimelineOrigin | undefined): Origin {
  return {
    machine: origin?.machine ?? NOT_STATED.machine,
    provenance: origin?.provenance ?? "imported",
    date: origin?.date?.slice(0, 10) ?? NOT_STATED.date,
  };
}

/** Text that Plotly would otherwise read as its own markup. */
export function safe(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/** Kinds of an origin: an entry of the ledger whose evidence is of several names them all, `recorded + simulated`. */
function kindsOf({ provenance }: Origin): string[] {
  return provenance.split(" + ");
}

function originTexts(origins: readonly Origin[], style: Style): string[] {
  if (origins.length === 0) return [style.say("来源未注明 provenance not stated", "provenance not stated")];
  const named = origins.slice(0, NAMED_ORIGINS).map((o) => {
    const words = kindsOf(o).map((kind) =>
      Object.hasOwn(KINDS, kind) ? style.say(...(KINDS[kind] as readonly [string, string])) : kind,
    );
    return `${words.join(" + ")} · ${o.machine} · ${o.date}`;
  });
  const rest = origins.length - named.length;
  if (rest > 0) {
    const kinds = [...new Set(origins.slice(NAMED_ORIGINS).map((o) => o.provenance))].join(", ");
    named.push(style.say(`另有${rest}个来源（${kinds}）`, `${rest} more (${kinds})`));
  }
  return named;
}

/** Across the plotting area, so that a part cut out of a figure says it too. */
function watermark(style: Style): PlotlyLayout {
  return {
    name: "watermark",
    text: style.say("模拟 SIMULATED", "SIMULATED"),
    xref: "paper",
    yref: "paper",
    x: 0.5,
    y: 0.5,
    showarrow: false,
    textangle: -18,
    font: { size: 44, color: style.alarm },
    opacity: style.theme === "light" ? 0.13 : 0.2,
  };
}

function hasTopAxis(layout: PlotlyLayout): boolean {
  return (layout.xaxis as { side?: string } | undefined)?.side === "top";
}

function hasBottomAxis(layout: PlotlyLayout): boolean {
  const axis = layout.xaxis as { side?: string; visible?: boolean } | undefined;
  return axis?.side !== "top" && axis?.visible !== false;
}

/** Rows that the legend below takes, at 800 px. */
function legendRows(traces: readonly PlotlyTrace[], layout: PlotlyLayout): number {
  if (layout.showlegend === false) return 0;
  const shown = traces.filter((trace) => trace.showlegend !== false && typeof trace.name === "string");
  if (shown.length < 2 && layout.showlegend !== true) return 0;
  // Plotly gives every entry of a horizontal legend the width of the widest.
  const widest = Math.max(...shown.map((trace) => textWidth(trace.name as string, SMALL) + 52));
  const perRow = Math.max(1, Math.floor(780 / widest));
  return Math.ceil(shown.length / perRow);
}

function templateOf(style: Style): PlotlyLayout {
  const axis = {
    gridcolor: style.grid,
    linecolor: style.faint,
    tickcolor: style.faint,
    zeroline: false,
    ticks: "outside",
    automargin: true,
    title: { standoff: 10, font: { size: 13 } },
  };
  return {
    layout: {
      font: {
        family: '"Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", system-ui, sans-serif',
        size: 13,
        color: style.ink,
      },
      paper_bgcolor: style.paper,
      plot_bgcolor: style.paper,
      xaxis: axis,
      yaxis: axis,
      hoverlabel: { align: "left" },
    },
  };
}
