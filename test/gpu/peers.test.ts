import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { messageOf } from "../../kernel/lab/index.js";
import { cellOf } from "./nvbandwidth.js";
import { latencyUs } from "./p2p-test.js";
import { execute, findPeer, runNvbandwidth, runP2pTest } from "./peers.js";

const peers = suite("running the public tools");
const folder = mkdtempSync(join(tmpdir(), "p2plab-peers-"));
peers.after(() => rmSync(folder, { recursive: true, force: true }));

/** A program that does what the JavaScript says. */
function tool(name: string, body: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!${process.execPath}\n${body}`);
  chmodSync(file, 0o755);
  return file;
}

async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return messageOf(error);
  }
  return assert.unreachable("it rejects") as never;
}

if (process.platform === "win32") {
  peers.skip("skipped: the public tools are run on Linux only", () => {});
} else {
  peers(
    "testcases are asked for by name and in JSON, and their cells come back with the wall time",
    async () => {
      const path = tool(
        "nvbandwidth",
        `const [json, t, name] = process.argv.slice(2);
       if (json !== "-j" || t !== "-t") process.exit(3);
       console.log(JSON.stringify({ nvbandwidth: { testcases: [{ name, status: "Passed",
         bandwidth_description: "(GB/s)", bandwidth_matrix: [["53.25"]] }] } }));`,
      );
      const { output, wallMs } = await runNvbandwidth(path, ["host_to_device_memcpy_ce"]);
      assert.is(cellOf(output, "host_to_device_memcpy_ce", 0, 0), 53.25);
      assert.ok(wallMs > 0);
    },
  );

  peers("a testcase that failed is an error with its name", async () => {
    const path = tool(
      "failing",
      `console.log(JSON.stringify({ nvbandwidth: { testcases: [{ name: "x", status: "Error" }] } }));`,
    );
    assert.is(await failureOf(runNvbandwidth(path, ["x"])), "nvbandwidth: testcase x failed");
  });

  peers("a tool that ends badly, prints something else, hangs or is not there says so", async () => {
    const dying = tool("dying", `console.error("CUDA_ERROR_NO_DEVICE"); process.exit(7);`);
    assert.match(
      await failureOf(runNvbandwidth(dying, ["x"])),
      /-j -t x ended with code 7: CUDA_ERROR_NO_DEVICE$/,
    );
    const talking = tool("talking", `console.log("hello");`);
    assert.match(await failureOf(runP2pTest(talking)), /^no output of p2pBandwidthLatencyTest: "hello/);
    const hanging = tool("hanging", `setInterval(() => {}, 1000);`);
    assert.match(await failureOf(execute(hanging, [], 300)), /hanging ended with SIGKILL after 0\.3 s/);
    assert.match(await failureOf(runP2pTest(join(folder, "nothing"))), /nothing cannot be run: .*ENOENT/);
  });

  peers("p2pBandwidthLatencyTest is run as it is, and its matrix is read", async () => {
    const path = tool(
      "p2p",
      `if (process.argv.length > 2) process.exit(3);
       console.log("[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\\nP2P=Enabled Latency (P2P Writes) Matrix (us)\\n   GPU     0 \\n     0   1.50 ");`,
    );
    const { output } = await runP2pTest(path);
    assert.is(latencyUs(output, 0, 0), 1.5);
  });

  peers("a tool is taken from the environment, and a missing one says how to get it", () => {
    const before = process.env.P2PLAB_NVBANDWIDTH;
    try {
      process.env.P2PLAB_NVBANDWIDTH = tool("mine", "");
      assert.equal(findPeer("nvbandwidth"), { path: join(folder, "mine") });
      process.env.P2PLAB_NVBANDWIDTH = join(folder, "nothing");
      const found = findPeer("nvbandwidth");
      assert.ok("reason" in found);
      assert.match(found.reason, /^no nvbandwidth at .*build-peers\.mjs, or name one in P2PLAB_NVBANDWIDTH$/);
    } finally {
      if (before === undefined) delete process.env.P2PLAB_NVBANDWIDTH;
      else process.env.P2PLAB_NVBANDWIDTH = before;
    }
  });
}

peers.run();
