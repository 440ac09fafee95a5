import type { NvmlFacts, NvmlLinkCounters, NvmlState } from "../native-nvml.js";
import { foreignProcesses, isIdle, type Reading } from "./cuda-state.js";

/** A clock that falls by more than this share during a run was not the same clock for all samples. */
const CLOCK_FALL = 0.05;

/** Clocks events that slow a GPU down; the others are idleness and clocks that someone chose. */
const THROTTLES = new Set([
  "sw_power_cap",
  "hw_slowdown",
  "sync_boost",
  "sw_thermal_slowdown",
  "hw_thermal_slowdown",
  "hw_power_brake_slowdown",
]);

/**
 * What happened to the GPUs between two readings that a reader of the samples must know: taint, not silence. The samples
 * are kept. Readings of an idle GPU say nothing of its clocks and its PCIe link, and do not count for these.
 */
export function taints(before: readonly Reading[], after: readonly Reading[]): string[] {
  return after.flatMap((late, index) => {
    const early = before[index];
    if (early === undefined || early.gpu !== late.gpu) return [];
    return [
      ...throttled(early, late),
      ...clocks(early, late),
      ...pcie(early, late),
      ...nvlink(early, late),
      ...increase(
        "ecc",
        late.gpu,
        early.state.eccUncorrected,
        late.state.eccUncorrected,
        "uncorrected ECC error",
      ),
      ...shared(early, late),
    ];
  });
}

function throttled(early: Reading, late: Reading): string[] {
  const active = (state: NvmlState) => (state.events ?? []).filter((event) => THROTTLES.has(event));
  const [first, last] = [active(early.state), active(late.state)];
  return [...new Set([...first, ...last])].map((event) => {
    const when = !first.includes(event) ? "after" : !last.includes(event) ? "before" : "before and after";
    return `throttled: GPU ${late.gpu} had its clocks held down ${when} the run (${event})`;
  });
}

function clocks(early: Reading, late: Reading): string[] {
  if (isIdle(early.state) || isIdle(late.state)) return [];
  return (["smClockMhz", "memoryClockMhz"] as const).flatMap((clock) => {
    const [first, last] = [early.state[clock], late.state[clock]];
    if (first === null || last === null || last >= first * (1 - CLOCK_FALL)) return [];
    const name = clock === "smClockMhz" ? "SM" : "memory";
    return [`clock: the ${name} clock of GPU ${late.gpu} fell from ${first} to ${last} MHz during the run`];
  });
}

function pcie(early: Reading, late: Reading): string[] {
  const { gpu, facts } = late;
  const told = increase("pcie", gpu, early.state.pcieReplays, late.state.pcieReplays, "PCIe replay");
  if (isIdle(late.state)) return told;
  const most = (fact: "maxPcieGeneration" | "maxPcieWidth") => limit(facts, fact);
  const compare = (what: string, first: number | null, last: number | null, max: number | null) => {
    if (last === null) return;
    if (first !== null && first !== last && !isIdle(early.state)) {
      told.push(`pcie: the PCIe ${what} of GPU ${gpu} changed from ${first} to ${last} during the run`);
    } else if (max !== null && last < max) {
      told.push(`pcie: GPU ${gpu} runs at PCIe ${what} ${last} under load, where ${max} is possible`);
    }
  };
  compare("generation", early.state.pcieGeneration, late.state.pcieGeneration, most("maxPcieGeneration"));
  compare("width", early.state.pcieWidth, late.state.pcieWidth, most("maxPcieWidth"));
  return told;
}

function limit(facts: NvmlFacts | string, which: "maxPcieGeneration" | "maxPcieWidth"): number | null {
  return typeof facts === "string" ? null : facts[which];
}

type ErrorCounter = "replayErrors" | "recoveryErrors" | "crcErrors" | "receiveErrors";

function nvlink(early: Reading, late: Reading): string[] {
  const told: string[] = [];
  const errors = {
    replayErrors: ["NVLink replay", "NVLink replays"],
    recoveryErrors: ["NVLink recovery", "NVLink recoveries"],
    crcErrors: ["NVLink CRC error", "NVLink CRC errors"],
    receiveErrors: ["NVLink receive error", "NVLink receive errors"],
  } as const;
  for (const [counter, [one, many]] of Object.entries(errors) as [ErrorCounter, [string, string]][]) {
    const links = grown(early.state.links, late.state.links, counter);
    if (links.length === 0) continue;
    const count = links.reduce((sum, { by }) => sum + by, 0);
    const which = links.map(({ link }) => link).join(", ");
    told.push(`nvlink: GPU ${late.gpu} had ${several(count, one, many)} during the run (link ${which})`);
  }
  const down = early.state.links.flatMap(({ link, active }) =>
    active && late.state.links.find((other) => other.link === link)?.active === false ? [link] : [],
  );
  if (down.length > 0) {
    told.push(
      `nvlink: GPU ${late.gpu} lost ${several(down.length, "NVLink", "NVLinks")} during the run (link ${down.join(", ")})`,
    );
  }
  return told;
}

function grown(
  early: readonly NvmlLinkCounters[],
  late: readonly NvmlLinkCounters[],
  counter: ErrorCounter,
): { link: number; by: number }[] {
  const first = new Map(early.map((link) => [link.link, link[counter]]));
  return late.flatMap((link) => {
    const by = (link[counter] ?? 0) - (first.get(link.link) ?? link[counter] ?? 0);
    return by > 0 ? [{ link: link.link, by }] : [];
  });
}

function shared(early: Reading, late: Reading): string[] {
  const count = (state: NvmlState) => {
    const told = foreignProcesses(state);
    return typeof told === "string" ? 0 : told;
  };
  const foreign = Math.max(count(early.state), count(late.state));
  if (foreign === 0) return [];
  return [
    `shared: ${several(foreign, "other process", "other processes")} had work on GPU ${late.gpu} during the run`,
  ];
}

/** A counter that grew between the readings. One that fell was reset, and tells nothing. */
function increase(
  kind: string,
  gpu: number,
  first: number | null,
  last: number | null,
  what: string,
): string[] {
  if (first === null || last === null || last <= first) return [];
  return [`${kind}: GPU ${gpu} had ${several(last - first, what, `${what}s`)} during the run`];
}

function several(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
