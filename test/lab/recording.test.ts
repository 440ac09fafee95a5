import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromArrays, tableToIPC } from "@uwdata/flechette";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/errors.js";
import type { Machine, Run } from "../../kernel/lab/machine.js";
import { RecordedMachine } from "../../kernel/lab/machines/recorded.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import { Random } from "../../kernel/lab/random.js";
import { decodeRecording, encodeRecording } from "../../kernel/lab/recording/format.js";
import { mergeRecordings } from "../../kernel/lab/recording/merge.js";
import { keepRun, saveRecording, startRecording } from "../../kernel/lab/recording/recorder.js";
import { scriptedMachine } from "./scripted-machine.js";

const recordings = suite("recording");
const peer8 = transfer({ from: 0, to: 1, bytes: 8 });
const staged8 = transfer({ from: 0, to: 1, bytes: 8, path: "staged" });

function inFolder<T>(use: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-"));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function recorded(
  machine: Machine,
  kinds: readonly (undefined | "copies" | "full")[],
): Promise<Uint8Array> {
  startRecording();
  for (const program of [peer8, staged8]) {
    for (const trace of kinds)
      keepRun(machine, await machine.run(program, trace ? { trace } : {}), trace ?? null);
  }
  return inFolder((folder) => {
    saveRecording(join(folder, "x-2026-01-02.arrow"));
    return readFileSync(join(folder, "x-2026-01-02.arrow"));
  });
}

function refusal(action: () => unknown): P2pError {
  try {
    action();
  } catch (error) {
    if (error instanceof P2pError) return error;
    throw error;
  }
  return assert.unreachable("it was accepted") as never;
}

recordings("what was measured comes back bit for bit, as recorded", async () => {
  const machine = scriptedMachine("measured");
  const bytes = await recorded(machine, [undefined, "copies"]);
  const replay = new RecordedMachine(decodeRecording(bytes, "x"), "recorded:x");
  const original = await machine.run(peer8, { trace: "copies" });
  const again = await replay.run(peer8, { trace: "copies" });
  assert.equal([...again.samples.totalNs], [...original.samples.totalNs]);
  assert.equal([...again.samples.apiNs], [...original.samples.apiNs]);
  assert.equal(again.samples.convergence, original.samples.convergence);
  assert.equal(
    [...(again.trace as never as { engineNs: Float64Array }).engineNs],
    [...(original.trace as NonNullable<Run["trace"]>).engineNs],
  );
  assert.equal(again.trace?.timeline.lane, original.trace?.timeline.lane);
  assert.is(again.provenance.kind, "recorded");
  assert.is(again.provenance.date, machine.provenance.date);
  assert.equal(replay.info, machine.info);
  assert.equal(
    replay.programs.map((p) => p.hash),
    [peer8.hash, staged8.hash],
  );
});

recordings(
  "a run asked for without a trace has none, and with a kind that was not recorded is refused",
  async () => {
    const replay = new RecordedMachine(
      decodeRecording(await recorded(scriptedMachine("measured"), ["copies"]), "x"),
      "recorded:x",
    );
    assert.is((await replay.run(peer8)).trace, null);
    try {
      await replay.run(peer8, { trace: "full" });
      assert.unreachable("a trace was made up");
    } catch (error) {
      assert.is((error as P2pError).code, "not-recorded");
      assert.match((error as P2pError).message, /traced by "full"/);
    }
  },
);

recordings("a program that was not recorded is refused, by name and with what to do", async () => {
  const replay = new RecordedMachine(
    decodeRecording(await recorded(scriptedMachine("measured"), [undefined]), "x"),
    "recorded:x",
  );
  try {
    await replay.run(transfer({ from: 0, to: 1, bytes: 24 }));
    assert.unreachable("a run was made up");
  } catch (error) {
    assert.is((error as P2pError).code, "not-recorded");
    assert.match((error as P2pError).message, /24 B/);
    assert.match((error as P2pError).hint, /holds 2 programs/);
  }
});

recordings(
  "recordings of one machine are put into one file: each program once, the last run of it",
  async () => {
    const machine = scriptedMachine("measured");
    const first = await recorded(machine, [undefined]);
    const second = await recorded(machine, [undefined, "copies"]);
    const other = decodeRecording(first, "x");
    const [gpu] = other.info.gpus;
    const moved = { ...other.info, gpus: [{ ...(gpu as typeof gpu & object), pci: "0000:99:00.0" }] };
    inFolder((folder) => {
      const [a, b, c, out] = ["a", "b", "c", "out"].map((name) => join(folder, `${name}.arrow`)) as [
        string,
        string,
        string,
        string,
      ];
      writeFileSync(a, first);
      writeFileSync(b, second);
      writeFileSync(c, encodeRecording({ ...other, info: moved }));
      assert.is(mergeRecordings([a, b], out), 4);
      const merged = decodeRecording(readFileSync(out), "out");
      const late = decodeRecording(second, "b").runs;
      assert.is(merged.runs.length, 4);
      for (const run of late) {
        const kept = merged.runs.find(
          (r) => r.program.hash === run.program.hash && r.traceKind === run.traceKind,
        );
        assert.equal([...(kept?.totalNs ?? [])], [...run.totalNs]);
      }
      assert.match(refusal(() => mergeRecordings([a, c], out)).message, /holds one machine/);
      assert.is(refusal(() => mergeRecordings([], out)).code, "recording");
      assert.match(
        refusal(() => mergeRecordings([a, join(folder, "none")], out)).message,
        /none cannot be read/,
      );
      assert.is(decodeRecording(readFileSync(out), "out").runs.length, 4);
    });
  },
);

recordings("a simulation or a recording is never recorded", async () => {
  for (const kind of ["simulated", "recorded"] as const) {
    const machine = scriptedMachine(kind);
    startRecording();
    keepRun(machine, await machine.run(peer8), null);
    assert.is(refusal(() => saveRecording("/nonexistent/never")).code, "recording");
  }
});

recordings("what is not a recording is refused with the reason", () => {
  const arrow = tableToIPC(tableFromArrays({ a: [1] }), { format: "file" }) as Uint8Array;
  assert.match(
    refusal(() => decodeRecording(new Uint8Array(), "empty")).message,
    /empty cannot be read.*not an Arrow/,
  );
  assert.match(
    refusal(() => decodeRecording(new TextEncoder().encode("{}"), "json")).message,
    /not an Arrow/,
  );
  assert.match(refusal(() => decodeRecording(arrow, "foreign")).message, /holds no p2plab recording/);
});

recordings("every truncation and every flipped byte is refused or changes nothing", async () => {
  const bytes = await recorded(scriptedMachine("measured"), ["copies"]);
  const whole = JSON.stringify(decodeRecording(bytes, "x"));
  const random = new Random(11);
  for (let round = 0; round < 400; round++) {
    const damaged = round % 4 === 0 ? bytes.slice(0, random.integer(bytes.length)) : bytes.slice();
    if (round % 4 !== 0) damaged[random.integer(damaged.length)] = random.integer(256);
    try {
      assert.is(JSON.stringify(decodeRecording(damaged, "x")), whole);
    } catch (error) {
      assert.instance(error, P2pError);
      assert.is((error as P2pError).code, "recording");
    }
  }
});

recordings("opening names neither shipped nor a file is a machine-spec error; a directory too", () => {
  for (const name of ["no-such-machine", tmpdir()])
    assert.is(refusal(() => RecordedMachine.open(name)).code, "machine-spec");
});

recordings("opening a damaged file names the file", () => {
  inFolder((folder) => {
    const file = join(folder, "bad.arrow");
    writeFileSync(file, "ARROW1 and nothing more");
    const error = refusal(() => RecordedMachine.open(file));
    assert.is(error.code, "recording");
    assert.ok(error.message.includes(file));
  });
});

recordings("an encoded recording is an Arrow file that other tools open", async () => {
  const bytes = encodeRecording(
    decodeRecording(await recorded(scriptedMachine("measured"), ["copies"]), "x"),
  );
  assert.is(new TextDecoder().decode(bytes.subarray(0, 6)), "ARROW1");
  assert.is(new TextDecoder().decode(bytes.subarray(-6)), "ARROW1");
});

recordings.run();
