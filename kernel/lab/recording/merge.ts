import { messageOf, P2pError } from "../errors.js";
import { readRegularFile, writeFileAtomic } from "../files.js";
import type { MachineInfo } from "../machine.js";
import { decodeRecording, encodeRecording, type Recording, runKey } from "./format.js";

/** The same GPUs in the same slots; a name would not do, since it tells what the links are as long as NVML answers. */
export function sameGpus(a: MachineInfo, b: MachineInfo): boolean {
  const list = (info: MachineInfo) => info.gpus.map((gpu) => `${gpu.name} ${gpu.pci}`).join("\n");
  return list(a) === list(b);
}

/**
 * Puts recordings of one machine into one file. Of a program that several hold, traced alike, the last one's run is kept; the
 * machine is described as the last recording does.
 * @param files recordings, in the order in which they were made.
 * @returns number of programs written.
 * @throws P2pError `recording` when they are of different machines or there is none; `output` when `out` cannot be written.
 */
export function mergeRecordings(files: readonly string[], out: string): number {
  if (!Array.isArray(files) || files.some((file) => typeof file !== "string") || typeof out !== "string") {
    throw new P2pError(
      "usage",
      "mergeRecordings takes a list of files and the file to write",
      'lab.mergeRecordings(["a.arrow", "b.arrow"], "NAME-YYYY-MM-DD.arrow").',
    );
  }
  const recordings = files.map(read);
  const last = recordings.at(-1);
  if (!last) throw new P2pError("recording", "there are no recordings to merge", "Name one file or more.");
  const other = recordings.find((recording) => !sameGpus(recording.info, last.info));
  if (other) throw differentMachines(other, last);
  const runs = new Map(
    recordings.flatMap(({ runs }) =>
      runs.map((run) => [runKey(run.program.hash, run.traceKind, run.mode), run] as const),
    ),
  );
  writeFileAtomic(out, encodeRecording({ ...last, runs: [...runs.values()] }));
  return runs.size;
}

function read(file: string): Recording {
  let bytes: Buffer;
  try {
    bytes = readRegularFile(file);
  } catch (error) {
    throw new P2pError("recording", `${file} cannot be read: ${messageOf(error)}`, "Check the path.");
  }
  return decodeRecording(bytes, file);
}

/** Why runs of two machines cannot be kept together. */
export function differentMachines(
  a: Pick<Recording, "provenance">,
  b: Pick<Recording, "provenance">,
): P2pError {
  return new P2pError(
    "recording",
    `a recording holds one machine, but runs came from ${a.provenance.machine} and ${b.provenance.machine}`,
    "Record each machine into a file of its own.",
  );
}
