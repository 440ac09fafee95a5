import { messageOf, P2pError } from "../errors.js";
import type { Description } from "../topology/description.js";
import { readNcclXml } from "../topology/readers/nccl-xml.js";
import { type Element, parseXml, wholeNumber } from "../topology/readers/xml.js";
import { Imported, type Importer } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { numberIn } from "./number.js";
import { filled, recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

type Row = Record<string, Value>;

/** The topology that NCCL and RCCL write with NCCL_TOPO_DUMP_FILE and take with NCCL_TOPO_FILE. */
export const topologyImporter: Importer = {
  format: "nccl-topology",
  title: "topology XML of NCCL",
  detect: (head) => (rootOf(headText(head)) === "system" ? 0.95 : 0),
  async read(source) {
    const { text, notes: odd } = await textOf(source);
    const root = parseXml(text);
    if (root.name !== "system") throw wrongRoot(root, "system");
    const devices: Row[] = [];
    const links: Row[] = [];
    for (const cpu of root.children) devicesBelow(cpu, null, cpu, devices, links);
    const notes = [...odd, "The file says neither when it was written nor on which machine."];
    let topology: Description | null = null;
    try {
      topology = readNcclXml(root);
      for (const sentence of topology.unknown) notes.push(`Unknown: ${sentence}`);
    } catch (error) {
      if (!(error instanceof P2pError)) throw error;
      notes.push(`The file makes no topology to simulate: ${messageOf(error)}`);
    }
    if (devices.length === 0) throw new P2pError("import", "the topology has no CPU and no device", HINT);
    for (const asymmetry of asymmetries(links)) notes.push(asymmetry);
    const gpus = devices.filter(({ kind }) => kind === "gpu");
    const names = gpus.map(({ sm }) => (sm === null ? "GPU" : `GPU of sm ${sm}`));
    const origin = { machine: machineOf(names), date: null };
    return new Imported({
      format: topologyImporter.format,
      title: topologyImporter.title,
      version: root.attributes.version ?? null,
      tables: filled({ devices: recordsTable(devices, origin), links: recordsTable(links, origin) }),
      topology,
      notes,
      source,
    });
  },
};

const HINT =
  "Write it anew with NCCL_TOPO_DUMP_FILE=topo.xml (or NCCL_GRAPH_DUMP_FILE=graph.xml) and any NCCL program.";

/** Rings and trees that NCCL writes with NCCL_GRAPH_DUMP_FILE. */
export const graphImporter: Importer = {
  format: "nccl-graph",
  title: "graph XML of NCCL",
  detect: (head) => (rootOf(headText(head)) === "graphs" ? 0.97 : 0),
  async read(source) {
    const { text, notes: odd } = await textOf(source);
    const root = parseXml(text);
    if (root.name !== "graphs") throw wrongRoot(root, "graphs");
    const graphs: Row[] = [];
    const channels: Row[] = [];
    const notes = [...odd];
    for (const graph of root.children.filter(({ name }) => name === "graph")) {
      const id = wholeNumber(graph, "id");
      const told = wholeNumber(graph, "nchannels");
      const own = graph.children.filter(({ name }) => name === "channel");
      if (told !== null && told !== own.length) {
        notes.push(
          `Graph ${id}: nchannels is ${told}, but ${own.length} channels follow (line ${graph.line}).`,
        );
      }
      graphs.push({
        graph: id,
        pattern: PATTERN_NAMES[graph.attributes.pattern ?? ""] ?? graph.attributes.pattern ?? null,
        channels: told,
        intra_gbps: numberIn(graph.attributes.speedintra ?? ""),
        inter_gbps: numberIn(graph.attributes.speedinter ?? ""),
        intra_type: graph.attributes.typeintra ?? null,
        inter_type: graph.attributes.typeinter ?? null,
        cross_nic: wholeNumber(graph, "crossnic"),
        same_channels: wholeNumber(graph, "samechannels"),
      });
      own.forEach((channel, number) => {
        channel.children.forEach((stop, position) => {
          channels.push({
            graph: id,
            channel: number,
            position,
            kind: stop.name,
            device: wholeNumber(stop, "dev"),
          });
        });
      });
    }
    if (graphs.length === 0) throw new P2pError("import", "the file holds no graph", HINT);
    const origin = { machine: null, date: null };
    notes.push(
      "Rates are what NCCL's model assumes per channel (GB/s of 1e9 bytes/s), not measured.",
      "The file says neither when it was written nor on which machine.",
    );
    return new Imported({
      format: graphImporter.format,
      title: graphImporter.title,
      version: root.attributes.version ?? null,
      tables: filled({ graphs: recordsTable(graphs, origin), channels: recordsTable(channels, origin) }),
      notes,
      source,
    });
  },
};

const PATTERN_NAMES: Readonly<Record<string, string>> = {
  "1": "balanced tree",
  "2": "split tree",
  "3": "tree",
  "4": "ring",
  "5": "NVLS",
  "6": "CollNet direct",
};

/** Name of the first element, past declarations and comments; null where there is none. */
export function rootOf(text: string): string | null {
  const start = text.replace(/<!--[\s\S]*?-->/g, "").trimStart();
  return (
    /^(?:<\?[^>]{0,300}\?>\s*)?(?:<![^>]{0,300}>\s*)?<([A-Za-z_][\w.-]{0,60})[\s/>]/.exec(start)?.[1] ?? null
  );
}

function wrongRoot(root: Element, due: string): P2pError {
  return new P2pError("import", `the root element is "${root.name.slice(0, 40)}", not "${due}"`, HINT);
}

function devicesBelow(
  element: Element,
  parent: string | null,
  cpu: Element,
  devices: Row[],
  links: Row[],
): void {
  const busid = element.attributes.busid ?? null;
  const own = element.name === "cpu" ? `cpu${element.attributes.numaid ?? ""}` : busid;
  if (element.name === "cpu" || element.name === "pci") {
    const gpu = element.children.find(({ name }) => name === "gpu");
    const nets = element.children.filter(({ name }) => name === "nic").flatMap((nic) => nic.children);
    devices.push({
      kind: gpu ? "gpu" : element.name === "cpu" ? "cpu" : nets.length > 0 ? "nic" : "pci",
      id: own,
      parent,
      numa: wholeNumber(cpu, "numaid"),
      class: element.attributes.class ?? null,
      vendor: element.attributes.vendor ?? null,
      link_speed: element.attributes.link_speed || null,
      link_width: wholeNumber(element, "link_width"),
      device: gpu ? wholeNumber(gpu, "dev") : null,
      rank: gpu ? wholeNumber(gpu, "rank") : null,
      sm: gpu ? wholeNumber(gpu, "sm") : null,
      gdr: gpu ? wholeNumber(gpu, "gdr") : null,
    });
    for (const net of nets) links.push(netOf(net, own));
    for (const link of gpu?.children ?? []) {
      if (link.name !== "nvlink" && link.name !== "xgmi" && link.name !== "c2c") continue;
      links.push({
        kind: link.name,
        from: own,
        to: link.name === "c2c" ? "cpu" : (link.attributes.target ?? null),
        count: wholeNumber(link, "count"),
        target_class: link.attributes.tclass ?? null,
        gbps: numberIn(link.attributes.bw ?? ""),
      });
    }
  } else if (element.name === "nic") {
    for (const net of element.children) links.push(netOf(net, parent));
  }
  for (const child of element.children) {
    if (child.name === "pci" || (element.name === "cpu" && child.name === "nic")) {
      devicesBelow(child, own, cpu, devices, links);
    }
  }
}

/** A network interface: its speed is in Mb/s. */
function netOf(net: Element, from: string | null): Row {
  const megabits = numberIn(net.attributes.speed ?? "");
  return {
    kind: "net",
    from,
    to: net.attributes.name ?? null,
    count: null,
    target_class: null,
    gbps: megabits === null ? null : megabits / 8000,
  };
}

/** Pairs whose two ends name different counts of links: a link is down, or the file was made by hand. */
function asymmetries(links: readonly Row[]): string[] {
  const counts = new Map<string, Row>();
  for (const link of links)
    if (link.kind === "nvlink" || link.kind === "xgmi") counts.set(`${link.from} ${link.to}`, link);
  return [...counts.values()].flatMap((link) => {
    const back = counts.get(`${link.to} ${link.from}`);
    return back && String(link.from) < String(link.to) && back.count !== link.count
      ? [`${link.from} and ${link.to}: ${link.count} links one way, ${back.count} the other.`]
      : [];
  });
}
