/**
 * A Jupyter front end in few lines: starts the kernel as Jupyter does, speaks the wire protocol with code of its own (nothing is
 * shared with the kernel's), and gathers what comes back.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHmac, randomUUID } from "node:crypto";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Dealer, Request, Subscriber } from "zeromq";
import { packagePath } from "../../kernel/lab/index.js";

type Json = Record<string, unknown>;

export interface Received {
  readonly channel: "shell" | "control" | "iopub" | "stdin";
  readonly type: string;
  readonly id: string;
  readonly session: string;
  /** msg_id of the request it belongs to; null for none. */
  readonly parent: string | null;
  readonly header: Json;
  readonly parentHeader: Json;
  readonly metadata: Json;
  readonly content: Json;
  readonly buffers: readonly Buffer[];
  readonly signed: boolean;
}

export interface Answer {
  readonly reply: Json;
  readonly replyType: string;
  /** What was published for the request, in order, busy and idle included. */
  readonly published: Received[];
  /** The same without status and execute_input. */
  readonly outputs: Received[];
}

export interface ClientOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Starts a kernel, given the connection file; default the one that was built. */
  command?: (file: string) => readonly string[];
  /** Where the kernel's stderr goes; default a socket, of which `log` is read. */
  logFile?: string;
  /** Leaves the waiting for the first answer to the test. */
  ready?: boolean;
}

// Long, for a machine that is busy with other work; no test judges the time.
const WAIT_MS = 60_000;
export const PROGRAM: string = packagePath("dist/kernel/jupyter/main.js");

export class KernelClient {
  readonly key: string = randomUUID();
  readonly session: string = randomUUID();
  readonly folder: string = mkdtempSync(join(tmpdir(), "p2plab-kernel-"));
  readonly connection: Readonly<Record<string, string | number>>;
  readonly received: Received[] = [];
  readonly process: ChildProcess;
  /** What the kernel's process wrote to its own stdout and stderr: the server's log. */
  log = "";
  readonly #sockets: { shell: Dealer; control: Dealer; stdin: Dealer; iopub: Subscriber; heartbeat: Request };
  /** Waiting for the next message. */
  readonly #waiting = new Set<() => void>();

  private constructor(ports: readonly number[], options: ClientOptions) {
    const [shell, control, stdin, iopub, heartbeat] = ports as [number, number, number, number, number];
    const file = join(this.folder, "connection.json");
    const connection = {
      transport: "tcp",
      ip: "127.0.0.1",
      shell_port: shell,
      control_port: control,
      stdin_port: stdin,
      iopub_port: iopub,
      hb_port: heartbeat,
      key: this.key,
      signature_scheme: "hmac-sha256",
    };
    this.connection = connection;
    writeFileSync(file, JSON.stringify(connection));
    const [program, ...args] = options.command?.(file) ?? [process.execPath, PROGRAM, file];
    this.process = spawn(program as string, args, {
      cwd: options.cwd ?? this.folder,
      env: { ...process.env, JPY_PARENT_PID: String(process.pid), ...options.env },
      stdio: ["ignore", "pipe", options.logFile ? openSync(options.logFile, "a") : "pipe"],
    });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.log += text;
      });
    }
    // Tries again at once: ZeroMQ's own 100 to 200 ms between two tries would be counted as the kernel's start.
    const soon = { linger: 0, reconnectInterval: 2 };
    const routing = { ...soon, routingId: this.session };
    this.#sockets = {
      shell: new Dealer(routing),
      control: new Dealer(routing),
      stdin: new Dealer(routing),
      iopub: new Subscriber({ ...soon, receiveHighWaterMark: 0 }),
      heartbeat: new Request(soon),
    };
    for (const [name, socket] of Object.entries(this.#sockets)) {
      socket.connect(`tcp://127.0.0.1:${connection[`${name === "heartbeat" ? "hb" : name}_port` as never]}`);
    }
    this.#sockets.iopub.subscribe();
    for (const channel of ["shell", "control", "stdin", "iopub"] as const) void this.#receive(channel);
  }

  /** Starts a kernel and waits until both replies and publications arrive. */
  static async start(options: ClientOptions = {}): Promise<KernelClient> {
    const client = new KernelClient(await freePorts(5), options);
    if (options.ready !== false) await client.ready();
    return client;
  }

  /** A subscriber hears nothing before its subscription has arrived: asks until an idle comes. */
  async ready(): Promise<void> {
    const end = Date.now() + WAIT_MS;
    while (Date.now() < end) {
      const id = await this.send("shell", "kernel_info_request", {});
      try {
        await this.#until(() => this.#idle(id) && this.#reply(id), 500);
        return;
      } catch {
        // Not yet.
      }
    }
    throw new Error(`the kernel does not answer; its log: ${this.log}`);
  }

  async #receive(channel: Received["channel"]): Promise<void> {
    for await (const frames of this.#sockets[channel]) {
      const at = frames.findIndex((frame) => frame.toString() === "<IDS|MSG>");
      const parts = frames.slice(at + 2, at + 6);
      const [header, parent, metadata, content] = parts.map(
        (part) => JSON.parse(part.toString()) as Json,
      ) as Json[];
      this.received.push({
        channel,
        type: String(header?.msg_type),
        id: String(header?.msg_id),
        session: String(header?.session),
        parent: typeof parent?.msg_id === "string" ? parent.msg_id : null,
        header: header ?? {},
        parentHeader: parent ?? {},
        metadata: metadata ?? {},
        content: content ?? {},
        buffers: frames.slice(at + 6).map((frame) => Buffer.from(frame)),
        signed: frames[at + 1]?.toString() === signature(this.key, parts),
      });
      for (const wake of [...this.#waiting]) wake();
    }
  }

  /** Frames of a message as a front end sends them. */
  frames(type: string, content: unknown, id: string, key: string = this.key): Buffer[] {
    const header = {
      msg_id: id,
      msg_type: type,
      session: this.session,
      username: "tester",
      date: new Date().toISOString(),
      version: "5.4",
    };
    const parts = [header, {}, {}, content].map((part) => Buffer.from(JSON.stringify(part)));
    return [Buffer.from("<IDS|MSG>"), Buffer.from(signature(key, parts)), ...parts];
  }

  async send(
    channel: "shell" | "control" | "stdin",
    type: string,
    content: unknown,
    buffers: readonly Buffer[] = [],
  ): Promise<string> {
    const id = randomUUID();
    await this.sendFrames(channel, [...this.frames(type, content, id), ...buffers]);
    return id;
  }

  async sendFrames(channel: "shell" | "control" | "stdin", frames: readonly Buffer[]): Promise<void> {
    await this.#sockets[channel].send([...frames]);
  }

  #reply(id: string): Received | undefined {
    const answers = (message: Received) => message.channel === "shell" || message.channel === "control";
    return this.received.find((message) => message.parent === id && answers(message));
  }

  #idle(id: string): Received | undefined {
    return this.received.find(
      (message) => message.parent === id && message.content.execution_state === "idle",
    );
  }

  async #until<T>(find: () => T | undefined, limitMs: number): Promise<T> {
    const end = Date.now() + limitMs;
    for (;;) {
      const found = find();
      if (found) return found;
      const left = end - Date.now();
      if (left <= 0) throw new Error(`nothing came within ${limitMs} ms; the kernel's log: ${this.log}`);
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, left);
        this.#waiting.add(wake);
      });
    }
  }

  /** Waits for a message that is wanted. */
  wait(wanted: (message: Received) => boolean, limitMs: number = WAIT_MS): Promise<Received> {
    return this.#until(() => this.received.find(wanted), limitMs);
  }

  /** Reply and publications of a request that was sent, once it is idle. */
  async answerOf(id: string, limitMs: number = WAIT_MS): Promise<Answer> {
    const reply = await this.#until(() => this.#idle(id) && this.#reply(id), limitMs);
    const published = this.received.filter((message) => message.parent === id && message.channel === "iopub");
    const outputs = published.filter((message) => !["status", "execute_input"].includes(message.type));
    return { reply: reply.content, replyType: reply.type, published, outputs };
  }

  async ask(channel: "shell" | "control", type: string, content: unknown, limitMs?: number): Promise<Answer> {
    return this.answerOf(await this.send(channel, type, content), limitMs);
  }

  /** Sends a cell; see `answerOf`. */
  sendCell(code: string, more: Json = {}): Promise<string> {
    return this.send("shell", "execute_request", {
      code,
      silent: false,
      store_history: true,
      user_expressions: {},
      allow_stdin: false,
      stop_on_error: true,
      ...more,
    });
  }

  async execute(code: string, more: Json = {}, limitMs?: number): Promise<Answer> {
    return this.answerOf(await this.sendCell(code, more), limitMs);
  }

  /** Text that a cell wrote. */
  static text(answer: Answer, name: "stdout" | "stderr" = "stdout"): string {
    return answer.outputs
      .filter((message) => message.type === "stream" && message.content.name === name)
      .map((message) => message.content.text)
      .join("");
  }

  async beat(bytes: string): Promise<string> {
    await this.#sockets.heartbeat.send(bytes);
    const [answer] = await this.#sockets.heartbeat.receive();
    return String(answer);
  }

  /** Resolves with the exit code, null when it was killed. */
  exited(limitMs: number = WAIT_MS): Promise<number | null> {
    const { process: kernel } = this;
    if (kernel.exitCode !== null || kernel.signalCode !== null) return Promise.resolve(kernel.exitCode);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the kernel runs on after ${limitMs} ms`)), limitMs);
      kernel.once("exit", (code) => {
        clearTimeout(timer);
        resolve(code);
      });
    });
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    const gone = this.exited();
    if (this.process.exitCode === null) this.process.kill("SIGKILL");
    await gone;
    for (const socket of Object.values(this.#sockets)) socket.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function signature(key: string, parts: readonly Uint8Array[]): string {
  const hmac = createHmac("sha256", key);
  for (const part of parts) hmac.update(part);
  return hmac.digest("hex");
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer();
      return new Promise<typeof server>((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
