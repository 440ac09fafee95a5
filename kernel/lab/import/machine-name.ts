/** A machine by the GPUs that a file names, such as `8 × NVIDIA H100 80GB HBM3`; null where it names none. */
export function machineOf(gpus: readonly (string | null)[], hosts: Iterable<string> = []): string | null {
  const counts = new Map<string, number>();
  for (const gpu of gpus) if (gpu) counts.set(gpu, (counts.get(gpu) ?? 0) + 1);
  if (counts.size === 0) return null;
  const names = [...counts].map(([name, count]) => `${count} × ${name}`).slice(0, 8);
  const computers = new Set(hosts).size;
  return `${names.join(" + ")}${computers > 1 ? ` in ${computers} computers` : ""}`;
}
