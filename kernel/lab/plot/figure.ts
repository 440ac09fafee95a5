import { provenancesOf, type Table } from "../measure/table.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import { formatBytes } from "../units.js";

/** Plotly's own JSON: traces. Plain arrays only, so that the figure can be stored in a notebook. */
export type PlotlyTrace = Record<string, unknown>;
export type PlotlyLayout = Record<string, unknown>;

/** One colour for one thing in every figure of the course (Okabe–Ito, told apart by colour-blind readers). */
export const COLOURS = {
  peer: "#0072B2",
  staged: "#D55E00",
  "driver-staged": "#CC79A7",
  launch: "#56B4E9",
  setup: "#E69F00",
  link: "#009E73",
  receiver: "#CC79A7",
  guess: "#555555",
} as const;

export function colourOf(name: string): string {
  return (COLOURS as Record<string, string>)[name] ?? "#555555";
}

const KINDS: Record<string, string> = {
  measured: "实测 measured",
  recorded: "录制的实测 recorded",
  simulated: "模拟，不是实测 SIMULATED, not a measurement",
};

/** A Plotly figure that always says where its numbers come from. */
export class Figure {
  readonly data: readonly PlotlyTrace[];
  readonly layout: PlotlyLayout;
  readonly config: Record<string, unknown> = { responsive: true, displaylogo: false };
  readonly #summary: string;

  /**
   * @param origins provenance of the data; drawn under the title, in red where anything is simulated.
   * @param summary the figure in a sentence, for front ends that cannot draw.
   */
  constructor(
    data: readonly PlotlyTrace[],
    layout: PlotlyLayout & { title: string },
    origins: readonly { machine: string; provenance: string; date: string }[],
    summary: string,
  ) {
    const origin = origins
      .map((o) => `${KINDS[o.provenance] ?? o.provenance} · ${o.machine} · ${o.date}`)
      .join("；");
    const simulated = origins.some((o) => o.provenance === "simulated");
    this.data = data;
    this.layout = {
      template: TEMPLATE,
      height: 440,
      margin: { l: 70, r: 30, t: 84, b: 60 },
      hovermode: "closest",
      legend: { orientation: "h", y: 1.0, yanchor: "bottom", x: 1, xanchor: "right" },
      ...layout,
      title: {
        text: layout.title,
        x: 0.01,
        xanchor: "left",
        y: 0.97,
        yanchor: "top",
        font: { size: 17 },
        subtitle: { text: origin, font: { size: 12, color: simulated ? "#B00020" : "#5A5A5A" } },
      },
    };
    this.#summary = `${layout.title} [${origin}]: ${summary}`;
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
export function originsOf(table: Table): { machine: string; provenance: string; date: string }[] {
  return provenancesOf(table);
}

/** A logarithmic axis of message sizes with ticks that read as sizes. */
export function bytesAxis(sizes: readonly number[], title = "消息大小 message size"): PlotlyLayout {
  const low = Math.floor(Math.log2(Math.min(...sizes)));
  const high = Math.ceil(Math.log2(Math.max(...sizes)));
  const step = Math.max(1, Math.ceil((high - low) / 10));
  const ticks: number[] = [];
  for (let power = low; power <= high; power += step) ticks.push(2 ** power);
  return { type: "log", title: { text: title }, tickvals: ticks, ticktext: ticks.map(formatBytes) };
}

const AXIS = {
  gridcolor: "#E4E7EB",
  linecolor: "#9AA5B1",
  zeroline: false,
  ticks: "outside",
  automargin: true,
};

const TEMPLATE = {
  layout: {
    font: {
      family: '"Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", system-ui, sans-serif',
      size: 13,
      color: "#1F2933",
    },
    paper_bgcolor: "#FFFFFF",
    plot_bgcolor: "#FFFFFF",
    xaxis: AXIS,
    yaxis: AXIS,
  },
};
