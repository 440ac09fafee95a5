import { P2pError } from "../errors.js";
import { Imported, type Importer } from "./importer.js";
import { numberIn } from "./number.js";
import { filled, recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

const HINT =
  "Give what a program printed under NCCL_DEBUG=INFO; NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING tells most.";

const PATTERNS: Readonly<Record<string, string>> = {
  "1": "balanced tree",
  "2": "split tree",
  "3": "tree",
  "4": "ring",
  "5": "NVLS",
  "6": "CollNet direct",
};

/** Algorithms and protocols by the numbers that old versions print. */
const ALGORITHMS = ["TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"];
const PROTOCOLS = ["LL", "LL128", "SIMPLE"];

type Row = Record<string, Value>;

/** The log of NCCL (and RCCL) under NCCL_DEBUG=INFO or WARN. */
export const importer: Importer = {
  format: "nccl-log",
  title: "log of NCCL",
  detect(head) {
    const text = headText(head);
    const found = text.match(/\b(?:NCCL|RCCL) (?:INFO|WARN|TRACE) /g)?.length ?? 0;
    return found >= 3 ? 0.9 : found > 0 ? 0.8 : /^\s*NCCL version \d/m.test(text) ? 0.5 : 0;
  },
  async read(source) {
    const { lines, notes: odd } = await textOf(source);
    const log = new Reader();
    for (const line of lines) log.line(line);
    if (log.count === 0 && log.versions.size === 0)
      throw new P2pError("import", "no line of NCCL's log", HINT);
    const origin = { machine: log.machine(), date: log.date };
    const notes = [...odd, ...log.notes()];
    if (origin.date === null) notes.push("The lines have no time.");
    return new Imported({
      format: importer.format,
      title: importer.title,
      version: [...log.versions].join(", ") || null,
      tables: filled({
        channels: recordsTable(log.channels.rows, origin),
        communicators: recordsTable(log.communicators.rows, origin),
        nodes: recordsTable(log.nodes.rows, origin),
        links: recordsTable(log.links.rows, origin),
        paths: recordsTable(log.paths.rows, origin),
        graphs: recordsTable(log.graphs.rows, origin),
        choices: recordsTable(log.choices.rows, origin),
        calls: recordsTable(log.calls.rows, origin),
        settings: recordsTable(log.settings.rows, origin),
        warnings: recordsTable(log.warnings.rows, origin),
        subjects: recordsTable(log.subjects(), origin),
      }),
      notes,
      source,
    });
  },
};

/** Rows that several ranks print alike are kept once. */
class Once {
  readonly rows: Row[] = [];
  readonly #seen = new Set<string>();

  add(row: Row): void {
    const key = JSON.stringify(row);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.rows.push(row);
  }
}

class Reader {
  readonly channels = new Once();
  readonly communicators = new Once();
  readonly nodes = new Once();
  readonly links = new Once();
  readonly paths = new Once();
  readonly graphs = new Once();
  readonly choices = new Once();
  readonly calls = new Once();
  readonly settings = new Once();
  readonly warnings = new Once();
  readonly versions = new Set<string>();
  date: string | null = null;
  count = 0;
  readonly #hosts = new Set<string>();
  readonly #subjects = new Map<string, number>();
  /** By process: nodes of the topology block that others may hang from, with the indentation of what does. */
  readonly #above = new Map<string, { node: string; indent: number }[]>();

  line(line: string): void {
    const version = /\bNCCL version (\d[\w.+-]{0,40})/.exec(line)?.[1];
    if (version) this.versions.add(version);
    const at = /\b(?:NCCL|RCCL) (INFO|WARN|TRACE|CALL|ABORT) (.*)$/.exec(line);
    if (!at) return;
    this.count++;
    const before = line.slice(0, at.index);
    const [, host = null, pid = "", tid = "", device = null] =
      /([\w.-]{1,128}):(\d{1,10}):(\d{1,10}) (?:\[(\d{1,5})\] )?(?:\S{1,100} )?$/.exec(before.slice(-400)) ??
      [];
    const [, day, time] =
      /\[(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?\]/.exec(before.slice(0, 400)) ?? [];
    const when = day ? `${day}T${time}` : null;
    this.date ??= when;
    // Within a line of other output the name may run together with what stands before it.
    if (host !== null && /^\s*(?:\[[^\]]{1,40}\] )?[\w.-]{1,128}:\d/.test(before)) this.#hosts.add(host);
    const text = at[2] as string;
    if (at[1] === "WARN" || at[1] === "ABORT") {
      this.warnings.add({ time: when, host, device: numberOrNull(device), text: text.trim().slice(0, 500) });
      return;
    }
    this.#info(text, `${host}:${pid}:${tid}`, numberOrNull(device));
  }

  #info(text: string, process: string, device: number | null): void {
    const words = text.trim();
    const subject =
      this.#channel(words) ??
      this.#communicator(words) ??
      this.#topology(text, process) ??
      this.#graph(words) ??
      this.#choice(words) ??
      this.#call(words) ??
      this.#setting(words, device) ??
      "other";
    this.#subjects.set(subject, (this.#subjects.get(subject) ?? 0) + 1);
  }

  /** `Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM/read`; `Ring 00 : 0[0] -> 1[1] via …` of old versions. */
  #channel(text: string): string | null {
    const found =
      /^(Channel|Ring) (\d{1,5})(?:\/(\d{1,5}))? : (\d{1,7})(?:\[([\da-fA-F]{1,12})\])? -> (\d{1,7})(?:\[([\da-fA-F]{1,12})\])?(?: \[(send|receive)\])? via (\S.{0,120})$/.exec(
        text,
      );
    if (!found) return null;
    const [, , channel, connection, from, fromDevice, to, toDevice, , via] = found as unknown as string[];
    const transport = (via as string).replace(/ comm 0x.*$/, "").trim();
    this.channels.add({
      channel: Number(channel),
      connection: connection === undefined ? null : Number(connection),
      from_rank: Number(from),
      to_rank: Number(to),
      from_device: fromDevice ?? null,
      to_device: toDevice ?? null,
      transport: /^direct shared memory/i.test(transport)
        ? "SHM"
        : (/^[A-Z\d]+/.exec(transport)?.[0] ?? transport),
      via: transport,
      read: /\/read\b/i.test(transport),
    });
    return "channel";
  }

  #communicator(text: string): string | null {
    const found =
      /comm (0x[\da-f.]{1,18}|0x\.\.\.) rank (\d{1,7}) nranks (\d{1,7}) cudaDev (\d{1,5})(?: nvmlDev (\d{1,5}))?(?: busId (\w{1,16}))?(?: commId \S{1,24})? - (Init START|Init COMPLETE|Destroy COMPLETE|Abort COMPLETE)/.exec(
        text,
      );
    if (!found) return null;
    const [, , rank, ranks, cuda, nvml, bus, state] = found as unknown as string[];
    this.communicators.add({
      rank: Number(rank),
      ranks: Number(ranks),
      cuda_device: Number(cuda),
      nvml_device: nvml === undefined ? null : Number(nvml),
      bus_id: bus ?? null,
      state: state as string,
    });
    return "communicator";
  }

  /** The block between `=== System` and `====`, and the rows of paths below it. */
  #topology(raw: string, process: string): string | null {
    const text = raw.trimEnd();
    if (/^=== System : /.test(text)) {
      this.#above.set(process, []);
      return "topology";
    }
    if (/^=+$/.test(text)) return "topology";
    const root = /^(CPU\/\S{1,60})(?: \((\S{0,60})\))?$/.exec(text);
    if (root) {
      this.#above.set(process, [{ node: root[1] as string, indent: 0 }]);
      this.nodes.add({ node: root[1] as string, kind: "CPU", rank: null });
      return "topology";
    }
    const link =
      /^( *)\+ ([A-Z\d]{2,6})\[([\d.]{1,12})\] - ([A-Z\d]{2,6}\/\S{1,60})(?: \((.{0,80})\))?\s*$/.exec(text);
    if (link) {
      const [, blanks, kind, gbps, node, facts] = link as unknown as string[];
      const chain = this.#above.get(process) ?? [];
      const indent = (blanks as string).length;
      while (chain.length > 0 && (chain.at(-1)?.indent ?? 0) > indent) chain.pop();
      this.links.add({
        from: chain.at(-1)?.node ?? null,
        to: node as string,
        kind: kind as string,
        gbps: numberIn(gbps as string),
      });
      if (kind === "PCI" || kind === "NET") {
        const is = (node as string).split("/")[0] as string;
        this.nodes.add({
          node: node as string,
          kind: is,
          rank: is === "GPU" ? numberOrNull(facts ?? null) : null,
        });
        // What hangs from it is printed where its own name begins.
        chain.push({ node: node as string, indent: indent + text.trimStart().indexOf(" - ") + 3 });
      }
      return "topology";
    }
    const path = /^((?:GPU|NET|NVS|NIC)\/\S{1,60}) :(.+)$/.exec(text);
    if (!path) return null;
    let found = false;
    for (const [, to, hops, gbps, type] of (path[2] as string)
      .slice(0, 200_000)
      .matchAll(
        /((?:GPU|NET|NVS|NIC|CPU|PCI|GIN)\/[^\s(]{1,60}) \((\d{1,4})\/([\d.]{1,12})\/([A-Z\d]{2,4})\)/g,
      )) {
      found = true;
      this.paths.add({
        from: path[1] as string,
        to: to as string,
        hops: Number(hops),
        gbps: numberIn(gbps as string),
        type: type as string,
      });
    }
    return found ? "path" : null;
  }

  #graph(text: string): string | null {
    const found =
      /^Pattern (\d{1,3}), crossNic (\d{1,3}), nChannels (\d{1,4}), (?:bw|speed) ([\d.]{1,14})\/([\d.]{1,14})(?:, nvlink \d)?, type (\w{1,4})(?:\/(\w{2,4}))?(?:, sameChannels (\d))?/.exec(
        text,
      );
    if (found) {
      const [, pattern, cross, channels, intra, inter, typeIntra, typeInter, same] =
        found as unknown as string[];
      this.graphs.add({
        pattern: PATTERNS[pattern as string] ?? (pattern as string),
        channels: Number(channels),
        intra_gbps: numberIn(intra as string),
        inter_gbps: numberIn(inter as string),
        intra_type: typeIntra as string,
        inter_type: typeInter ?? null,
        cross_nic: Number(cross),
        same_channels: same === undefined ? null : Number(same),
      });
      return "graph";
    }
    if (/^\d{1,4} :(?: (?:GPU|NET)\/\S{1,40})+$/.test(text)) return "graph";
    return /^(?:Trees? |Ring \d|Connected all|Channel \d{1,4}\/\d{1,4} :|\d+ coll channels)/.test(text)
      ? "ring or tree"
      : null;
  }

  /** What the tuner chose for a size. */
  #choice(text: string): string | null {
    const found = /^(\w{2,30}): (\d{1,18}) Bytes -> Algo (\w{1,20}) proto (\w{1,12})(.{0,80})$/.exec(text);
    if (!found) return null;
    const [, collective, bytes, algorithm, protocol, rest] = found as unknown as string[];
    const channels = /channel\{Lo\.\.Hi\}=\{(\d{1,4})\.\.(\d{1,4})\}/.exec(rest as string);
    this.choices.add({
      collective: collective as string,
      bytes: Number(bytes),
      algorithm: ALGORITHMS[Number(algorithm)] ?? (algorithm as string),
      protocol: PROTOCOLS[Number(protocol)] ?? (protocol as string),
      channels: channels ? Number(channels[2]) - Number(channels[1]) + 1 : null,
      predicted_us: numberIn(/time ([\d.]{1,20})/.exec(rest as string)?.[1] ?? ""),
    });
    return "tuning";
  }

  /** Collectives as the program called them, each kind and count once. */
  #call(text: string): string | null {
    const found =
      /^(\w{2,30}): opCount [\da-f]{1,16} .{0,200}?\bcount (\d{1,18}) datatype (\d{1,3}) op (\d{1,3}) root (\d{1,9})/.exec(
        text,
      );
    if (!found) return null;
    this.calls.add({
      collective: found[1] as string,
      count: Number(found[2]),
      datatype: Number(found[3]),
      root: Number(found[5]),
    });
    return "call";
  }

  #setting(text: string, device: number | null): string | null {
    const found = /^(NCCL_\w{1,60}) set (?:by environment )?to (.{0,200}?)\.?$/.exec(text);
    if (!found) return null;
    // Paths may name people and projects.
    const value = (found[2] as string).includes("/") ? "(a path, left out)" : (found[2] as string);
    this.settings.add({ variable: found[1] as string, value, device });
    return "setting";
  }

  subjects(): Row[] {
    return [...this.#subjects].map(([subject, lines]) => ({ subject, lines }));
  }

  /** Computers and ranks are all that a log tells of the machine. */
  machine(): string | null {
    const ranks = Math.max(0, ...this.communicators.rows.map((row) => row.ranks as number));
    return ranks === 0
      ? null
      : `${ranks} ranks on ${Math.max(1, this.#hosts.size)} computer${this.#hosts.size > 1 ? "s" : ""}`;
  }

  notes(): string[] {
    const notes = [
      "Rates of links, paths and graphs are what NCCL assumes for its model of the machine (GB/s of 1e9 bytes/s), not measured.",
      "Lines that several ranks print alike are taken once.",
    ];
    if (this.channels.rows.length > 0) {
      notes.push(
        "from_device and to_device are the bracket's text: an NVML index in newer versions, a PCI bus id in hexadecimal in older ones.",
      );
    } else {
      notes.push("No line says how ranks are joined (Channel … via …).");
    }
    if (this.graphs.rows.length === 0)
      notes.push("No graph: it is printed under NCCL_DEBUG_SUBSYS=GRAPH or ALL.");
    if (this.versions.size > 1) notes.push(`Several versions of NCCL: ${[...this.versions].join(", ")}.`);
    if (this.versions.size === 0) notes.push("The version of NCCL is not in the log.");
    const states = this.communicators.rows.map((row) => row.state);
    if (states.includes("Init START") && !states.includes("Init COMPLETE")) {
      notes.push(
        "No communicator came up: Init START without Init COMPLETE; the log is cut off, or the program failed.",
      );
    }
    if (this.warnings.rows.length > 0)
      notes.push(`NCCL warned: see the table warnings (${this.warnings.rows.length}).`);
    return notes;
  }
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : numberIn(text);
}
