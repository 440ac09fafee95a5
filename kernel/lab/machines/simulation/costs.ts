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
