/** What a report must not tell: host name, user name, UUIDs, serial numbers, addresses of hardware and of the network. */
import { isIPv6 } from "node:net";
import { hostname, userInfo } from "node:os";
import { P2pError, shown } from "../errors.js";
import { Diagnosis } from "./diagnosis.js";

const UUID = /\b(?:(GPU|MIG)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;
const HARDWARE_ADDRESS = /\b[0-9a-f]{2}(:[0-9a-f]{2}){5,7}\b/gi;
/** Folders of people, whoever they are: a snapshot is of another machine than this. */
const HOME = /([\\/]+(?:home|Users)[\\/]+)[^\\/\s"'`:;,()<>]+/g;
/** With a digit in it: "serial execution" is none. */
const SERIAL =
  /(?<![a-z])(S\/N|serial(?:[ _-]?(?:number|no\.?))?)(["']?\s*[:#=：]?\s*["']?)(?=[\w-]*\d)[A-Z0-9][\w-]{4,}/gi;
const NETWORK_ADDRESS =
  /(?<![\w.:-])(?:\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:]))/gi;
/** What makes four numbers a version: nvidia-cublas-cu12==12.4.5.8, cuDNN 9.1.0.70, "version": "1.2.3.4". */
const VERSION_BEFORE =
  /(?:==|\b(?:v|versions?|release|driver|cuda|cudnn|nccl|cublas|cupti|nvrtc|build)["']?[\s:=]*["']?)$/i;
/** Shorter names are words of their own: they would be found everywhere. */
const LEAST_NAME = 3;
/** Names that tell of nobody, and that paths and drivers have too. */
const OF_NOBODY =
  /^(root|nvidia|cuda|gpu|nobody|user|admin|localhost|ubuntu|debian|server|node|host|linux|kernel)$/i;

/** The same diagnosis with each identifier replaced by one that tells only whether two are the same. */
export function redacted(diagnosis: Diagnosis, names: readonly string[] = ownNames()): Diagnosis {
  const areTexts = Array.isArray(names) && names.every((name) => typeof name === "string");
  if (!(diagnosis instanceof Diagnosis) || !areTexts) {
    throw new P2pError(
      "usage",
      `lab.redacted was given ${shown(diagnosis)}${areTexts ? "" : " and names that are none"}`,
      "Give it what lab.doctor returned, and texts to leave out.",
    );
  }
  const clean = cleaner(names);
  const visit = (value: unknown): unknown => {
    if (typeof value === "string") return clean(value);
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, visit(own)]));
  };
  const { topology, ...facts } = diagnosis.facts;
  return new Diagnosis(
    { ...(visit(facts) as typeof facts), topology },
    visit(diagnosis.findings) as Diagnosis["findings"],
  );
}

/** Takes identifiers, and names where they stand as words, out of texts; the same one gets the same stand-in in all of them. */
export function cleaner(names: readonly string[] = []): (text: string) => string {
  const seen = new Map<string, string>();
  const standIn = (found: string, prefix: string) => {
    const key = found.toLowerCase();
    if (!seen.has(key)) seen.set(key, `${prefix}-redacted-${seen.size}`);
    return seen.get(key) as string;
  };
  const secret = names.filter((name) => name.length >= LEAST_NAME && !OF_NOBODY.test(name));
  const words = secret.map((name) => `(?<![\\w-])${escaped(name)}(?![\\w-])`);
  const named = words.length > 0 ? new RegExp(words.join("|"), "gi") : null;
  return (text) => {
    const plain = text
      .replace(UUID, (found, prefix: string | undefined) => standIn(found, prefix?.toUpperCase() ?? "UUID"))
      .replace(HARDWARE_ADDRESS, "xx:xx:xx:xx:xx:xx")
      .replace(NETWORK_ADDRESS, (found, at: number, whole: string) =>
        tellsOfNetwork(found) && !VERSION_BEFORE.test(whole.slice(Math.max(0, at - 24), at))
          ? standIn(found, "IP")
          : found,
      )
      .replace(HOME, "$1redacted")
      .replace(SERIAL, "$1$2redacted");
    return named ? plain.replace(named, "redacted") : plain;
  };
}

/** Not what every machine has, nor a part of C++'s or a clock's notation that looks like an address. */
function tellsOfNetwork(found: string): boolean {
  if (found.includes(":")) return isIPv6(found) && found.split(":").filter(Boolean).length > 2;
  return !/^(?:127\.|0\.|255\.)/.test(found) && found.split(".").every((part) => Number(part) <= 255);
}

/** Of this machine and this user. */
export function ownNames(): string[] {
  const names = [hostname(), hostname().split(".")[0] ?? ""];
  try {
    names.push(userInfo().username);
  } catch {
    // A user without an entry has no name to hide.
  }
  return names;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
