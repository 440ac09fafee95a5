import { P2pError } from "../errors.js";
import { Imported, type Importer } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { numberIn } from "./number.js";
import { entryOf, recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

const SHMOO =
  /^bandwidthTest-(\S{1,30}), Bandwidth = ([\d.]{1,20}) GB\/s, Time = ([\d.]{1,20}) s, Size = (\d{1,15}) bytes, NumDevsUsed = (\d{1,4})/;

const DIRECTIONS: Readonly<Record<string, readonly [string, string]>> = {
  H2D: ["host", "gpu"],
  D2H: ["gpu", "host"],
  D2D: ["gpu", "gpu"],
};

/** CSV lines of bandwidthTest of the CUDA samples (`--csv`, also in shmoo mode). */
export const bandwidthTestImporter: Importer = {
  format: "bandwidthTest",
  title: "output of bandwidthTest",
  detect(head) {
    const text = headText(head);
    if (/^bandwidthTest-\S{1,30}, Bandwidth = /m.test(text)) return 0.97;
    return /^\[CUDA Bandwidth Test\] - Starting/m.test(text) ? 0.9 : 0;
  },
  async read(source) {
    const { lines, notes } = await textOf(source);
    const rows = lines.flatMap((line) => {
      const [, what, gbps, seconds, bytes, devices] = SHMOO.exec(line) ?? [];
      if (what === undefined) return [];
      const [direction = "", memory = null] = what.split("-");
      const [from = null, to = null] = entryOf(DIRECTIONS, direction) ?? [];
      return [
        {
          direction,
          from,
          to,
          memory: memory?.toLowerCase() ?? null,
          bytes: Number(bytes),
          gbps: numberIn(gbps as string),
          time_us: Number(seconds) > 0 ? Number(seconds) * 1e6 : null,
          devices: Number(devices),
        },
      ];
    });
    if (rows.length === 0) {
      throw new P2pError(
        "import",
        "no line with a bandwidth",
        "Run bandwidthTest with --csv, in shmoo mode for several sizes.",
      );
    }
    const gpus = lines.flatMap((line) => /^\s*Device \d{1,4}: (.{1,200})$/.exec(line)?.[1]?.trim() ?? []);
    return new Imported({
      format: bandwidthTestImporter.format,
      title: bandwidthTestImporter.title,
      tables: { results: recordsTable(rows, { machine: machineOf(gpus), date: null }) },
      notes: [
        ...notes,
        "Times were printed to 10 µs: of small sizes the bandwidth alone is of use, to 0.1 GB/s; a time of 0 is null.",
        "D2D is a copy within one GPU: reading and writing are counted both. GB/s are 1e9 bytes/s.",
        "The output does not say when it was run.",
      ],
      source,
    });
  },
};

const COPY =
  /^(cpu|gpu\d{1,4})_(to|and)_(cpu|gpu\d{1,4})(?:_(write|read))?_by_(sm|dma)(?:_under_numa(\d{1,4}))?(?:[ ,:]+(\d{1,15}))?[ ,:]+([\d.]{1,20})\s*$/;

/** Lines of gpu_copy of superbenchmark: `gpu0_to_gpu1_write_by_dma 279.3`. */
export const gpuCopyImporter: Importer = {
  format: "gpu_copy",
  title: "output of superbenchmark's gpu_copy",
  detect: (head) =>
    /^(?:cpu|gpu\d{1,4})_(?:to|and)_(?:cpu|gpu\d{1,4})(?:_write|_read)?_by_(?:sm|dma)\b/m.test(headText(head))
      ? 0.97
      : 0,
  async read(source) {
    const { lines, notes: odd } = await textOf(source);
    let unread = 0;
    const rows = lines.flatMap((line): Record<string, Value>[] => {
      const found = COPY.exec(line);
      if (!found) {
        if (line.trim() !== "") unread++;
        return [];
      }
      const [, a, joined, b, operation, engine, numa, bytes, gbps] = found;
      return [
        {
          from: place(a as string),
          to: place(b as string),
          direction: joined === "and" ? "both" : "one",
          operation: operation ?? null,
          engine: engine === "sm" ? "SM" : "CE",
          numa: numa === undefined ? null : Number(numa),
          bytes: bytes === undefined ? null : Number(bytes),
          gbps: numberIn(gbps as string),
        },
      ];
    });
    if (rows.length === 0)
      throw new P2pError("import", "no line with a bandwidth", "Give what gpu_copy printed.");
    return new Imported({
      format: gpuCopyImporter.format,
      title: gpuCopyImporter.title,
      tables: { results: recordsTable(rows, { machine: null, date: null }) },
      notes: [
        ...odd,
        ...(unread > 0 ? [`Lines that are none of gpu_copy, left out: ${unread}.`] : []),
        "gbps of direction both is the sum of both directions; GB/s of 1e9 bytes/s.",
        "The output says neither the machine nor when it was run; older versions not the size either.",
      ],
      source,
    });
  },
};

function place(word: string): string {
  return word === "cpu" ? "host" : word;
}
