import { Worker, type WorkerOptions } from "node:worker_threads";

/** Starts the thread of the sockets. A kernel that is one file has another of these, which holds the thread's code as text. */
export function socketsThread(options: WorkerOptions): Worker {
  return new Worker(new URL("./sockets.js", import.meta.url), options);
}
