import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { wrongIn } from "../../kernel/jupyter/connection.js";
import { packagePath } from "../../kernel/lab/index.js";
import { Random } from "../../kernel/lab/random.js";
import { KernelClient, PROGRAM, signature } from "./client.js";

export const TIME_LIMIT_S = 240;

const hostile = suite("hostile input");
const client = await KernelClient.start();

hostile.after(() => client.stop());

const cell = (code: string) => ({ code, silent: false, store_history: true, user_expressions: {} });
const cellsOutput = () =>
  client.received
    .filter((m) => m.channel === "iopub" && m.type !== "status")
    .map((m) => JSON.stringify(m.content));

hostile("a message signed with another key is not answered, not run, and nothing of it is told", async () => {
  await client.execute("let reached = 0;");
  const before = client.received.length;
  const frames = client.frames("execute_request", cell("reached = 1; 'S3CRET'"), "forged", "another key");
  await client.sendFrames("shell", frames);
  await client.sendFrames("control", client.frames("shutdown_request", { restart: false }, "forged-2", ""));
  const { outputs } = await client.execute("reached");
  assert.equal(outputs[0]?.content.data, { "text/plain": "0" });
  const later = client.received.slice(before);
  assert.not(later.some((message) => String(message.parent).startsWith("forged")));
  const right = signature(client.key, frames.slice(2));
  const shown = `${client.log}${JSON.stringify(later)}`;
  for (const secret of [right, client.key, "S3CRET"]) assert.not(shown.includes(secret), secret);
  assert.match(client.log, /not signed with this kernel's key/);
  assert.not(
    cellsOutput().some((text) => /not signed/.test(text)),
    "a cell shows the kernel's log",
  );
});

hostile("a message that is sent twice runs once", async () => {
  await client.execute("let runs = 0;");
  const frames = client.frames("execute_request", cell("runs += 1"), "twice");
  await client.sendFrames("shell", frames);
  await client.sendFrames("shell", frames);
  assert.equal((await client.execute("runs")).outputs[0]?.content.data, { "text/plain": "1" });
});

hostile("200 mutated messages change nothing, and the kernel still answers", async () => {
  const random = new Random(20261130);
  const index = (length: number) => random.integer(length);
  await client.execute("let touched = 0;");
  for (let i = 0; i < 200; i++) {
    const frames = client.frames("execute_request", cell("touched += 1"), `fuzz-${i}`);
    const at = index(frames.length);
    const frame = Buffer.from(frames[at] as Buffer);
    const kind = i % 5;
    if (kind === 0) frame[index(frame.length)] = (frame[index(frame.length)] as number) ^ (1 + index(255));
    if (kind === 1) frames.splice(at, 1);
    else if (kind === 2) frames[at] = frame.subarray(0, index(frame.length));
    else if (kind === 3) frames[at] = Buffer.from(Array.from({ length: 1 + index(200) }, () => index(256)));
    else if (kind === 4) {
      // Signed, but no message: the right signature over parts that are not what they should be.
      const parts = frames.slice(2);
      parts[index(4)] = Buffer.from(["", "{", "[]", "7", "null", '{"msg_type":{}}'][index(6)] as string);
      frames.splice(
        0,
        frames.length,
        Buffer.from("<IDS|MSG>"),
        Buffer.from(signature(client.key, parts)),
        ...parts,
      );
    } else frames[at] = frame;
    await client.sendFrames(i % 2 === 0 ? "shell" : "control", frames);
  }
  const { reply, outputs } = await client.execute("1 + touched * 0");
  assert.is(reply.status, "ok");
  assert.equal(outputs[0]?.content.data, { "text/plain": "1" });
  assert.is((await client.ask("control", "kernel_info_request", {})).reply.status, "ok");
});

hostile("requests with contents of the wrong kinds are answered, each with a status", async () => {
  const odd: [string, unknown, string][] = [
    ["execute_request", { code: 7, user_expressions: [] }, "ok"],
    ["execute_request", {}, "ok"],
    ["complete_request", { code: null, cursor_pos: "x" }, "ok"],
    ["complete_request", { code: "aq.", cursor_pos: 1e9 }, "ok"],
    ["complete_request", { code: "aq.", cursor_pos: -5 }, "ok"],
    ["inspect_request", { code: "aq", cursor_pos: 999 }, "ok"],
    ["history_request", { hist_access_type: "search", pattern: "((((", n: "many" }, "ok"],
    ["history_request", { hist_access_type: 5, n: -1 }, "ok"],
  ];
  for (const [type, content, status] of odd) {
    const { reply } = await client.ask("shell", type, content);
    assert.is(reply.status, status, `${type} ${JSON.stringify(content)}: ${JSON.stringify(reply)}`);
  }
});

hostile("bytes that are no ZeroMQ, on any port, change nothing", async () => {
  const random = new Random(20261201);
  const greeting = Buffer.concat([Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3]), Buffer.alloc(53)]);
  const texts = [
    Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Buffer.from(Array.from({ length: 5000 }, () => random.integer(256))),
    // A right greeting, then a frame that claims to be four exabytes long.
    Buffer.concat([greeting, Buffer.from([0x02, 0x3f, ...Array.from({ length: 7 }, () => 0xff)])]),
  ];
  for (const name of ["shell_port", "control_port", "stdin_port", "iopub_port", "hb_port"]) {
    for (const text of texts) {
      const socket = connect(Number(client.connection[name]), "127.0.0.1");
      // The kernel may hang up at once.
      socket.on("error", () => undefined);
      await once(socket, "connect");
      socket.write(text);
      await new Promise((resolve) => setTimeout(resolve, 20));
      socket.destroy();
    }
  }
  assert.is(await client.beat("still"), "still");
  assert.equal((await client.execute("3")).outputs[0]?.content.data, { "text/plain": "3" });
  assert.is((await client.ask("control", "kernel_info_request", {})).reply.status, "ok");
});

hostile("one message of 5 MB is run, and one of 20 MB is printed, whole", async () => {
  const { outputs } = await client.execute(`"${"x".repeat(5e6)}".length`);
  assert.equal(outputs[0]?.content.data, { "text/plain": "5000000" });
  const printed = await client.execute('console.log("y".repeat(20e6))');
  assert.is(KernelClient.text(printed).length, 20e6 + 1);
});

hostile("user code that breaks the streams, JSON or Promise leaves the kernel answering", async () => {
  for (const code of [
    "process.stdout.write(new Uint8Array([0xff, 0xfe, 0x0a]))",
    'console.log("\\ud800")',
    'process.emit("uncaughtException", new Error("made up")); 1',
    'setTimeout(() => { throw new Error("late") }, 0); await new Promise((r) => setTimeout(r, 50));',
    "process.removeAllListeners; 1",
  ])
    assert.is((await client.execute(code)).reply.status, "ok", code);
  assert.equal((await client.execute("2")).outputs[0]?.content.data, { "text/plain": "2" });
});

hostile("a kernel whose library is not built says so in each cell and in each reply", async () => {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-unbuilt-"));
  mkdirSync(join(folder, "dist/kernel"), { recursive: true });
  // What the kernel imports before its sockets run.
  for (const part of ["jupyter", "session/packed-program.js"])
    cpSync(packagePath(`dist/kernel/${part}`), join(folder, "dist/kernel", part), { recursive: true });
  cpSync(packagePath("package.json"), join(folder, "package.json"));
  symlinkSync(packagePath("node_modules"), join(folder, "node_modules"));
  const unbuilt = await KernelClient.start({
    command: (file) => [process.execPath, join(folder, "dist/kernel/jupyter/main.js"), file],
  });
  try {
    for (let i = 0; i < 2; i++) {
      const { reply, outputs } = await unbuilt.execute("1", { stop_on_error: false });
      assert.is(reply.status, "error");
      assert.match(String(reply.evalue), /session/);
      assert.equal(
        outputs.map((message) => message.type),
        ["error"],
      );
      assert.match(String(outputs[0]?.content.traceback), /npm run setup/);
    }
    assert.is(
      (await unbuilt.ask("shell", "complete_request", { code: "a", cursor_pos: 1 })).reply.status,
      "error",
    );
  } finally {
    await unbuilt.stop();
    rmSync(folder, { recursive: true });
  }
});

hostile("without a connection file, or with a damaged one, the kernel says so and ends with a code", () => {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-connection-"));
  writeFileSync(join(folder, "bad.json"), "{");
  writeFileSync(join(folder, "short.json"), '{"key":""}');
  const start = (...args: string[]) => spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8" });
  try {
    assert.match(start().stderr, /usage/);
    assert.is(start().status, 2);
    for (const [name, text] of [
      ["null", /holds no JSON object/],
      [JSON.stringify({ ...client.connection, shell_port: "abc" }), /shell_port as "abc", which is no port/],
      [JSON.stringify({ ...client.connection, key: 5 }), /key as 5, not as a text/],
      [JSON.stringify({ ...client.connection, ip: "999.1.1.1" }), /ip as "999.1.1.1", which is no address/],
    ] as const) {
      assert.match(String(wrongIn(JSON.parse(name))), text);
    }
    assert.is(wrongIn(client.connection), null);
    for (const [file, text] of [
      ["missing.json", /cannot read the connection file/],
      ["bad.json", /cannot read the connection file/],
      ["short.json", /lacks shell_port/],
    ] as const) {
      const { status, stderr } = start(join(folder, file));
      assert.is(status, 1, file);
      assert.match(stderr, text);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

hostile("a port that is taken ends the kernel with a message", async () => {
  const taken = JSON.stringify({ ...client.connection, key: "k" });
  const file = join(client.folder, "taken.json");
  writeFileSync(file, taken);
  const second = spawn(process.execPath, [PROGRAM, file], { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  second.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const code = await new Promise((resolve) => second.once("close", resolve));
  assert.is(code, 1, text);
  assert.match(text, /Address already in use/);
  assert.is((await client.execute("1")).reply.status, "ok");
});

hostile.run();
