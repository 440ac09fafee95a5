/** PCI configuration space: the little of it that tells how peer traffic is routed. Takes any bytes, and never throws. */
import { known, type Told, unknown } from "./told.js";

/** What a PCI Express function is, by its Express capability. */
export type PortType = "endpoint" | "root-port" | "upstream" | "downstream" | "other";

/** Access Control Services of a port. Each is false where the port cannot do it. */
export interface AcsControl {
  /** Whether it has the capability at all; without it nothing is redirected. */
  readonly supported: boolean;
  readonly sourceValidation: boolean;
  readonly translationBlocking: boolean;
  /** Requests between peers go up to the root complex instead of straight to the other port. */
  readonly requestRedirect: boolean;
  readonly completionRedirect: boolean;
  readonly upstreamForwarding: boolean;
  readonly egressControl: boolean;
  /** Requests that an ATS translation stands behind go straight all the same. */
  readonly directTranslated: boolean;
}

export interface ConfigSpace {
  readonly portType: Told<PortType>;
  readonly acs: Told<AcsControl>;
}

const HEADER_BYTES = 64;
/** Where the extended configuration space begins. */
const EXTENDED = 0x100;
const EXPRESS_ID = 0x10;
const ACS_ID = 0x000d;
/** Capabilities are 4 bytes or more, so that no list is longer. */
const MOST_CAPABILITIES = 48;
const MOST_EXTENDED = 960;

/** Without root the kernel gives the first 64 bytes of 4096 (PCI Express Base Specification 6.0, sections 7.5 and 7.7.11). */
export function readConfig(bytes: Uint8Array): ConfigSpace {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER_BYTES) return both(`configuration space of ${bytes.length} bytes`);
  if (bytes.every((byte) => byte === 0xff)) return both("the device does not answer: all bytes are ff");
  return { portType: portTypeOf(view), acs: acsOf(view) };
}

function both(reason: string): ConfigSpace {
  return { portType: unknown(reason), acs: unknown(reason) };
}

function cut(view: DataView): string {
  return `only ${view.byteLength} bytes of configuration space can be read without root`;
}

function portTypeOf(view: DataView): Told<PortType> {
  // Bit 4 of the status register: there is a list of capabilities.
  if ((view.getUint16(6, true) & 0x10) === 0) return known("other");
  let at = view.getUint8(0x34) & 0xfc;
  for (let i = 0; i < MOST_CAPABILITIES && at >= HEADER_BYTES; i++) {
    if (at + 4 > view.byteLength) return unknown(cut(view));
    if (view.getUint8(at) === EXPRESS_ID) return known(typeOf((view.getUint16(at + 2, true) >> 4) & 0xf));
    at = view.getUint8(at + 1) & 0xfc;
  }
  return known("other");
}

function typeOf(code: number): PortType {
  if (code === 0 || code === 1) return "endpoint";
  return ({ 4: "root-port", 5: "upstream", 6: "downstream" } as const)[code as 4 | 5 | 6] ?? "other";
}

function acsOf(view: DataView): Told<AcsControl> {
  if (view.byteLength <= EXTENDED) return unknown(cut(view));
  let at = EXTENDED;
  for (let i = 0; i < MOST_EXTENDED; i++) {
    if (at + 8 > view.byteLength) return unknown(cut(view));
    const header = view.getUint32(at, true);
    // All zeros or all ones: no extended capabilities.
    if (header === 0 || header === 0xffffffff) break;
    if ((header & 0xffff) === ACS_ID) return known(controlOf(view.getUint16(at + 6, true)));
    const next = (header >>> 20) & 0xffc;
    if (next < EXTENDED) break;
    at = next;
  }
  return known({ ...controlOf(0), supported: false });
}

function controlOf(bits: number): AcsControl {
  const bit = (n: number) => (bits & (1 << n)) !== 0;
  return {
    supported: true,
    sourceValidation: bit(0),
    translationBlocking: bit(1),
    requestRedirect: bit(2),
    completionRedirect: bit(3),
    upstreamForwarding: bit(4),
    egressControl: bit(5),
    directTranslated: bit(6),
  };
}
