import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { KernelClient } from "./client.js";

export const TIME_LIMIT_S = 240;

const output = suite("output");
const client = await KernelClient.start();

output.after(() => client.stop());

output(
  "what is written to the file descriptor, by the cell or a child, reaches the cell before idle",
  async () => {
    const answer =
      await client.execute(`import { writeSync } from "node:fs"; import { execSync, spawn } from "node:child_process";
writeSync(1, "by descriptor 汉字\\n"); execSync("echo from a child", { stdio: "inherit" });
await new Promise((done) => spawn("sh", ["-c", "printf later"], { stdio: "inherit" }).on("exit", done));`);
    assert.is(KernelClient.text(answer), "by descriptor 汉字\nfrom a child\nlater");
    assert.is(answer.published.at(-1)?.content.execution_state, "idle");
  },
);

output("more than a pipe holds, written at once by a child, arrives whole", async () => {
  const answer = await client.execute(
    `import { execSync } from "node:child_process"; execSync("seq 1 200000", { stdio: "inherit" }); 1`,
  );
  const lines = KernelClient.text(answer).split("\n");
  assert.is(lines.length, 200_001);
  assert.ok(lines.every((line, i) => line === "" || line === String(i + 1)));
});

output(
  "where the log can be opened a second time, descriptor 2 reaches the cell, and the log stays the log",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "p2plab-log-"));
    const logFile = join(folder, "log");
    const other = await KernelClient.start({ logFile });
    try {
      const answer = await other.execute(
        'import { writeSync } from "node:fs"; writeSync(2, "to two\\n"); writeSync(1, "to one\\n");',
      );
      assert.is(KernelClient.text(answer, "stderr"), "to two\n");
      assert.is(KernelClient.text(answer), "to one\n");
      await other.sendFrames("shell", other.frames("execute_request", {}, "forged", "another key"));
      await other.execute("1");
      assert.match(readFileSync(logFile, "utf8"), /not signed with this kernel's key/);
    } finally {
      await other.stop();
      rmSync(folder, { recursive: true });
    }
  },
);

output("100 MB from one cell arrive whole, and the kernel answers meanwhile", async () => {
  const cell = await client.sendCell(
    "const line = 'x'.repeat(9_999) + '\\n'; for (let i = 0; i < 10_000; i++) process.stdout.write(line); 'done'",
  );
  assert.is((await client.ask("control", "kernel_info_request", {})).reply.status, "ok");
  const answer = await client.answerOf(cell);
  const text = KernelClient.text(answer);
  assert.is(text.length, 100_000_000);
  const line = `${"x".repeat(9_999)}\n`;
  const digest = (value: string) => createHash("sha256").update(value).digest("hex");
  assert.is(digest(text), digest(line.repeat(10_000)));
  client.received.length = 0;
});

output("late output goes to the cell that began it, also while another runs", async () => {
  const early = await client.sendCell("void setTimeout(() => console.log('of the first'), 300); 0");
  await client.answerOf(early);
  const later = await client.execute(
    "await new Promise((done) => setTimeout(done, 600)); console.log('of the second')",
  );
  assert.is(KernelClient.text(later), "of the second\n");
  await client.wait((message) => message.parent === early && message.type === "stream");
});

output("a thousand cells that were sent at once run in order, each with its own output", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 1000; i++) ids.push(await client.sendCell(String(i % 10)));
  const last = await client.answerOf(ids.at(-1) as string, 200_000);
  const first = (await client.answerOf(ids[0] as string)).reply.execution_count as number;
  assert.is(last.reply.execution_count, first + 999);
  const values = client.received.filter(
    (message) => message.type === "execute_result" && ids.includes(message.parent as string),
  );
  assert.equal(
    values.map((message) => (message.content.data as Record<string, string>)["text/plain"]).join(""),
    "0123456789".repeat(100),
  );
});

output.run();
