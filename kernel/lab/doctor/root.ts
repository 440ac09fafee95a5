/** The one way to a machine's files: the live one, or a snapshot of one. Nothing here throws; every read is bounded. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  statfsSync,
} from "node:fs";
import { join, sep } from "node:path";
import { messageOf } from "../errors.js";
import { known, type Told, unknown } from "./told.js";

/** Files of /sys and /proc are smaller, but for those of which the beginning is enough. */
export const MOST_BYTES = 64 * 1024;
/** A folder with more entries is cut off. */
const MOST_ENTRIES = 40_000;

/** Where the kernel's log is read; of it only lines that tell of GPUs. */
export const KERNEL_LOG = "/dev/kmsg";

/** Where the driver's libraries are installed. */
export const LIBRARY_FOLDERS = [
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/usr/lib64",
  "/usr/lib/wsl/lib",
  "/usr/local/nvidia/lib64",
];

/** Size of a file system. */
export interface Space {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** Paths are absolute, as the machine itself has them. */
export interface Root {
  /** The beginning of a file, at most {@link MOST_BYTES}. */
  bytes(path: string): Told<Uint8Array>;
  /** The same as text without white space around it. */
  text(path: string): Told<string>;
  /** Names in a folder, sorted. */
  list(path: string): Told<readonly string[]>;
  /** What a symbolic link says. */
  link(path: string): Told<string>;
  exists(path: string): boolean;
  space(path: string): Told<Space>;
}

/** A machine of which nothing can be read, for one reason. */
export class LostRoot implements Root {
  readonly #reason: string;

  constructor(reason: string) {
    this.#reason = reason;
  }

  bytes(): Told<Uint8Array> {
    return unknown(this.#reason);
  }
  text(): Told<string> {
    return unknown(this.#reason);
  }
  list(): Told<readonly string[]> {
    return unknown(this.#reason);
  }
  link(): Told<string> {
    return unknown(this.#reason);
  }
  exists(): boolean {
    return false;
  }
  space(): Told<Space> {
    return unknown(this.#reason);
  }
}

/** Files below a folder; `/` is the live machine. */
export class FolderRoot implements Root {
  readonly #folder: string;
  readonly #inside: string;

  /** @throws Error where the folder is not there. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#inside = realpathSync(folder);
  }

  bytes(path: string): Told<Uint8Array> {
    return this.#told(path, (file) => {
      // Not blocking: a pipe in the place of a file would wait for its writer for ever.
      const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        if (!fstatSync(descriptor).isFile()) throw new Error("it is not a regular file");
        const content = Buffer.alloc(MOST_BYTES);
        let length = 0;
        // Files of /proc and /sys tell no size, and give a page at a time.
        for (let got = -1; got !== 0 && length < MOST_BYTES; length += got) {
          got = readSync(descriptor, content, length, MOST_BYTES - length, null);
        }
        return content.subarray(0, length);
      } finally {
        closeSync(descriptor);
      }
    });
  }

  text(path: string): Told<string> {
    return textOf(this.bytes(path));
  }

  list(path: string): Told<readonly string[]> {
    return this.#told(path, (folder) => readdirSync(folder).slice(0, MOST_ENTRIES).sort());
  }

  link(path: string): Told<string> {
    try {
      return known(readlinkSync(join(this.#folder, path)));
    } catch (error) {
      return unknown(why(path, error));
    }
  }

  exists(path: string): boolean {
    return existsSync(join(this.#folder, path));
  }

  space(path: string): Told<Space> {
    return this.#told(path, (folder) => {
      const { bsize, blocks, bavail } = statfsSync(folder);
      return { totalBytes: bsize * blocks, freeBytes: bsize * bavail };
    });
  }

  #told<T>(path: string, read: (file: string) => T): Told<T> {
    try {
      const file = join(this.#folder, path);
      if (this.#inside !== sep) {
        const real = realpathSync(file);
        if (!real.startsWith(`${this.#inside}${sep}`))
          return unknown(`${path}: it leads out of the snapshot`);
      }
      return known(read(file));
    } catch (error) {
      return unknown(why(path, error));
    }
  }
}

/** Text as UTF-8; what is none, and control characters that a terminal would obey, become replacement characters. */
export function textOf(told: Told<Uint8Array>): Told<string> {
  return told.value === null ? told : known(printable(new TextDecoder().decode(told.value)).trim());
}

export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd");
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "there is none",
  ENOTDIR: "there is none",
  EACCES: "permission denied",
  EPERM: "not permitted",
  ELOOP: "links that lead in a circle",
  EINVAL: "the kernel does not tell",
  EISDIR: "it is a folder",
};

/** Why a path could not be read, with the path. */
export function why(path: string, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return `${path}: ${WORDS[code ?? ""] ?? code ?? messageOf(error)}`;
}
