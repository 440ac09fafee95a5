/**
 * What is written to the process's own file descriptors 1 and 2, by the addon's printf, by `fs.writeSync(1, …)` or by a child, and
 * never passes through `process.stdout`: both are led into named pipes that the thread of the sockets reads.
 */
import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** File descriptors that the thread of the sockets works with. */
export interface Descriptors {
  /** Read ends; null where nothing is led away (Windows, no mkfifo, or no folder for temporary files). */
  readonly stdout: number | null;
  readonly stderr: number | null;
  /** The server's log. */
  readonly log: number;
}

const NONE: Descriptors = { stdout: null, stderr: null, log: 2 };

/** Must run while the process has one thread: a file opened by another at the same moment would take the place. */
export function leadAway(): Descriptors {
  if (process.platform === "win32") return NONE;
  let folder: string;
  try {
    folder = mkdtempSync(join(tmpdir(), "p2plab-streams-"));
  } catch {
    return NONE;
  }
  try {
    const paths = { stdout: join(folder, "1"), stderr: join(folder, "2") };
    if (spawnSync("mkfifo", Object.values(paths)).status !== 0) return NONE;
    // Node.js makes a pipe non-blocking when it opens the stream: done before, the new ones stay blocking for native code.
    void process.stdout;
    void process.stderr;
    const stdout = replaced(1, paths.stdout);
    const log = openedAgain(2);
    return log === null
      ? { stdout, stderr: null, log: 2 }
      : { stdout, stderr: replaced(2, paths.stderr), log };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Null for a socket, which cannot be opened a second time: the log then stays where it is. */
function openedAgain(descriptor: number): number | null {
  try {
    return openSync(`/dev/fd/${descriptor}`, constants.O_WRONLY | constants.O_APPEND);
  } catch {
    return null;
  }
}

function replaced(descriptor: number, path: string): number {
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  closeSync(descriptor);
  // The lowest number that is free is the one that was closed. Opened for both, it never sees an end.
  const got = openSync(path, constants.O_RDWR);
  if (got !== descriptor) throw new Error(`file descriptor ${descriptor} was opened as ${got}`);
  return reader;
}

/** Reads one of the pipes as text. */
export class DescriptorReader {
  readonly #descriptor: number;
  readonly #take: (text: string) => void;
  readonly #decoder = new TextDecoder();
  readonly #buffer = Buffer.alloc(65_536);

  constructor(descriptor: number, take: (text: string) => void) {
    this.#descriptor = descriptor;
    this.#take = take;
    const socket = new Socket({ fd: descriptor, readable: true, writable: false });
    socket.on("data", (bytes) => this.#give(bytes));
    // What cannot be read is not worth ending the kernel for.
    socket.on("error", () => undefined);
    socket.unref();
  }

  /** Takes at once what was written up to now. */
  drain(): void {
    for (;;) {
      let count: number;
      try {
        count = readSync(this.#descriptor, this.#buffer, 0, this.#buffer.length, null);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EINTR") continue;
        // Nothing more, for now.
        return;
      }
      if (count === 0) return;
      this.#give(this.#buffer.subarray(0, count));
    }
  }

  #give(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text !== "") this.#take(text);
  }
}
