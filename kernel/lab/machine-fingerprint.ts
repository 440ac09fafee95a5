import { createHash } from "node:crypto";
import { P2pError } from "./errors.js";
import type { MachineInfo } from "./machine.js";

/**
 * Twelve hexadecimal digits of what a machine is made of: its GPUs (name, memory, compute capability, copy engines), the link and
 * access of every pair, and the driver. Two machines with the same one can be expected to give the same figures; nothing in it tells
 * one such machine from another.
 * @throws P2pError `usage` for what is no description of a machine.
 */
export function fingerprint(info: MachineInfo): string {
  if (!Array.isArray(info?.gpus) || !Array.isArray(info.pairs) || !info.facts)
    throw new P2pError(
      "usage",
      "lab.fingerprint was given no description of a machine",
      "Give machine.info.",
    );
  const parts = [
    info.gpus.map((gpu) => [gpu.name, gpu.memoryBytes, gpu.computeCapability, gpu.copyEngines]),
    info.pairs.map((pair) => [pair.from, pair.to, pair.peerAccess, pair.link, pair.rawGbps]),
    info.facts.driver ?? null,
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 12);
}
