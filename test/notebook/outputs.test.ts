import { suite } from "uvu";
import * as assert from "uvu/assert";
import { OutputCollector } from "../../kernel/notebook/outputs.js";
import type { CellOutput } from "../../kernel/session/index.js";

const outputs = suite("outputs of cells");

const stream = (text: string, name: "stdout" | "stderr" = "stdout"): CellOutput => ({
  type: "stream",
  name,
  text,
});
const display = (text: string, displayId: string): CellOutput => ({
  type: "display_data",
  data: { "text/plain": text },
  metadata: {},
  displayId,
});
const update = (text: string, displayId: string): CellOutput => ({
  type: "update_display_data",
  data: { "text/plain": text },
  metadata: {},
  displayId,
});

function collected(...list: CellOutput[]) {
  return collectedWithin(undefined, ...list);
}

function collectedWithin(mostCharacters: number | undefined, ...list: CellOutput[]) {
  const collector = new OutputCollector(mostCharacters);
  for (const output of list) collector.add("cell", output);
  return collector.outputsOf("cell").map((output) => {
    if (output.output_type === "stream") return `${output.name}: ${output.text}`;
    return output.output_type === "error" ? output.ename : String(output.data["text/plain"]);
  });
}

outputs("neighbouring pieces of one stream are one output", () => {
  assert.equal(collected(stream("a"), stream("b"), stream("c", "stderr"), stream("d")), [
    "stdout: ab",
    "stderr: c",
    "stdout: d",
  ]);
});

outputs("an update changes the display in its place", () => {
  assert.equal(collected(display("1", "d"), stream("s"), update("2", "d")), ["2", "stdout: s"]);
});

outputs("an update reaches a display of an earlier cell", () => {
  const collector = new OutputCollector();
  collector.add(1, display("before", "d"));
  collector.add(2, update("after", "d"));
  assert.equal(collector.outputsOf(1), [
    { output_type: "display_data", data: { "text/plain": "after" }, metadata: {} },
  ]);
  assert.equal(collector.outputsOf(2), []);
});

outputs("clearing is immediate, or waits for the next output", () => {
  assert.equal(collected(stream("a"), { type: "clear_output", wait: false }), []);
  assert.equal(collected(stream("a"), { type: "clear_output", wait: true }), ["stdout: a"]);
  assert.equal(collected(stream("a"), { type: "clear_output", wait: true }, stream("b")), ["stdout: b"]);
});

outputs("a display that was emptied is not stored", () => {
  assert.equal(collected(display("1/2", "p"), stream("s"), update("", "p")), ["stdout: s"]);
});

outputs("what finds no room is left out and counted; what was cleared or updated gives its room back", () => {
  const leftOut = (count: number) =>
    `stderr: [p2plab: ${count} characters of output are left out: a notebook's may have 100 in all]\n`;
  const half = "x".repeat(50);
  const within = (...list: CellOutput[]) => collectedWithin(100, ...list);
  assert.equal(within(stream(half), stream(`${half}yz`)), [`stdout: ${half}${half}`, leftOut(2)]);
  const [first, last] = within(display(half, "a"), display(half, "b"));
  assert.is(first, half);
  assert.match(last as string, /characters of output are left out/);
  const clear: CellOutput = { type: "clear_output", wait: false };
  assert.equal(within(stream(half), stream(half), clear, stream(half)), [`stdout: ${half}`]);
  const later = Array.from({ length: 9 }, (_, i) => update(`${i}${half}`, "a"));
  assert.equal(within(display(half, "a"), ...later), [`8${half}`]);
  const error: CellOutput = { type: "error", ename: "E", evalue: half, traceback: [half, half] };
  const shown = within(stream(half), stream(half), stream("!"), error);
  assert.equal(shown, [`stdout: ${half}${half}`, "E", leftOut(1)]);
  const collector = new OutputCollector(100);
  collector.add(0, { ...error, evalue: "y".repeat(9999), traceback: Array(99).fill(half) });
  const [kept] = collector.outputsOf(0);
  assert.ok(kept?.output_type === "error" && kept.evalue.length === 1000 && kept.traceback.length === 20);
});

outputs.run();
