import { scaled } from "./columns.js";
import { numberIn } from "./number.js";
import { quantityOf } from "./quantity.js";
import type { Value } from "./records.js";

/** What `nvidia-smi nvlink` said of the links of each GPU; a row's `gpu` is null where no line above it names one. */
export interface Nvlink {
  /** Of `-s`: `active`, `link_gbps`. */
  readonly links: Record<string, Value>[];
  /** Of `-c`: `capability`, `supported`. */
  readonly capabilities: Record<string, Value>[];
  /** Of `-e`: `error`, and `count` or `bit_error_rate`. */
  readonly errors: Record<string, Value>[];
  /** Of `-gt`: `counter`, `bytes`. */
  readonly data: Record<string, Value>[];
  readonly gpus: Record<string, Value>[];
  readonly notes: string[];
  names(): string[];
}

/** Reads the lines of `nvidia-smi nvlink -s`, `-c`, `-e` and `-gt`: the GPU's line, then a line a link and fact. */
export function readNvlink(lines: readonly string[]): Nvlink {
  const reader = new Reader();
  for (let i = 0; i < lines.length; i++) reader.line(lines[i] as string, lines[i + 1] ?? "");
  return reader.end();
}

class Reader {
  readonly #links: Record<string, Value>[] = [];
  readonly #capabilities: Record<string, Value>[] = [];
  readonly #errors: Record<string, Value>[] = [];
  readonly #data: Record<string, Value>[] = [];
  readonly #gpus = new Map<number, { name: string; complaint: string | null }>();
  #gpu: number | null = null;
  #odd = 0;

  line(line: string, next: string): void {
    // Some take the UUID out; the name alone is a GPU's line where a link follows.
    const titled =
      /^\s*GPU (\d{1,4}): (.{1,200}?) \(UUID: [^)]{0,80}\)/.exec(line) ??
      (/^\s*Link \d/.test(next) ? /^\s*GPU (\d{1,4}): (\S.{0,200}?)\s*$/.exec(line) : null);
    if (titled) {
      this.#gpu = Number(titled[1]);
      const complaint = this.#gpus.get(this.#gpu)?.complaint ?? null;
      this.#gpus.set(this.#gpu, { name: titled[2] as string, complaint });
    }
    const complaint =
      /((?:NVML: )?(?:Unable to retrieve NVLink|Device does not have or support N[Vv][Ll]ink).{0,160})/.exec(
        line,
      )?.[1];
    if (complaint && this.#gpu !== null) {
      this.#gpus.set(this.#gpu, {
        name: this.#gpus.get(this.#gpu)?.name ?? "",
        complaint: complaint.trim(),
      });
      return;
    }
    const link = /^\s*Link (\d{1,3})(:|,) (.{1,100}?)\s*$/.exec(line);
    if (link) this.#link(Number(link[1]), link[2] as string, link[3] as string);
  }

  #link(link: number, mark: string, said: string): void {
    const at = { gpu: this.#gpu, link };
    if (mark === ",") {
      const [, capability, supported] = /^(.{1,60}?)(?: is)? supported: (true|false)$/i.exec(said) ?? [];
      if (capability === undefined) this.#odd++;
      else this.#capabilities.push({ ...at, capability, supported: supported?.toLowerCase() === "true" });
      return;
    }
    const rate = /^([\d.,]{1,20}) ([A-Za-z]{1,4}\/s)$/.exec(said);
    const quantity = rate ? quantityOf(rate[2] as string, 1000) : null;
    const printed = rate ? numberIn(rate[1] as string) : null;
    if (quantity && printed !== null) {
      this.#links.push({ ...at, active: true, link_gbps: scaled(printed, quantity.factor) });
      return;
    }
    if (/^<?inactive>?$/i.test(said)) {
      this.#links.push({ ...at, active: false, link_gbps: null });
      return;
    }
    const [, name, value, unit] =
      /^([A-Za-z].{0,60}?): (N\/A|\d{1,15}(?:\.\d{1,15})?(?:e[-+]?\d{1,3})?)(?: ([KMGT]i?B))?$/i.exec(said) ??
      [];
    if (name === undefined || value === undefined) {
      this.#odd++;
      return;
    }
    const number = numberIn(value);
    const bytes = unit === undefined ? null : quantityOf(unit, 1024);
    if (bytes) {
      this.#data.push({
        ...at,
        counter: name,
        bytes: number === null ? null : scaled(number, bytes.factor),
      });
      return;
    }
    const isRate = /\bBER$/.test(name);
    this.#errors.push({
      ...at,
      error: name,
      count: isRate ? null : number,
      ...(isRate && { bit_error_rate: number }),
    });
  }

  end(): Nvlink {
    const notes: string[] = [];
    for (const [number, { complaint }] of this.#gpus)
      if (complaint !== null) notes.push(`GPU ${number}: ${complaint}.`);
    const rows = [...this.#links, ...this.#capabilities, ...this.#errors, ...this.#data];
    const numbers = new Map<number, Set<number>>();
    for (const row of rows) {
      const own = numbers.get(row.gpu as number) ?? new Set();
      numbers.set(row.gpu as number, own.add(row.link as number));
    }
    const active = new Map<number, number>();
    for (const row of this.#links)
      active.set(row.gpu as number, (active.get(row.gpu as number) ?? 0) + (row.active === true ? 1 : 0));
    const silent = [...this.#gpus].filter(
      ([number, { complaint }]) => complaint === null && !numbers.has(number),
    );
    if (silent.length > 0)
      notes.push(`No NVLink is printed of GPU ${silent.map(([number]) => number).join(", ")}.`);
    for (const number of this.#gpus.keys()) {
      const own = numbers.get(number) ?? new Set();
      const absent = Array.from({ length: Math.max(-1, ...own) + 1 }, (_, link) => link).filter(
        (link) => !own.has(link),
      );
      if (absent.length === 0) continue;
      // How many there are is not known then.
      active.delete(number);
      notes.push(`Links ${absent.join(", ")} of GPU ${number} are missing: the output was cut.`);
    }
    if (this.#odd > 0)
      notes.push(`Lines of links that are none of nvlink -s, -c, -e or -gt, left out: ${this.#odd}.`);
    if (rows.some((row) => row.gpu === null)) notes.push("Links stand before the first GPU: gpu is null.");
    return {
      links: this.#links,
      capabilities: this.#capabilities,
      errors: this.#errors,
      data: this.#data,
      gpus: [...this.#gpus].map(([number, { name }]) => ({
        gpu: number,
        name,
        active_links: active.get(number) ?? null,
      })),
      notes,
      names: () => [...this.#gpus.values()].map(({ name }) => name),
    };
  }
}
