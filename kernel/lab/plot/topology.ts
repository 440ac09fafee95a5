import { P2pError } from "../errors.js";
import type { LayoutLink, LinkKind, NodeKind, TopologyNode } from "../topology/layout.js";
import { Figure, type Origin, type PlotlyLayout, type PlotlyTrace, safe } from "./figure.js";
import { digits, type FigureOptions, PALETTE, type Style, styleOf, textOn, textWidth } from "./style.js";
import { type Place, type Placed, placesOf } from "./topology-layout.js";

const WHO = "plot.topology";

/** What is joined to what: a `Layout` or `Graph`, or whatever holds one. */
export interface Drawable {
  readonly nodes: readonly TopologyNode[];
  readonly links: readonly LayoutLink[];
}

/** Name, colour and symbol of each kind of node; a bar for those that join many. */
const NODES: Readonly<Record<NodeKind, readonly [zh: string, en: string, colour: string, symbol: string]>> = {
  cpu: ["CPU／NUMA节点", "CPU / NUMA node", PALETTE.grey, "square"],
  "root-port": ["根端口", "root port", PALETTE.grey, "circle"],
  hidden: ["看不到的部分", "hidden part", PALETTE.grey, "circle-open-dot"],
  "pcie-switch": ["PCIe交换机", "PCIe switch", PALETTE.sky, "hexagon"],
  gpu: ["GPU", "GPU", PALETTE.green, "square"],
  nic: ["网卡", "NIC", PALETTE.orange, "diamond"],
  nvswitch: ["NVSwitch", "NVSwitch", PALETTE.purple, "square"],
  network: ["网络", "network", PALETTE.orange, "square"],
};

const LINKS: Readonly<Record<LinkKind, readonly [name: string, colour: string, dash: string]>> = {
  nvlink: ["NVLink", PALETTE.green, "solid"],
  xgmi: ["xGMI", PALETTE.purple, "solid"],
  pcie: ["PCIe", PALETTE.blue, "solid"],
  host: ["host memory", PALETTE.grey, "solid"],
  c2c: ["NVLink-C2C", PALETTE.sky, "dash"],
  socket: ["CPU–CPU", PALETTE.vermilion, "dash"],
  network: ["network", PALETTE.orange, "dot"],
};

/** Pixels between two tiers, and across at 800 px. */
const TIER = 78;
const ACROSS = 650;
/** Depth of an arc between neighbours, in tiers, and more for each slot between its ends. */
const ARC = 0.32;
const ARC_MORE = 0.2;

/**
 * What is joined to what: CPUs on top, the PCIe tree below them down to GPUs and network cards, NVLink switches and the
 * network underneath; NVLinks between two GPUs are arcs, wider where more are bundled. The legend names each kind of link
 * with its width and its line rate in one direction; hover names nodes and links.
 * @param topology what `lab.topology(machine)` returns, or a graph of nodes and links.
 * @throws P2pError `usage` when it is none, or has no GPU.
 */
export function topology(topology: Drawable | object, options: FigureOptions = {}): Figure {
  const style = styleOf(options, WHO);
  const { say } = style;
  const { nodes, links } = drawableOf(topology);
  const placed = placesOf(nodes, links);
  const slot = ACROSS / placed.width;
  const arcs = links.filter((link) => isArc(link, placed));
  const deepest = arcs.reduce((most, link) => Math.max(most, depthOf(link, placed)), 0);
  // Arcs need room between the GPUs and what lies below them.
  const drop = deepest > 0 ? deepest + 0.15 : 0;
  const shifted = new Map(
    [...placed.places].map(([name, place]) => [
      name,
      place.y > placed.leafTier ? { ...place, y: place.y + Math.max(0, drop - 0.5) } : place,
    ]),
  );
  const bars = nodes.filter((node) => shifted.get(node.name)?.span);
  const boxes = nodes.filter((node) => shifted.has(node.name) && !shifted.get(node.name)?.span);
  const bottom = Math.max(
    ...[...shifted.values()].map((place) => place.y + 0.35),
    placed.leafTier + drop + 0.1,
  );
  const top = -0.4 - (links.some((link) => isFarSocket(link, shifted)) ? 0.5 : 0);
  const gpus = nodes.filter((node) => node.kind === "gpu").length;
  const facts = factsOf(topology);
  const groups = groupsOf(links, slot);
  return new Figure({
    title: options.title ?? facts.title ?? say("拓扑", "Topology"),
    traces: [
      ...groups.map((group) => linesOf(group, shifted, placed, arcs, style)),
      ...kindsOf(boxes).map(([kind, own]) => boxesOf(kind, own, shifted, slot, style)),
      ...(bars.length > 0 ? [barHover(bars, shifted)] : []),
    ],
    layout: {
      showlegend: true,
      shapes: bars.map((node) => barShape(node, shifted.get(node.name) as Place, style)),
      annotations: barTexts(bars, shifted, slot, style),
      xaxis: { visible: false, range: [-0.7, placed.width - 0.3], fixedrange: true },
      yaxis: {
        range: [bottom, top],
        fixedrange: true,
        showgrid: false,
        showline: false,
        ticks: "",
        ...tierTicks(placed, shifted, nodes, style),
      },
    },
    plotHeight: Math.max(150, Math.min(640, (bottom - top) * TIER)),
    origins: facts.origins,
    notes: [
      ...(facts.describes ? [facts.describes] : []),
      say("速率：单向，线路速率", "rates: one direction, of the line"),
    ],
    summary: `${gpus} GPUs; ${groups.map((group) => `${group.links.length} × ${group.name}`).join(", ")}`,
    style,
  });
}

/** Takes the nodes and links out of what was given. */
function drawableOf(value: unknown): Drawable {
  const given = (value ?? {}) as { nodes?: unknown; graph?: unknown; layout?: unknown };
  const found = [given, given.graph, given.layout].find((each) =>
    Array.isArray((each as { nodes?: unknown } | null | undefined)?.nodes),
  ) as { nodes: readonly TopologyNode[]; links?: unknown } | undefined;
  if (!found || !Array.isArray(found.links)) {
    throw new P2pError(
      "usage",
      `${WHO} was given no topology`,
      "Give it nodes and links, such as lab.topology(machine) returns.",
    );
  }
  const { nodes, links } = found as Drawable;
  const names = new Set(nodes.map((node) => node?.name));
  const strangers: unknown[] = [
    ...nodes.filter((node) => !Object.hasOwn(NODES, String(node?.kind)) || typeof node.name !== "string"),
    ...links.filter(
      (link) =>
        !Object.hasOwn(LINKS, String(link?.kind)) ||
        !names.has(link.from) ||
        !names.has(link.to) ||
        !isNumberOrNull(link.width) ||
        !isNumberOrNull(link.rawGbps),
    ),
  ];
  if (strangers.length > 0 || names.size !== nodes.length) {
    throw new P2pError(
      "usage",
      `${WHO}: ${strangers.length === 0 ? "two nodes have the same name" : `not a part of a topology: ${JSON.stringify(strangers[0])?.slice(0, 120)}`}`,
      `Nodes are of kind ${Object.keys(NODES).join(", ")}; links of kind ${Object.keys(LINKS).join(", ")}, between two nodes.`,
    );
  }
  if (!nodes.some((node) => node.kind === "gpu")) {
    throw new P2pError(
      "usage",
      `${WHO}: the topology has no GPU`,
      "Give one with at least one node of kind gpu.",
    );
  }
  return { nodes, links };
}

function isNumberOrNull(value: unknown): boolean {
  return value === null || (typeof value === "number" && Number.isFinite(value) && value > 0);
}

/** What a topology says of itself: its name, and where it comes from if it says that. */
function factsOf(value: unknown): {
  title: string | null;
  describes: string | null;
  origins: Origin[] | null;
} {
  const given = value as {
    title?: unknown;
    describes?: unknown;
    heading?: unknown;
    topology?: { title?: unknown } | null;
    provenance?: unknown;
  };
  const from = given.provenance as { kind?: unknown; machine?: unknown; date?: unknown } | null | undefined;
  const text = (field: unknown) => (typeof field === "string" && field !== "" ? field : null);
  const kind = text(from?.kind);
  return {
    title: text(given.title) ?? text(given.topology?.title),
    // The heading says what the origins say too.
    describes: text(given.describes) ?? (kind === null ? text(given.heading) : null),
    origins:
      kind === null
        ? null
        : [
            {
              provenance: kind,
              machine: text(from?.machine) ?? "?",
              date: (text(from?.date) ?? "?").slice(0, 10),
            },
          ],
  };
}

interface LinkGroup {
  readonly name: string;
  readonly kind: LinkKind;
  readonly width: number;
  readonly links: readonly LayoutLink[];
}

/** Links of one kind, width and rate, the fastest first; never wider than the nodes that they join. */
function groupsOf(links: readonly LayoutLink[], slot: number): LinkGroup[] {
  const groups = new Map<string, LayoutLink[]>();
  for (const link of links) {
    const [name] = LINKS[link.kind];
    const width =
      link.width === null
        ? ""
        : link.kind === "network" || link.kind === "socket" || link.kind === "host"
          ? ""
          : ` ×${link.width}`;
    const rate = link.rawGbps === null ? "" : ` ${digits(link.rawGbps)} GB/s`;
    const key = `${name}${width}${rate}`;
    groups.set(key, [...(groups.get(key) ?? []), link]);
  }
  return [...groups]
    .map(([name, own]) => {
      const { kind, width } = own[0] as LayoutLink;
      const bundled =
        kind === "nvlink" || kind === "xgmi" ? Math.min(5, 1.4 + 0.8 * Math.log2(width ?? 1)) : 1.8;
      return { name, kind, width: Math.min(bundled, slot * 0.3), links: own };
    })
    .sort((a, b) => (b.links[0]?.rawGbps ?? 0) - (a.links[0]?.rawGbps ?? 0));
}

/** Between two leaves there is no tree: an arc below them. */
function isArc(link: LayoutLink, placed: Placed): boolean {
  return [link.from, link.to].every((name) => placed.places.get(name)?.y === placed.leafTier);
}

function depthOf(link: LayoutLink, placed: Placed): number {
  const [a, b] = [link.from, link.to].map((name) => placed.places.get(name)?.x ?? 0) as [number, number];
  return ARC + ARC_MORE * Math.min(8, Math.max(0, Math.abs(a - b) - 1));
}

/** Two CPUs that are no neighbours. */
function isFarSocket(link: LayoutLink, places: ReadonlyMap<string, Place>): boolean {
  const [a, b] = [places.get(link.from), places.get(link.to)];
  if (link.kind !== "socket" || !a?.span || !b?.span) return false;
  const [left, right] = a.x < b.x ? [a.span[1], b.span[0]] : [b.span[1], a.span[0]];
  return right - left > 0.8;
}

function linesOf(
  group: LinkGroup,
  places: ReadonlyMap<string, Place>,
  placed: Placed,
  arcs: readonly LayoutLink[],
  style: Style,
): PlotlyTrace {
  const [, colour, dash] = LINKS[group.kind];
  const x: (number | null)[] = [];
  const y: (number | null)[] = [];
  const text: string[] = [];
  for (const link of group.links) {
    const points = arcs.includes(link)
      ? arcOf(places.get(link.from) as Place, places.get(link.to) as Place, depthOf(link, placed))
      : isFarSocket(link, places)
        ? arcOf(places.get(link.from) as Place, places.get(link.to) as Place, -0.7)
        : straight(places.get(link.from) as Place, places.get(link.to) as Place);
    for (const [px, py] of points) {
      x.push(px);
      y.push(py);
      text.push(`${safe(link.from)} – ${safe(link.to)}<br>${group.name}`);
    }
    x.push(null);
    y.push(null);
    text.push("");
  }
  return {
    type: "scatter",
    mode: "lines",
    name:
      group.kind === "host"
        ? `${style.say("主机内存", "host memory")}${group.name.slice(LINKS.host[0].length)}`
        : group.name,
    x,
    y,
    text,
    hoverinfo: "text",
    line: { color: colour, width: group.width, dash },
    opacity: 0.85,
  };
}

function arcOf(a: Place, b: Place, depth: number): [number, number][] {
  const steps = 24;
  return Array.from({ length: steps + 1 }, (_, i): [number, number] => {
    const angle = (Math.PI * i) / steps;
    return [(a.x + b.x) / 2 + ((a.x - b.x) / 2) * Math.cos(angle), a.y + depth * Math.sin(angle)];
  });
}

/** From node to node; to a bar straight up or down, where it is above or below. */
function straight(a: Place, b: Place): [number, number][] {
  if (a.span && b.span && a.y === b.y) {
    const [left, right] = a.x < b.x ? [a, b] : [b, a];
    return [
      [left.span?.[1] as number, left.y],
      [right.span?.[0] as number, right.y],
    ];
  }
  const toward = (from: Place, to: Place) =>
    to.span && from.x >= to.span[0] && from.x <= to.span[1] ? from.x : to.x;
  const middle = (from: Place, to: Place): [number, number] => [(from.x + to.x) / 2, (from.y + to.y) / 2];
  const start: [number, number] = [toward(b, a), a.y];
  const end: [number, number] = [toward(a, b), b.y];
  return [
    start,
    start[0] === end[0] ? [start[0], (a.y + b.y) / 2] : middle({ ...a, x: start[0] }, { ...b, x: end[0] }),
    end,
  ];
}

function kindsOf(nodes: readonly TopologyNode[]): [NodeKind, TopologyNode[]][] {
  const kinds = Object.keys(NODES) as NodeKind[];
  return kinds
    .map((kind): [NodeKind, TopologyNode[]] => [kind, nodes.filter((node) => node.kind === kind)])
    .filter(([, own]) => own.length > 0);
}

function boxesOf(
  kind: NodeKind,
  nodes: readonly TopologyNode[],
  places: ReadonlyMap<string, Place>,
  slot: number,
  style: Style,
): PlotlyTrace {
  const [, , colour, symbol] = NODES[kind];
  const leaf = kind === "gpu" || kind === "nic";
  const size = Math.max(5, Math.min(leaf ? 46 : 18, slot * (leaf ? 0.72 : 0.5)));
  const number = (name: string) => /(\d+)$/.exec(name)?.[1] ?? name;
  const long = `${kind === "nic" ? "NIC" : "GPU"} ${number(nodes.at(-1)?.name ?? "")}`;
  const labelled = leaf && size >= 13;
  return {
    type: "scatter",
    mode: labelled ? "markers+text" : "markers",
    showlegend: false,
    name: kind,
    x: nodes.map((node) => places.get(node.name)?.x),
    y: nodes.map((node) => places.get(node.name)?.y),
    text: nodes.map((node) =>
      textWidth(long, 11) <= size - 4
        ? `${kind === "nic" ? "NIC" : "GPU"} ${number(node.name)}`
        : number(node.name),
    ),
    textfont: { color: textOn(colour), size: size < 20 ? 9 : 11 },
    marker: {
      symbol,
      size: kind === "nic" ? size * 0.9 : size,
      color: colour,
      line: { color: style.ink, width: size > 8 ? 1 : 0 },
      opacity: 1,
    },
    hovertext: nodes.map((node) => hoverOf(node)),
    hoverinfo: "text",
  };
}

function hoverOf(node: TopologyNode): string {
  return [
    `<b>${safe(node.name)}</b> (${node.kind})`,
    node.pci ? safe(node.pci) : "",
    node.host ? `host ${node.host}` : "",
    node.bridge ? `bridge ${safe(node.bridge)}` : "",
  ]
    .filter(Boolean)
    .join("<br>");
}

function barShape(node: TopologyNode, place: Place, style: Style): PlotlyLayout {
  const [left, right] = place.span as readonly [number, number];
  return {
    type: "rect",
    x0: left,
    x1: right,
    y0: place.y - 0.16,
    y1: place.y + 0.16,
    fillcolor: NODES[node.kind][2],
    line: { color: style.ink, width: 1 },
    layer: "above",
  };
}

/** Names of bars: of one kind either all or none, numbered where there are several. */
function barTexts(
  bars: readonly TopologyNode[],
  places: ReadonlyMap<string, Place>,
  slot: number,
  { say }: Style,
): PlotlyLayout[] {
  return kindsOf(bars).flatMap(([kind, own]) => {
    const word = kind === "cpu" ? "CPU" : kind === "network" ? say("网络", "network") : "NVSwitch";
    const number = (node: TopologyNode) => /(\d+)$/.exec(node.name)?.[1] ?? "";
    const forms =
      own.length === 1 ? [() => word] : [(node: TopologyNode) => `${word} ${number(node)}`, number];
    const fits = (form: (node: TopologyNode) => string) =>
      own.every((node) => {
        const [left, right] = places.get(node.name)?.span ?? [0, 0];
        return textWidth(form(node), 12) <= (right - left) * slot - 4;
      });
    const form = forms.find(fits);
    if (!form) return [];
    return own.map((node) => ({
      x: places.get(node.name)?.x,
      y: places.get(node.name)?.y,
      xref: "x",
      yref: "y",
      text: safe(form(node)),
      showarrow: false,
      font: { size: 12, color: textOn(NODES[kind][2]) },
    }));
  });
}

/** Bars are shapes, which have no hover text of their own. */
function barHover(nodes: readonly TopologyNode[], places: ReadonlyMap<string, Place>): PlotlyTrace {
  return {
    type: "scatter",
    mode: "markers",
    showlegend: false,
    name: "bars",
    x: nodes.map((node) => places.get(node.name)?.x),
    y: nodes.map((node) => places.get(node.name)?.y),
    marker: { opacity: 0, size: 20 },
    hovertext: nodes.map(hoverOf),
    hoverinfo: "text",
  };
}

/** What lies in each tier, at its height. */
function tierTicks(
  placed: Placed,
  places: ReadonlyMap<string, Place>,
  nodes: readonly TopologyNode[],
  { say }: Style,
): PlotlyLayout {
  const kindOf = new Map(nodes.map((node) => [node.name, node.kind]));
  const seen = new Set<string>();
  const ticks = placed.tiers.map((names) => {
    const kinds = [...new Set(names.map((name) => kindOf.get(name) as NodeKind))];
    const text = kinds.map((kind) => say(NODES[kind][0], NODES[kind][1])).join("<br>");
    const shown = seen.has(text) ? "" : text;
    seen.add(text);
    return { y: places.get(names[0] as string)?.y, text: shown };
  });
  return { tickvals: ticks.map((tick) => tick.y), ticktext: ticks.map((tick) => tick.text) };
}
