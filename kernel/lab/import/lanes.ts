/** Names of lanes, each made once: of a million rows, a fresh string each would cost tens of megabytes. */
export class Lanes {
  readonly #many: boolean;
  readonly #streams = new Map<number, Map<number, string>>();
  readonly #threads = new Map<number, Map<number, string>>();

  /** @param manyProcesses several processes worked on GPUs: lanes tell which. */
  constructor(manyProcesses: boolean) {
    this.#many = manyProcesses;
  }

  /** Numbers below 0 stand for unknown. */
  stream(process: number, device: number, stream: number): string {
    return named(this.#streams, process * 65536 + device, stream, () => {
      const owner = this.#many && process >= 0 ? ` (process ${process})` : "";
      return `GPU ${device < 0 ? "?" : device} stream ${stream < 0 ? "?" : stream}${owner}`;
    });
  }

  host(process: number, thread: number): string {
    return named(this.#threads, process, thread, () => {
      const owner = this.#many && process >= 0 ? ` process ${process}` : "";
      return `host${owner}${thread < 0 ? "" : ` thread ${thread}`}`;
    });
  }
}

function named(
  names: Map<number, Map<number, string>>,
  outer: number,
  inner: number,
  make: () => string,
): string {
  let own = names.get(outer);
  if (own === undefined) {
    own = new Map();
    names.set(outer, own);
  }
  let name = own.get(inner);
  if (name === undefined) {
    name = make();
    own.set(inner, name);
  }
  return name;
}
