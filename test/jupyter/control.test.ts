import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Answer, freePorts, KernelClient, PROGRAM } from "./client.js";

export const TIME_LIMIT_S = 240;

const control = suite("control");
const client = await KernelClient.start();

control.after(() => client.stop());

/** Resolves when the cell has begun. */
function begun(id: string): Promise<unknown> {
  return client.wait((message) => message.parent === id && message.type === "execute_input");
}

control("heartbeat and control answer while user code blocks its thread", async () => {
  const cell = await client.sendCell(
    "const until = Date.now() + 3000; console.log('on'); while (Date.now() < until) {} 'over'",
  );
  await client.wait((message) => message.parent === cell && message.type === "stream");
  assert.is(await client.beat("ping"), "ping");
  const { reply } = await client.ask("control", "kernel_info_request", {});
  assert.is(reply.status, "ok");
  assert.not(client.received.some((message) => message.parent === cell && message.type === "execute_reply"));
  assert.is((await client.answerOf(cell)).reply.status, "ok");
});

control("an interrupt ends a loop; variables are kept and the next cell runs", async () => {
  await client.execute("let kept = 11;");
  const cell = await client.sendCell("console.log('loops'); while (true) {}");
  await client.wait((message) => message.parent === cell && message.type === "stream");
  const { reply, replyType } = await client.ask("control", "interrupt_request", {});
  assert.equal([replyType, reply.status], ["interrupt_reply", "ok"]);
  const answer = await client.answerOf(cell);
  assert.equal([answer.reply.status, answer.reply.ename], ["error", "Interrupted"]);
  assert.equal((await client.execute("kept")).outputs[0]?.content.data, { "text/plain": "11" });
});

control("an interrupt ends a pending await", async () => {
  const cell = await client.sendCell("await new Promise(() => {})");
  await begun(cell);
  // The cell has begun, but TypeScript may still be at work on it: a reader would press again. No press may be left for the next cell.
  let answer: Answer | null = null;
  while (!answer) {
    await client.ask("control", "interrupt_request", {});
    answer = await client.answerOf(cell, 300).catch(() => null);
  }
  assert.is(answer.reply.ename, "Interrupted");
  assert.equal((await client.execute("kept")).outputs[0]?.content.data, { "text/plain": "11" });
});

control("an interrupt ends a child that the cell waits for, and none that runs beside it", async () => {
  // Only Linux tells a process of its children.
  if (process.platform !== "linux") return;
  await client.execute(
    "import * as children from 'node:child_process'; const beside = children.spawn('sleep', ['60']);",
  );
  const cell = await client.sendCell("console.log('waits'); children.execSync('sleep 60; echo over')");
  await client.wait((message) => message.parent === cell && message.type === "stream");
  await client.ask("control", "interrupt_request", {});
  assert.is((await client.answerOf(cell)).reply.ename, "Interrupted");
});

control("SIGINT does the same as an interrupt, and with no cell it does nothing", async () => {
  client.process.kill("SIGINT");
  assert.is((await client.execute("1")).reply.status, "ok");
  const cell = await client.sendCell("console.log('loops'); while (true) {}");
  await client.wait((message) => message.parent === cell && message.type === "stream");
  client.process.kill("SIGINT");
  assert.is((await client.answerOf(cell)).reply.ename, "Interrupted");
});

control(
  "a loop after an await, in a callback and in a timer of an ended cell stop; names are kept",
  async () => {
    for (const code of [
      "let reached = 1; await null; console.log('loops'); while (true) {}",
      "for await (const x of [1]) for (;;) console.log('loops')",
      "await new Promise((done) => setTimeout(() => { console.log('loops'); do {} while (true); }, 1))",
      "let tries = 0; await null; while (true) { try { console.log('loops'); while (true) tries++; } catch { tries = -1; } }",
    ]) {
      const cell = await client.sendCell(code);
      await client.wait((message) => message.parent === cell && message.type === "stream");
      await client.ask("control", "interrupt_request", {});
      const { reply } = await client.answerOf(cell);
      assert.is(reply.ename, "Interrupted", code);
    }
    assert.equal((await client.execute("reached")).outputs[0]?.content.data, { "text/plain": "1" });
    const late = await client.sendCell(
      "void setTimeout(() => { console.log('loops'); while (true) {} }, 100); 'ended'",
    );
    await client.wait((message) => message.parent === late && message.type === "stream");
    await client.ask("control", "interrupt_request", {});
    assert.is(
      (await client.execute("let sum = 0; for (let i = 0; i < 1000; i++) sum += i; sum")).reply.status,
      "ok",
    );
  },
);

control("what an interrupted cell left behind does not go on", async () => {
  const cell = await client.sendCell(
    "let turns = 0; for (;;) { await new Promise((r) => setTimeout(r, 20)); turns++; if (turns === 3) console.log('turns'); }",
  );
  await client.wait((message) => message.parent === cell && message.type === "stream");
  await client.ask("control", "interrupt_request", {});
  assert.is((await client.answerOf(cell)).reply.ename, "Interrupted");
  const { outputs } = await client.execute(
    "const before = turns; await new Promise((r) => setTimeout(r, 200)); turns - before",
  );
  assert.match(JSON.stringify(outputs[0]?.content.data), /^\{"text\/plain":"[01]"\}$/);
});

control("a loop that cannot be stopped says so in its cell", async () => {
  const cell = await client.sendCell(
    "await null; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5000)",
  );
  await begun(cell);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await client.ask("control", "interrupt_request", {});
  const told = await client.wait((message) => message.parent === cell && message.type === "stream");
  assert.match(String(told.content.text), /does not stop.*restart/s);
  await client.answerOf(cell);
});

control("shutdown is answered, and the kernel ends although a timer lives", async () => {
  await client.execute("setInterval(() => {}, 50); 1");
  const id = await client.send("control", "shutdown_request", { restart: true });
  const reply = await client.wait((message) => message.parent === id && message.type === "shutdown_reply");
  assert.equal(reply.content, { status: "ok", restart: true });
  assert.is(await client.exited(), 0);
});

control("shutdown ends a kernel whose cell loops", async () => {
  const second = await KernelClient.start();
  try {
    const cell = await second.sendCell("console.log('loops'); while (true) {}");
    await second.wait((message) => message.parent === cell && message.type === "stream");
    const id = await second.send("control", "shutdown_request", { restart: false });
    await second.wait((message) => message.parent === id && message.type === "shutdown_reply");
    await second.exited();
  } finally {
    await second.stop();
  }
});

control("a kernel ends with the server that started it, even when that was killed", async () => {
  const connection = { ...client.connection };
  const ports = await freePorts(5);
  for (const [i, name] of ["shell_port", "control_port", "stdin_port", "iopub_port", "hb_port"].entries())
    connection[name] = ports[i] as number;
  const file = join(client.folder, "orphan.json");
  writeFileSync(file, JSON.stringify(connection));
  // A server that starts the kernel, whose stderr stays open while the kernel lives.
  const server = spawn(
    process.execPath,
    [
      "-e",
      `const kernel = require("node:child_process").spawn(process.execPath, ${JSON.stringify([PROGRAM, file])}, {
        env: { ...process.env, JPY_PARENT_PID: String(process.pid) }, stdio: ["ignore", "inherit", "inherit"] });
      setTimeout(() => process.stdout.write("started " + kernel.pid), 1500);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const closed = new Promise<void>((resolve) => server.stdout.once("close", resolve));
  await new Promise((resolve) => server.stdout.once("data", resolve));
  server.kill("SIGKILL");
  await closed;
});

control.run();
