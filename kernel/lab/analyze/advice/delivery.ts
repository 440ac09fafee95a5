/** That a program delivers what a workload asks for. */
import { dataflow } from "../../dataflow.js";
import { P2pError } from "../../errors.js";
import type { Program } from "../../program.js";
import { namesOf } from "./build.js";
import type { Workload } from "./workload.js";

/**
 * Follows one iteration of a program (see {@link dataflow}; what machines check is the same) and looks for every byte of
 * every message, from its own source, in its own place.
 * @throws P2pError `program` naming a message that does not arrive whole.
 */
export function requireDelivery(program: Program, { routes, steps }: Workload): void {
  const { sources, checks } = dataflow(program);
  for (const [index, message] of steps.flat().entries()) {
    const [src, dst] = namesOf(message.route);
    const seed = sources.find(({ buffer }) => buffer === src)?.seed;
    const end = message.offset + message.bytes;
    const arrived = checks
      .filter((check) => check.buffer === dst && check.seed === seed && check.patternOffset === check.offset)
      .reduce(
        (sum, { offset, bytes }) =>
          sum + Math.max(0, Math.min(end, offset + bytes) - Math.max(message.offset, offset)),
        0,
      );
    if (arrived === message.bytes) continue;
    const { from, to } = routes[message.route] as Workload["routes"][number];
    throw new P2pError(
      "program",
      `of message ${index} (${from} → ${to}) ${arrived} of ${message.bytes} bytes arrive`,
      "Report this plan: it would not move what it should.",
    );
  }
}
