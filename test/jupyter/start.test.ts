/** `start.sh`: with a start-up snapshot, without one, and with one that does not fit. Nothing here looks at times. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { nsysFixture } from "../lab/import/nsys-fixture.js";
import { KernelClient } from "./client.js";

export const TIME_LIMIT_S = 400;

const start = suite("start");

if (process.platform === "win32") {
  start.skip("skipped: Windows starts the kernel without a snapshot", () => undefined);
} else {
  // A package of its own around the same code: its snapshot may be spoilt.
  const folder = mkdtempSync(join(tmpdir(), "p2plab start "));
  const script = join(folder, "kernel/jupyter/start.sh");
  const snapshot = join(folder, ".p2plab/kernel.snapshot");
  mkdirSync(join(folder, "kernel/jupyter"), { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  writeFileSync(join(folder, "node_modules/.package-lock.json"), "{}");
  cpSync(packagePath("kernel/jupyter/start.sh"), script);
  symlinkSync(packagePath("dist"), join(folder, "dist"));
  start.after(() => rmSync(folder, { recursive: true, force: true }));

  const began = (env: Record<string, string> = {}) =>
    KernelClient.start({ command: (file) => ["/bin/sh", script, file, process.execPath], env });
  const usesSnapshot = (client: KernelClient) =>
    execFileSync("ps", ["-o", "args=", "-p", String(client.process.pid)], { encoding: "utf8" }).includes(
      "--snapshot-blob",
    );
  const answers = async (client: KernelClient) => {
    const { reply, outputs } = await client.execute("[typeof lab.open, aq.table({ a: [1] }).numRows()]");
    assert.is(reply.status, "ok", JSON.stringify(reply));
    assert.equal(outputs[0]?.content.data, { "text/plain": "[ 'function', 1 ]" });
  };
  const startsWith = async (snapshotUsed: boolean, env: Record<string, string> = {}) => {
    const client = await began(env);
    try {
      assert.is(usesSnapshot(client), snapshotUsed);
      await answers(client);
    } finally {
      await client.stop();
    }
  };

  start("where there is no snapshot, the kernel starts without", () => startsWith(false));

  start("a snapshot is made, and the kernel begins from it and is what it is without", async () => {
    const made = spawnSync(process.execPath, [packagePath("dist/kernel/jupyter/snapshot.js"), snapshot], {
      encoding: "utf8",
    });
    assert.is(made.status, 0, made.stderr);
    const client = await began();
    try {
      assert.ok(usesSnapshot(client));
      await answers(client);
      assert.not(existsSync(`${snapshot}.started`), "the mark of the start is left");
      const value = async (code: string) => {
        const { reply, outputs } = await client.execute(code);
        return (
          (outputs.at(-1)?.content.data as Record<string, string> | undefined)?.["text/plain"] ??
          JSON.stringify(reply)
        );
      };
      assert.is(
        await value("[process.cwd() === __dirname, __filename.startsWith(__dirname)]"),
        "[ true, true ]",
      );
      assert.is(await value("[process.env.GLIBC_TUNABLES, process.execArgv.length]"), "[ undefined, 0 ]");
      // The same library however a cell gets it, and classes by their own names.
      assert.is(
        await value('import { lab as again } from "p2plab"; [again === lab, require("p2plab").lab === lab]'),
        "[ true, true ]",
      );
      assert.is(await value('((await import("arquero")) as any).table === aq.table'), "true");
      assert.is(await value("aq.table({ a: [1] }).constructor.name"), "'ColumnTable'");
      assert.match(await value('await lab.open("sim:nowhere").catch(String)'), /no simulated machine/);
      // Loaded when it is needed, not with the rest.
      const profile = join(folder, "synthetic.sqlite");
      writeFileSync(profile, await nsysFixture("3.4.0"));
      assert.is(await value(`(await lab.import(${JSON.stringify(profile)})).constructor.name`), "'Imported'");
      const { reply } = await client.execute("const wrong: number = 'text'");
      assert.match(String(reply.evalue), /TS2322/);
      assert.match(String((await client.execute('throw new Error("x")')).reply.traceback), /Cell In\[\d+\]/);
      const child =
        'require("child_process").execFileSync(process.execPath, ["-p", "1 + 1"], { encoding: "utf8" })';
      assert.is(await value(child), "'2\\n'");
      const { reply: stopped } = await stoppedLoop(client);
      assert.is(stopped.ename, "Interrupted");
    } finally {
      await client.stop();
    }
  });

  start("options of Node.js that are asked for by the environment are not lost to a snapshot", () =>
    startsWith(false, { NODE_OPTIONS: "--max-old-space-size=3000" }),
  );

  start("a snapshot for another Node.js, another processor or another folder is not used", async () => {
    const fits = readFileSync(`${snapshot}.for`, "utf8");
    const [folder, node, processor] = fits.split("\n");
    const others = [
      [`${folder}/moved`, node, processor],
      [folder, `1 ${node}`, processor],
      [folder, node, `${processor} more`],
      [folder, node],
      [],
    ];
    for (const other of others) {
      writeFileSync(`${snapshot}.for`, other.map((line) => `${line}\n`).join(""));
      await startsWith(false);
    }
    writeFileSync(`${snapshot}.for`, fits);
    await startsWith(true);
  });

  start("a snapshot that is older than what it was made of is not used", async () => {
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(folder, "node_modules/.package-lock.json"), later, later);
    await startsWith(false);
    writeFileSync(join(folder, "node_modules/.package-lock.json"), "{}");
    utimesSync(snapshot, later, later);
    await startsWith(true);
  });

  start("after a start that a damaged snapshot did not survive, the next one does without", async () => {
    writeFileSync(snapshot, "damaged");
    const later = new Date(Date.now() + 60_000);
    utimesSync(snapshot, later, later);
    const died = spawnSync("/bin/sh", [script, "connection.json", process.execPath], { encoding: "utf8" });
    assert.ok(died.status !== 0 || died.signal !== null, "it runs on");
    await startsWith(false);
  });
}

async function stoppedLoop(client: KernelClient) {
  const cell = await client.sendCell("await null; console.log('loops'); while (true) {}");
  await client.wait((message) => message.parent === cell && message.type === "stream");
  await client.ask("control", "interrupt_request", {});
  return client.answerOf(cell);
}

start.run();
