import { suite } from "uvu";
import * as assert from "uvu/assert";
import { topologyMatrix } from "../../../kernel/lab/topology/matrix.js";
import { TOPOLOGIES } from "../../../kernel/lab/topology/presets.js";
import { parseTopology } from "../../../kernel/lab/topology/read.js";
import { complaint, table } from "./helpers.js";

const test = suite("nvidia-smi topo -m");

/** Rows of classes, without titles, affinities and legends. */
function classesOf(text: string): string[] {
  const { layout } = parseTopology(text);
  const devices = [...layout.named("gpu"), ...layout.named("nic")];
  return devices.map((a) => devices.map((b) => (a === b ? "X" : (layout.classOf(a, b) ?? "?"))).join(" "));
}

test("what a preset prints is read back with the same classes, on every computer of it", () => {
  for (const { name, graph } of TOPOLOGIES) {
    for (const host of new Set(graph.named("gpu").map((gpu) => graph.hostOf(gpu)))) {
      const text = topologyMatrix(graph, { host });
      assert.is(topologyMatrix(parseTopology(text)), text, `${name}, computer ${host}`);
    }
  }
});

const COLOURED =
  "\t\u001b[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u001b[0m\nGPU0\t X \tNV18\t0-31\t0\t\tN/A\nGPU1\tNV18\t X \t0-31\t0\t\tN/A\n";

test("escape sequences and empty columns are passed over", () => {
  const { layout } = parseTopology(`$ nvidia-smi topo -m\n${COLOURED}`);
  assert.is(layout.pairClass(0, 1), "NV18");
  assert.is(layout.node("cpu0").numa, 0);
});

test("columns may be parted by blanks, lines end in CR LF, other lines stand around", () => {
  const text = [
    "user@host:~$ nvidia-smi topo -m",
    "        GPU0    GPU1    mlx5_0  CPU Affinity    NUMA Affinity",
    "GPU0     X      PIX     PHB     0-11,24-35      0",
    "GPU1    PIX      X      PHB     0-11,24-35      0",
    "mlx5_0  PHB     PHB      X ",
    "",
    "Legend:",
    "  X    = Self",
  ].join("\r\n");
  assert.equal(classesOf(text), ["X PIX PHB", "PIX X PHB", "PHB PHB X"]);
  assert.is(parseTopology(text).layout.node("nic0").label, "mlx5_0");
});

test("names of network cards come from their legend; their rows may be missing", () => {
  const text = `${table("GPU0 GPU1 NIC0 NIC1", "GPU0 X NV4 PIX SYS", "GPU1 NV4 X SYS PIX")}\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n`;
  const { layout } = parseTopology(text.replace("GPU0", "\tGPU0"));
  assert.is(layout.node("nic1").label, "mlx5_bond_0");
  // PIX to one and SYS to the other prove how far the cards are apart.
  assert.is(layout.classOf("nic0", "nic1"), "SYS");
});

test("words of old drivers are read as what they are called now", () => {
  assert.equal(
    classesOf(`\t${table("GPU0 GPU1 GPU2", "GPU0 X PSB SOC", "GPU1 PSB X SOC", "GPU2 SOC SOC X")}`),
    ["X PIX SYS", "PIX X SYS", "SYS SYS X"],
  );
});

test("what NVLink hides is unknown unless network cards or NUMA nodes prove it", () => {
  const text = `\t${table(
    "GPU0 GPU1 GPU2 NIC0",
    "GPU0 X NV18 NV18 PXB",
    "GPU1 NV18 X NV18 NODE",
    "GPU2 NV18 NV18 X SYS",
    "NIC0 PXB NODE SYS X",
  )}`;
  const { layout, unknown } = parseTopology(text);
  assert.is(layout.classOf("gpu0", "nic0"), "PXB");
  assert.is(layout.named("cpu").length, 2);
  assert.not.ok(layout.nodes.some((node) => node.kind === "hidden"));
  assert.ok(unknown.some((sentence) => /PIX and NODE do not tell/.test(sentence)));
  const alone = parseTopology(`\t${table("GPU0 GPU1", "GPU0 X NV18", "GPU1 NV18 X")}`);
  assert.ok(alone.layout.nodes.some((node) => node.kind === "hidden"));
  assert.is(alone.layout.classOf("gpu0", "cpu0"), null);
  assert.ok(alone.unknown.some((sentence) => /peer access/.test(sentence)));
});

test("so many links to all others as no GPU has prove a switch; few do not", () => {
  const all = (count: number, word: string) =>
    `\t${table(
      Array.from({ length: count }, (_, i) => `GPU${i}`).join(" "),
      ...Array.from({ length: count }, (_, i) =>
        [`GPU${i}`, ...Array.from({ length: count }, (_, j) => (i === j ? "X" : word))].join(" "),
      ),
    )}`;
  assert.is(parseTopology(all(8, "NV12")).layout.named("nvswitch").length, 1);
  assert.is(parseTopology(all(4, "NV4")).layout.named("nvswitch").length, 0);
  assert.ok(parseTopology(all(4, "NV4")).unknown.some((sentence) => /pass a switch/.test(sentence)));
});

test("a malformed table is refused at its line and column", () => {
  const head = "\tGPU0\tGPU1\n";
  assert.match(
    complaint(`${head}GPU0\t X \tNVX\nGPU1\tNV1\t X \n`),
    /"NVX" in row GPU0.*\(line 2, column 10\)/,
  );
  assert.match(complaint(`${head}GPU0\t X \tNV1\n`), /ends before row GPU1.*line 3/);
  assert.match(complaint(`${head}GPU0\t X \nGPU1\tNV1\t X \n`), /row GPU0 ends before column GPU1.*line 2/);
  assert.match(
    complaint(`${head}GPU0\t X \tNV1\nGPU1\tNV2\t X \n`),
    /GPU1 to GPU0 is NV2, but GPU0 to GPU1 is NV1.*line 3/,
  );
  assert.match(
    complaint(`${head}GPU0\tNV1\tNV1\nGPU1\tNV1\t X \n`),
    /"NV1" in row GPU0, column GPU0.*line 2, column 6/,
  );
  assert.match(complaint(`${head}GPU0\tX\tOK\nGPU1\tOK\tX\n`), /topo -p2p; give/);
  assert.match(complaint("\tGPU0\tGPU2\nGPU0\tX\tSYS\nGPU2\tSYS\tX\n"), /no topology|GPU1 is due/);
  assert.match(complaint(`${head}GPU0\tX\tSYS\nGPU0\tX\tSYS\n`), /a second row GPU0 \(line 3/);
});

test("classes that no tree has are refused where they contradict", () => {
  const text = `\t${table("GPU0 GPU1 GPU2", "GPU0 X PIX SYS", "GPU1 PIX X PIX", "GPU2 SYS PIX X")}`;
  assert.match(complaint(text), /GPU0 and GPU2 are SYS, which contradicts.*line 2, column \d+/);
});

test.run();
