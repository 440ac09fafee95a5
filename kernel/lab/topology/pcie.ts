/**
 * GB/s of one lane in one direction, by transfers a second: 8b/10b up to 5 GT/s (PCI Express Base Specification 1.0 and 2.0),
 * 128b/130b up to 32 (3.0 to 5.0), flits of 256 bytes of which 242 carry packets or what they need above (6.0).
 */
export function pcieLaneGbps(gigatransfers: number): number {
  if (gigatransfers <= 5) return (gigatransfers * 8) / 10 / 8;
  return gigatransfers <= 32 ? (gigatransfers * 128) / 130 / 8 : (gigatransfers * 242) / 256 / 8;
}

/** Transfers a second, in 1e9, of the generations from 1 to 6. */
export const PCIE_GIGATRANSFERS: readonly number[] = [2.5, 5, 8, 16, 32, 64];

/** Generation of a PCIe link by its line rate, the nearest for 16 lanes where the width is unknown; null for an unknown rate. */
export function pcieGeneration(rawGbps: number | null, width: number | null): number | null {
  if (rawGbps === null || !(rawGbps > 0)) return null;
  const lane = rawGbps / (width ?? 16);
  let best = 0;
  PCIE_GIGATRANSFERS.forEach((gigatransfers, i) => {
    const off = (gt: number) => Math.abs(Math.log(pcieLaneGbps(gt) / lane));
    if (off(gigatransfers) < off(PCIE_GIGATRANSFERS[best] as number)) best = i;
  });
  return best + 1;
}

/** How `nvidia-smi topo -m` writes where the PCIe paths of two GPUs meet. */
const MEETING: Readonly<Record<string, string>> = {
  internal: "PIX",
  single: "PIX",
  multiple: "PXB",
  hostbridge: "PHB",
  node: "NODE",
  system: "SYS",
};

/** Class of two GPUs by what NVML calls their common ancestor; null where it tells none, or one that is not known. */
export function pcieClassOf(commonAncestor: string | null | undefined): string | null {
  return MEETING[commonAncestor ?? ""] ?? null;
}
