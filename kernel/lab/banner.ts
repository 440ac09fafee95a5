/** What a first cell shows of a machine: what it is, how far its numbers can be trusted, what to do next. */
import type { MachineInfo, Provenance, ProvenanceKind } from "./machine.js";
import { escapeHtml, type MimeBundle, WORD_COLOURS } from "./rich.js";

const KINDS: Record<ProvenanceKind, { colour: string; says: string }> = {
  measured: {
    colour: WORD_COLOURS.good,
    says: "每个数字都在这台机器上现测 every number is measured here and now",
  },
  recorded: {
    colour: WORD_COLOURS.caution,
    says: "数字先前在真实机器上测好并录下 numbers were measured on a real machine earlier",
  },
  simulated: {
    colour: WORD_COLOURS.alarm,
    says: "数字来自模型，不是测量 numbers come from a model, not from a measurement",
  },
};

const NEXT = ["lab.help()", "lab.examples()", "lab.machines()"];

/** @param line the machine in one line. */
export function bannerOf(provenance: Provenance, info: MachineInfo, line: string): MimeBundle {
  const { colour, says } = KINDS[provenance.kind];
  const gpus = info.gpus.map((gpu) => `GPU ${gpu.index}: ${gpu.name}`);
  const access = accessText(info);
  const facts = Object.entries(info.facts).map(
    ([name, value]) => [name, String(value ?? "unknown")] as const,
  );
  const rows = [...facts, ["GPUs", gpus.join("; ")] as const, ["P2P", access] as const];
  const cells = rows.map(
    ([name, value]) =>
      `<tr><th style="text-align:left">${escapeHtml(name)}</th><td style="text-align:left">${escapeHtml(value)}</td></tr>`,
  );
  const next = NEXT.map((code) => `<code>${code}</code>`).join(" · ");
  return {
    "text/html": `<p><b style="color:${colour}">${provenance.kind}</b> · ${escapeHtml(provenance.machine)} · ${provenance.date.slice(0, 10)} · <code>${escapeHtml(provenance.source)}</code><br>${escapeHtml(says)}</p><table>${cells.join("")}</table><p>接下来 next: ${next}</p>`,
    "text/plain": [line, ...gpus, `P2P: ${access}`, says, `接下来 next: ${NEXT.join(" · ")}`].join("\n"),
  };
}

/** Peer access of all ordered pairs in a line, with the classes of their links. */
function accessText({ pairs }: MachineInfo): string {
  if (pairs.length === 0) return "没有第二块GPU no second GPU";
  const granted = pairs.filter((pair) => pair.peerAccess);
  const links = [...new Set(granted.map((pair) => pair.link).filter((link) => link !== null))];
  const named = links.length > 0 ? ` (${links.join(", ")})` : "";
  const refused = pairs.find((pair) => !pair.peerAccess);
  const why = refused?.reason ? `; ${refused.from}→${refused.to}: ${refused.reason}` : "";
  return `${granted.length}/${pairs.length}对可直接访问 ${granted.length} of ${pairs.length} ordered pairs have peer access${named}${why}`;
}
