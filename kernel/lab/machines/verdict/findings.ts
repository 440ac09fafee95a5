/** From what a rung of the ladder saw to what it means. Pure: no GPU, no process. */
import type { NativeCheck } from "../../native.js";
import type { Outcome, Stage } from "../../verdict.js";

/** What one rung found; null: it holds. */
export interface Finding {
  readonly outcome: Exclude<Outcome, "ok">;
  readonly stage: Stage;
  readonly reason: string;
  /** Whether the process that found it may have work in flight or a dead context, and must not go on. */
  readonly poisoned: boolean;
}

/** The fields of an error of the addon. */
export interface AddonError {
  readonly message: string;
  readonly hint?: string;
  readonly code?: string;
  readonly result?: number;
  readonly resultName?: string;
  readonly call?: string;
}

const OUT_OF_MEMORY = 2;
const NOT_READY = 600;

/** Results of granting access that say that there is none to be had; others say that something else is wrong. */
const NO_MAPPING: readonly number[] = [101, 205, 217, 711, 801];
/** Results with which a GPU that touches a memory it cannot reach ends: faults, uncorrectable memory and link errors. */
const FAULTS: readonly number[] = [214, 220, 700, 702, 714, 715, 716, 717, 718, 719];

/**
 * What the owner found after a transfer.
 * @param destination what stands in the memory of the receiving GPU.
 * @param writersView the same as the writer reads it back through its window; null where nobody did.
 */
export function findingOfBytes(
  stage: Stage,
  destination: NativeCheck,
  writersView: NativeCheck | null,
): Finding | null {
  const { bytes, wrongByOwner, wrongByReadBack, sentinelBytes, firstWrong } = destination;
  if (wrongByOwner === 0 && wrongByReadBack === 0) return null;
  const found = (outcome: Finding["outcome"], reason: string): Finding => ({
    outcome,
    stage,
    reason,
    poisoned: true,
  });
  if (wrongByReadBack > 0 && sentinelBytes === bytes) {
    const mirrored = writersView !== null && writersView.wrongByReadBack === 0;
    return mirrored
      ? found(
          "mirror",
          `the writer reads back all ${bytes} bytes that it wrote, but the GPU that owns the memory still sees what stood there before`,
        )
      : found("broken", `never written: all ${bytes} bytes still hold what stood there before`);
  }
  if (wrongByReadBack === 0) {
    return found(
      "broken",
      `corrupt: a kernel of the owner sees ${wrongByOwner} of ${bytes} bytes wrong, though the host reads all of them right`,
    );
  }
  const untouched = sentinelBytes > 0 ? ` (${sentinelBytes} as if never written)` : "";
  return found(
    "broken",
    `corrupt: ${wrongByReadBack} of ${bytes} bytes wrong${untouched}, the first at offset ${firstWrong}`,
  );
}

/** What an error of the addon means at a rung. */
export function findingOfError(stage: Stage, error: AddonError): Finding {
  const { code, result, call = "" } = error;
  const found = (outcome: Finding["outcome"], reason: string, poisoned: boolean): Finding => ({
    outcome,
    stage,
    reason,
    poisoned,
  });
  if (code !== "cuda" || result === undefined) return found("inconclusive", textOf(error), false);
  if (result === OUT_OF_MEMORY)
    return found("inconclusive", `no memory for the probe: ${error.message}`, false);
  if (result === NOT_READY) return found("hang", `not complete by its deadline (${call})`, true);
  if (FAULTS.includes(result)) return found("broken", `the access ends in an error: ${error.message}`, true);
  if (/PeerAccess|SetAccess/.test(call)) {
    return NO_MAPPING.includes(result)
      ? found("no-p2p", `the driver grants no access: ${textOf(error)}`, false)
      : found("inconclusive", textOf(error), true);
  }
  if (call.startsWith("cuMemcpy") && result === 801) {
    return found("no-p2p", `the driver refuses to copy between these GPUs: ${textOf(error)}`, false);
  }
  return found("inconclusive", textOf(error), true);
}

function textOf({ message, hint }: AddonError): string {
  return hint ? `${message}. ${hint.replace(/\.$/, "")}` : message;
}
