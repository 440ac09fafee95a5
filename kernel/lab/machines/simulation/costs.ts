import type { Generation } from "../../topology/topology.js";
import { AMPERE } from "./ampere.js";
import type { Costs } from "./constants.js";
import { HOPPER } from "./hopper.js";

/** Costs by generation of the GPU: the nearest that was measured. */
export const COSTS: Readonly<Record<Generation, Costs>> = {
  pascal: AMPERE,
  volta: AMPERE,
  turing: AMPERE,
  ampere: AMPERE,
  ada: AMPERE,
  hopper: HOPPER,
  blackwell: HOPPER,
};

const NAMES = { ampere: "Ampere", hopper: "Hopper" } as const;

/** What to say of a generation whose costs are another one's; null where they are its own. */
export function borrowedCosts(generation: Generation): string | null {
  if (generation in NAMES) return null;
  const as = COSTS[generation] === HOPPER ? NAMES.hopper : NAMES.ampere;
  const own = generation[0]?.toUpperCase() + generation.slice(1);
  return `What host, engines and kernels take is that of ${as}, the nearest that was measured: nothing of ${own} is published.`;
}
