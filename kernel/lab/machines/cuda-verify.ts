import { P2pError } from "../errors.js";
import type { Verification } from "../machine.js";
import type { NativeExecutor } from "../native.js";
import type { Program } from "../program.js";
import { DEADLINE_MS } from "./cuda-calls.js";

/**
 * Runs one iteration and has its bytes checked; of a program that moves none, only that it ends.
 * @throws P2pError `verification` when a byte did not arrive: then nothing is timed.
 */
export async function verify(executor: NativeExecutor, program: Program): Promise<Verification> {
  const checks = await executor.verify(DEADLINE_MS);
  if (checks.length === 0) {
    return {
      state: "ok",
      checkedBytes: 0,
      wrongBytes: 0,
      sentinelBytes: 0,
      detail: "the program moves no bytes: one iteration ran to its end, and there is nothing to verify",
    };
  }
  const checkedBytes = checks.reduce((sum, check) => sum + check.bytes, 0);
  const failed = checks.find((check) => check.wrongByOwner > 0 || check.wrongByReadBack > 0);
  if (!failed) {
    return {
      state: "ok",
      checkedBytes,
      wrongBytes: 0,
      sentinelBytes: 0,
      detail: `${checkedBytes} bytes right, seen by the owner of each destination and by a host read-back through it`,
    };
  }
  const buffer = program.data.buffers[failed.buffer]?.name;
  const wrong = Math.max(failed.wrongByOwner, failed.wrongByReadBack);
  const never =
    failed.sentinelBytes === failed.bytes ? "nothing arrived" : `${failed.sentinelBytes} were never written`;
  throw new P2pError(
    "verification",
    `${wrong} of ${failed.bytes} bytes of buffer "${buffer}" are wrong after one iteration (first at offset ${failed.firstWrong}; ` +
      `owner counts ${failed.wrongByOwner}, host read-back ${failed.wrongByReadBack}; ${never}). No numbers are given.`,
    "Run the same program with .peerAccess(false): if that passes, the direct path is broken; look at the IOMMU (iommu=pt), PCIe ACS, and whether the GPUs are passed into a VM.",
  );
}
