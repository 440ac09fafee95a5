/**
 * Answers to exercises that a reader may well give and that are wrong, at least two an exercise, by the cell that each takes
 * the place of. The check of the exercise must refuse every one of them.
 */
export const WRONG_ANSWERS: Readonly<Record<string, readonly string[]>> = {
  "01-exercise-1": [
    // Upside down.
    `function penalty(curve: any): any {
  const of = (path: string) => curve.objects().filter((r: any) => r.path === path);
  return of("staged").map((r: any) => ({ bytes: r.bytes, ratio: of("peer").find((p: any) => p.bytes === r.bytes).total_us / r.total_us }));
}`,
    // Every row of both paths.
    `function penalty(curve: any): any {
  const rows = curve.objects();
  const peer = new Map(rows.filter((r: any) => r.path === "peer").map((r: any) => [r.bytes, r.total_us]));
  return rows.map((r: any) => ({ bytes: r.bytes, ratio: r.total_us / (peer.get(r.bytes) as number) }));
}`,
  ],
  "01-exercise-2": [
    // No fixed part.
    `function model(curve: any): any {
  const last = curve.objects().filter((r: any) => r.path === "peer").at(-1);
  return (bytes: number) => (last.total_us * bytes) / last.bytes;
}`,
    // Everything costs what the smallest does.
    "function model(curve: any): any { const first = curve.objects()[0]; return () => first.total_us; }",
  ],
  "01-exercise-3": [
    `function firstTarget(_row: any): any { return "launch_us"; }`,
    // The shortest.
    `function firstTarget(row: any): any {
  return ["launch_us", "setup_us", "link_us", "receiver_us"].reduce((a, b) => (row[b] < row[a] ? b : a));
}`,
  ],
  "02-exercise-1": [
    // Without the line code.
    "function linkGbps(generation: any, width: number): any { return (2 ** generation * width) / 8; }",
    // Gigabits.
    "function linkGbps(generation: any, width: number): any { return 2 ** generation * width * (128 / 130); }",
  ],
  "02-exercise-2": [
    // An idle link is excused whatever its width.
    `function stateOf(link: any): any {
  if ([link.generation, link.generationMax, link.width, link.widthMax].includes(null)) return "unknown";
  if (link.width === link.widthMax && link.generation === link.generationMax) return "ok";
  return link.busy ? "downtrained" : "idle";
}`,
    // Only the width is asked whether it is known.
    `function stateOf(link: any): any {
  if (link.widthMax === null) return "unknown";
  if (link.width < link.widthMax) return "downtrained";
  return link.generation === link.generationMax ? "ok" : link.busy ? "downtrained" : "idle";
}`,
  ],
  "02-exercise-3": [
    // The same last bridge is a switch, be it the root.
    `function classOf(a: any, b: any): any {
  if (a.at(-1) === b.at(-1) && a.length === b.length && a.every((x: string, i: number) => x === b[i])) return "PIX";
  if (a[2] !== undefined && a[2] === b[2]) return "PXB";
  return a[1] === b[1] ? "PHB" : a[0] === b[0] ? "NODE" : "SYS";
}`,
    // Any bridge that both have.
    `function classOf(a: any, b: any): any {
  if (a.at(-1) === b.at(-1)) return "PIX";
  if (a.slice(2).some((x: string) => b.includes(x))) return "PXB";
  return a[1] === b[1] ? "PHB" : a[0] === b[0] ? "NODE" : "SYS";
}`,
  ],
  "03-exercise-1": [
    // One digit.
    "function nvlinks(label: string): any { return label.trim().startsWith('NV') ? Number(label.trim()[2]) : 0; }",
    // Without trimming.
    "function nvlinks(label: string): any { const m = /^NV(\\d+)$/.exec(label); return m ? Number(m[1]) : 0; }",
  ],
  "03-exercise-2": [
    // The first that both are linked with.
    "function relay(t: any, a: number, b: number): any { return t.findIndex((_: any, g: number) => t[a][g] > 0 && t[g][b] > 0); }",
    // The most links in sum.
    `function relay(t: any, a: number, b: number): any {
  let best = -1;
  const sum = (g: number) => (t[a][g] && t[g][b] ? t[a][g] + t[g][b] : 0);
  for (let g = 0; g < t.length; g++) if (sum(g) > (best < 0 ? 0 : sum(best))) best = g;
  return best;
}`,
  ],
  "03-exercise-3": [
    "function efficiency(payload: number, overhead: number): any { return 1 - overhead / payload; }",
    "function efficiency(payload: number, overhead: number): any { return overhead / (payload + overhead); }",
  ],
  "04-exercise-1": [
    // Source and destination, whoever submits.
    "function pairsToEnable(copies: any): any { return copies.map(({ src, dst }: any) => [src, dst]); }",
    // Pairs that are listed as often as they are used.
    `function pairsToEnable(copies: any): any {
  return copies.flatMap(({ src, dst, by }: any) => [src, dst].filter((end) => end !== by).map((end) => [by, end]));
}`,
  ],
  "04-exercise-2": [
    // Ends at the first failure.
    `function enableAll(pairs: any, enable: any): any {
  for (const pair of pairs) { const code = enable(...pair); if (code !== 0 && code !== 704) return [{ pair, code }]; }
  return [];
}`,
    // Access that is on already counts as a failure.
    `function enableAll(pairs: any, enable: any): any {
  return pairs.map((pair: any) => ({ pair, code: enable(...pair) })).filter(({ code }: any) => code !== 0);
}`,
  ],
  "04-exercise-3": [
    // Rounded down.
    "function breakEven(open: number, direct: number, staged: number): any { return Math.floor(open / (staged - direct)); }",
    // Negative where staging is faster.
    "function breakEven(open: number, direct: number, staged: number): any { return Math.max(1, Math.ceil(open / (staged - direct))); }",
  ],
  "05-exercise-1": [
    // One after the other.
    `function ownerOf(address: number, sorted: any): any {
  return sorted.find((s: any) => address >= s.start && address < s.start + s.bytes)?.owner ?? "unknown";
}`,
    // The end belongs to the stretch.
    `function ownerOf(address: number, sorted: any): any {
  let [low, high] = [0, sorted.length];
  while (low < high) { const m = (low + high) >> 1; if (sorted[m].start <= address) low = m + 1; else high = m; }
  const s = sorted[low - 1];
  return s && address <= s.start + s.bytes ? s.owner : "unknown";
}`,
  ],
  "05-exercise-2": [
    // Only the source is asked whether it is host memory.
    `function routeOf(src: any, dst: any, on: boolean): any {
  if (src.host) return src.host === "pinned" ? "host-link" : "pageable";
  if (dst.host) return "pageable";
  return src.gpu === dst.gpu ? "local" : on ? "peer" : "staged";
}`,
    // Peer access before anything else.
    `function routeOf(src: any, dst: any, on: boolean): any {
  if (src.host === "pageable" || dst.host === "pageable") return "pageable";
  if (src.host || dst.host) return "host-link";
  return on ? "peer" : src.gpu === dst.gpu ? "local" : "staged";
}`,
  ],
  "05-exercise-3": [
    // Not rounded.
    "function inFlight(gbps: number, ns: number, bytes: number): any { return Math.max(1, (gbps * ns) / bytes); }",
    // Without the bytes of a read.
    "function inFlight(gbps: number, ns: number, _bytes: number): any { return Math.max(1, Math.ceil(gbps * ns)); }",
  ],
  "06-exercise-1": [
    // Asks for the block before the GPU.
    `function scopeFor(writer: any, reader: any): any {
  return writer.block === reader.block ? "block" : writer.gpu === reader.gpu ? "gpu" : "system";
}`,
    // Enough, but not the smallest.
    `function scopeFor(_writer: any, _reader: any): any { return "system"; }`,
  ],
  "06-exercise-2": [
    // The first poll succeeds.
    `function waitNs(home: any, costs: any): any { return home === "receiver" ? costs.wayNs + costs.localNs : costs.peerNs; }`,
    // The sender's own flag crosses the link to be written.
    `function waitNs(home: any, costs: any): any { return costs.wayNs + 1.5 * (home === "receiver" ? costs.localNs : costs.peerNs); }`,
  ],
  "06-exercise-3": [
    // What was not seen does not happen.
    `function verdictOf(reaches: any, early: number): any { return early === 0 ? "ordered" : reaches ? "violation" : "reordered"; }`,
    // Once is not enough.
    `function verdictOf(reaches: any, early: number): any {
  return early > 1 ? (reaches ? "violation" : "reordered") : reaches ? "ordered" : "luck";
}`,
  ],
  "07-exercise-1": [
    // Closed for nothing.
    "function perUseUs(openUs: number, _closeUs: any, copyUs: number, uses: number): any { return copyUs + openUs / uses; }",
    // The copy is spread as well.
    `function perUseUs(openUs: number, closeUs: number, copyUs: number, uses: number): any { return (openUs + closeUs + copyUs) / uses; }`,
  ],
  "07-exercise-2": [
    // Never pays, or pays at once: not asked.
    "function breakEven(openUs: number, copyUs: number, stagedUs: number): any { return Math.ceil(openUs / (stagedUs - copyUs)); }",
    // One more than breaks even.
    `function breakEven(openUs: number, copyUs: number, stagedUs: number): any {
  return stagedUs > copyUs ? Math.floor(openUs / (stagedUs - copyUs)) + 1 : Infinity;
}`,
  ],
  "07-exercise-3": [
    // First in, first out.
    `function cached(open: any, close: any, capacity: number): any {
  const known = new Map<string, number>();
  return (handle: string) => {
    if (known.has(handle)) return known.get(handle);
    const [oldest] = known.keys();
    if (known.size >= capacity) { close(oldest); known.delete(oldest as string); }
    known.set(handle, open(handle));
    return known.get(handle);
  };
}`,
    // Nothing is ever closed.
    `function cached(open: any, _close: any, _capacity: number): any {
  const known = new Map<string, number>();
  return (handle: string) => known.get(handle) ?? (known.set(handle, open(handle)), known.get(handle));
}`,
  ],
  "08-exercise-1": [
    // NODE before PHB.
    `function nearestCard(classes: any): any {
  const order = ["PIX", "PXB", "NODE", "PHB", "SYS"];
  return Object.keys(classes).sort((a, b) => order.indexOf(classes[a]) - order.indexOf(classes[b]) || a.localeCompare(b))[0];
}`,
    // By the alphabet.
    `function nearestCard(classes: any): any {
  return Object.keys(classes).sort((a, b) => classes[a].localeCompare(classes[b]) || a.localeCompare(b))[0];
}`,
  ],
  "08-exercise-2": [
    // 5.4 as a fraction is more than 5.12.
    `function verdict(host: any): any {
  if (!host.card) return "no";
  if (host.peermem) return "peermem";
  return host.openModule && Number.parseFloat(host.kernel) >= 5.12 ? "dma-buf" : "no";
}`,
    // 12 or more after any first number.
    `function verdict(host: any): any {
  if (!host.card) return "no";
  if (host.peermem) return "peermem";
  const [major, minor] = host.kernel.split(".").map(Number);
  return host.openModule && (major > 5 || minor >= 12) ? "dma-buf" : "no";
}`,
  ],
  "08-exercise-3": [
    // A miss costs no more than without the cache.
    "function savedUs(registerUs: number, _evictUs: any, hit: number): any { return registerUs * hit; }",
    // A miss costs the eviction only.
    "function savedUs(registerUs: number, evictUs: number, hit: number): any { return registerUs - (1 - hit) * evictUs; }",
  ],
};
