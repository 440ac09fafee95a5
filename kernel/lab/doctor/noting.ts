/** A root that notes what is read through it, so that a snapshot can be made of it. */
import { realpathSync } from "node:fs";
import { dirname, posix } from "node:path";
import { liveKernelLog } from "./kernel-log.js";
import { FolderRoot, KERNEL_LOG, LIBRARY_FOLDERS, printable, type Root, type Space } from "./root.js";
import type { Entry } from "./snapshot.js";
import { known, reasonOf, type Told } from "./told.js";

/** Names of programs are the business of whoever runs them; those of services that the checks look for are not. */
const SERVICES = /^(nv-|nvidia)/;
/** What else is installed is nobody's business: of the system's libraries only the driver's are noted. */
const DRIVER_LIBRARY = /^libcuda\./;

export interface Noted {
  readonly files: Record<string, Entry>;
  readonly spaces: Record<string, Space>;
}

export class NotingRoot implements Root {
  readonly #root = new FolderRoot("/");
  readonly noted: Noted = { files: {}, spaces: {} };

  bytes(path: string): Told<Uint8Array> {
    return this.#bytes(path, this.#root.bytes(path));
  }

  text(path: string): Told<string> {
    if (path === KERNEL_LOG) {
      const log = liveKernelLog();
      this.#bytes(path, log.value === null ? log : known(Buffer.from(log.value)));
      return log;
    }
    const told = this.#root.text(path);
    if (/^\/proc\/\d+\/comm$/.test(path) && !SERVICES.test(told.value ?? "")) {
      // That processes can be seen at all.
      if (path === "/proc/1/comm" && told.value !== null) this.noted.files[path] = "init";
      return told;
    }
    this.#bytes(path, this.#root.bytes(path));
    return told;
  }

  list(path: string): Told<readonly string[]> {
    const told = this.#root.list(path);
    const folder = placeOf(path);
    if (told.value === null) this.#note(path, { error: cause(path, told) });
    else {
      this.noted.files[folder] ??= { folder: true };
      const isLibraries = LIBRARY_FOLDERS.includes(path);
      // Processes are noted by what is read of them.
      for (const name of told.value) {
        if (/^\d+$/.test(name) || (isLibraries && !DRIVER_LIBRARY.test(name))) continue;
        this.noted.files[posix.join(folder, name)] ??= "";
      }
    }
    return told;
  }

  link(path: string): Told<string> {
    const told = this.#root.link(path);
    if (told.value !== null) this.#note(path, { link: told.value });
    return told;
  }

  exists(path: string): boolean {
    const there = this.#root.exists(path);
    if (there) this.noted.files[placeOf(path)] ??= "";
    return there;
  }

  space(path: string): Told<Space> {
    const told = this.#root.space(path);
    if (told.value !== null) this.noted.spaces[path] = told.value;
    return told;
  }

  #bytes(path: string, told: Told<Uint8Array>): Told<Uint8Array> {
    if (told.value === null) this.#note(path, { error: cause(path, told) });
    else {
      const text = publicPart(path, new TextDecoder().decode(told.value));
      const isText = printable(text) === text && !text.includes("\ufffd");
      this.#note(path, isText ? text : shortened(told.value));
    }
    return told;
  }

  /** What was found by its own name; a placeholder for what was only listed gives way. */
  #note(path: string, entry: Entry): void {
    this.noted.files[placeOf(path)] = entry;
  }
}

/** The reason without the path that it begins with. */
function cause(path: string, told: Told<unknown>): string {
  const reason = reasonOf(told);
  return reason.startsWith(`${path}: `) ? reason.slice(path.length + 2) : reason;
}

/**
 * Of the kernel's command line what bears on transfers: the rest names disks and hosts. Of a header, which is somebody's work, the
 * line that is looked for.
 */
function publicPart(path: string, text: string): string {
  if (path.endsWith("/cuda.h")) return /^#define CUDA_VERSION \d+$/m.exec(text)?.[0] ?? "";
  if (path !== "/proc/cmdline") return text;
  const words = text.split(/\s+/).filter((word) => /^(\w+_)?iommu|^pci/.test(word));
  return words.join(" ");
}

/** Where a file is when the links above it are followed, in sysfs, which shows the same device in many places. */
function placeOf(path: string): string {
  if (!path.startsWith("/sys/")) return path;
  try {
    return posix.join(realpathSync(dirname(path)), posix.basename(path));
  } catch {
    return path;
  }
}

function shortened(bytes: Uint8Array): Entry {
  const used = bytes.findLastIndex((byte) => byte !== 0) + 1;
  return { hex: Buffer.from(bytes.subarray(0, used)).toString("hex"), bytes: bytes.length };
}
