import { spawnSync } from "node:child_process";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { fakeEnvironment, missing } from "../native/toolchain.js";
import { buildLoops } from "./loops.js";

export const TIME_LIMIT_S = 300;

const loops = suite("hand-written loops");
const reason = missing("compiler");

function run(args: readonly string[], settings: Record<string, string> = {}) {
  return spawnSync(buildLoops(), args, { encoding: "utf8", env: fakeEnvironment(settings) });
}

if (reason) {
  loops.skip(`skipped: ${reason}`, () => {});
} else {
  loops("one copy at a time gives its figures, with either wait and between every kind of ends", () => {
    for (const args of [
      ["oneshot", "0", "1", "8", "50"],
      ["oneshot", "0", "0", "8", "50", "synchronize"],
      ["oneshot", "host", "1", "64", "50"],
      ["oneshot", "0", "host", "64", "50"],
    ]) {
      const { status, stdout, stderr } = run(args);
      assert.is(status, 0, stderr);
      assert.is(stderr, "");
      const figures = JSON.parse(stdout);
      assert.is(figures.loop, "oneshot");
      assert.is(figures.bytes, Number(args[3]));
      assert.is(figures.iterations, 50);
      assert.ok(figures.p05Ns > 0 && figures.p05Ns <= figures.medianNs && figures.medianNs <= figures.p95Ns);
      assert.ok(figures.apiMedianNs <= figures.medianNs);
    }
  });

  loops("wrong arguments are refused by name, before the driver is asked", () => {
    for (const [args, says] of [
      [[], "usage: loops oneshot"],
      [["oneshot", "0", "1", "8"], "usage: loops oneshot"],
      [["oneshot", "0", "1", "8", "50", "sync"], "usage: loops oneshot"],
      [["bandwidth", "0", "1", "8", "4"], "usage: loops oneshot"],
      [["oneshot", "-1", "1", "8", "50"], "a GPU number is -1"],
      [["oneshot", "0", "1", "8x", "50"], "BYTES is 8x"],
      [["oneshot", "0", "1", "0", "50"], "a count of 0"],
    ] as const) {
      const { status, stdout, stderr } = run(args, { P2PLAB_LIBCUDA: "/no/libcuda" });
      assert.ok(status === 1 || status === 2, `${args.join(" ")}: ${status}`);
      assert.is(stdout, "");
      assert.ok(stderr.includes(says), stderr);
    }
  });

  loops(
    "a missing driver, a GPU that is not there and memory that is not there end with what was called",
    () => {
      for (const [args, settings, says] of [
        [["oneshot", "0", "1", "8", "5"], { P2PLAB_LIBCUDA: "/no/libcuda" }, "no CUDA driver: /no/libcuda"],
        [["oneshot", "0", "7", "8", "5"], {}, "cuDeviceGet answers 101"],
        [["oneshot", "host", "host", "8", "5"], {}, "one end of a copy must be a GPU"],
        [["oneshot", "0", "1", "1099511627776", "5"], {}, "cuMemAlloc_v2 answers 2"],
        [["pipelined", "host", "1", "8", "5", "5"], {}, "peer copies join GPUs, not the host"],
      ] as const) {
        const { status, stdout, stderr } = run(args, settings);
        assert.is(status, 1);
        assert.is(stdout, "");
        assert.ok(stderr.includes(says), stderr);
      }
    },
  );
}

loops.run();
