/** Configuration spaces of PCI Express functions, as devices have them. */

export interface PciFunction {
  /** Device/port type of the Express capability: 0 endpoint, 4 root port, 5 upstream, 6 downstream port. */
  readonly type: number;
  /** ACS control bits; null for a function without the capability. */
  readonly acs: number | null;
  /** Other extended capabilities in front of it. */
  readonly before?: number;
}

/** 4096 bytes with a power management, an Express and, behind others, an ACS capability. */
export function configSpace({ type, acs, before = 1 }: PciFunction): Buffer {
  const bytes = Buffer.alloc(4096);
  bytes.writeUInt16LE(0x10b5, 0);
  bytes.writeUInt16LE(0x9797, 2);
  // A list of capabilities.
  bytes.writeUInt16LE(0x0010, 6);
  bytes.writeUInt8(0x40, 0x34);
  bytes.writeUInt8(0x01, 0x40);
  bytes.writeUInt8(0x68, 0x41);
  bytes.writeUInt8(0x10, 0x68);
  bytes.writeUInt16LE((type << 4) | 2, 0x6a);
  const offsets = Array.from({ length: before + (acs === null ? 0 : 1) }, (_, i) => 0x100 + i * 0x40);
  offsets.forEach((at, i) => {
    const last = i === offsets.length - 1;
    // Advanced error reporting stands for the others.
    const id = last && acs !== null ? 0x000d : 0x0001;
    bytes.writeUInt32LE((((last ? 0 : (offsets[i + 1] as number)) << 20) | (1 << 16) | id) >>> 0, at);
    if (id === 0x000d) {
      bytes.writeUInt16LE(0x5f, at + 4);
      bytes.writeUInt16LE(acs as number, at + 6);
    }
  });
  return bytes;
}
