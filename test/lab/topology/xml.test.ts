import { suite } from "uvu";
import * as assert from "uvu/assert";
import { parseTopology } from "../../../kernel/lab/topology/read.js";
import { complaint, HWLOC, NCCL } from "./helpers.js";

const test = suite("topology XML");

test("NCCL's file gives GPUs in the order of their numbers, NUMA nodes, addresses and links", () => {
  const { layout, gpus, unknown } = parseTopology(NCCL);
  assert.is(layout.gpuCount, 3);
  assert.is(layout.node("gpu0").pci, "0000:1f:00.0");
  assert.is(layout.node("gpu2").pci, "0000:5f:00.0");
  assert.is(layout.node("nic0").label, "mlx5_0");
  assert.equal(
    gpus.map((gpu) => gpu.computeCapability),
    ["9.0", "9.0", "9.0"],
  );
  assert.is(layout.pairClass(1, 2), "NV4");
  assert.is(layout.pairClass(0, 1), "PHB");
  assert.is(layout.pairClass(0, 2), "SYS");
  assert.is(layout.classOf("gpu0", "nic0"), "PIX");
  assert.is(layout.classOf("gpu2", "nic0"), "SYS");
  assert.equal(
    layout.named("cpu").map((cpu) => layout.node(cpu).numa),
    [0, 1],
  );
  assert.ok(unknown.some((sentence) => /NODE is told as PHB/.test(sentence)));
});

test("width and line rate are what NCCL says, null where it does not know", () => {
  const { layout } = parseTopology(NCCL);
  const of = (gpu: string) => layout.links.find(({ from, kind }) => from === gpu && kind === "pcie");
  assert.is(of("gpu0")?.width, 8);
  assert.ok(Math.abs((of("gpu0")?.rawGbps ?? 0) - 31.5) < 0.1);
  assert.is(of("gpu2")?.width, null);
  assert.is(of("gpu2")?.rawGbps, null);
});

test("four NVSwitches are one fabric, whatever their addresses", () => {
  const links = [5, 4, 4, 5].map(
    (count, i) => `<nvlink target="0000:0${i + 1}:00.0" count="${count}" tclass="0x068000"/>`,
  );
  const gpu = (bus: string, dev: number) =>
    `<pci busid="0000:${bus}:00.0" class="0x030200"><gpu dev="${dev}" sm="90">${links.join("")}</gpu></pci>`;
  const { layout } = parseTopology(
    `<system version="1"><cpu numaid="0">${gpu("10", 0)}${gpu("20", 1)}</cpu></system>`,
  );
  assert.is(layout.pairClass(0, 1), "NV18");
  assert.equal(layout.way("gpu0", "gpu1")?.nodes, ["gpu0", "nvswitch0", "gpu1"]);
});

test("a link that its two ends count unequally is as wide as the least, and is named", () => {
  const odd = NCCL.replace('target="0000:5f:00.0" count="4"', 'target="0000:5f:00.0" count="12"');
  const { layout, unknown } = parseTopology(odd);
  assert.is(layout.pairClass(1, 2), "NV4");
  assert.ok(
    unknown.some((sentence) => /12 and 4/.test(sentence)),
    unknown.join(),
  );
});

test("computers are told apart by their hash", () => {
  const two = NCCL.replace('numaid="1"', 'numaid="0" host_hash="0x2"');
  const { layout } = parseTopology(two);
  assert.is(layout.hostOf("gpu2"), 1);
  assert.is(layout.pairClass(0, 2), null);
});

test("hwloc's file gives GPUs as NVML counts them, and ports of a switch are one switch", () => {
  const { layout, gpus } = parseTopology(HWLOC);
  assert.is(layout.gpuCount, 3);
  assert.is(layout.node("gpu2").pci, "0000:01:00.0");
  assert.is(gpus[2]?.name, "NVIDIA A100 80GB PCIe");
  assert.is(layout.pairClass(0, 1), "PIX");
  assert.is(layout.pairClass(0, 2), "PHB");
  assert.is(layout.classOf("gpu1", "nic0"), "PIX");
  assert.is(layout.node("nic0").label, "mlx5_0");
  assert.is(layout.named("pcie-switch").length, 1);
});

test("malformed XML is refused at its line and column", () => {
  assert.match(
    complaint('<system version="1">\n  <cpu numaid="0">\n</system>'),
    /malformed XML.*\(line 3, column \d+\)/,
  );
  assert.match(complaint("<system>\n<cpu numaid=0/></system>"), /line 2, column/);
  assert.match(complaint(`${NCCL}<system/>`), /line \d+, column/);
  assert.match(complaint("<system"), /line 1, column/);
});

test("XML of other kinds is refused by its root, with what to give instead", () => {
  assert.match(complaint('<graphs version="1"/>'), /"graphs".*line 1, column 1.*NCCL_TOPO_DUMP_FILE/);
  assert.match(complaint("<html><body/></html>"), /"html"/);
  assert.match(complaint('<system version="1"><cpu numaid="0"/></system>'), /names no GPU/);
  assert.match(complaint("<topology/>"), /names no GPU/);
  assert.match(complaint('<system version="1"><gpu dev="0"/></system>'), /outside of any cpu/);
});

test("a device listed twice is refused where it is listed again", () => {
  assert.match(
    complaint(NCCL.replace('0000:5f:00.0" class', '0000:0f:00.0" class')),
    /second PCI device 0000:0f:00.0.*line 2\d,/,
  );
});

test("entities are not expanded, and deep nesting ends in an error", () => {
  const bomb = `<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;">]><system><cpu numaid="&b;"/></system>`;
  assert.match(complaint(bomb), /entity/);
  assert.match(complaint(`${"<pci>".repeat(100_000)}`), /nests more than 200/);
});

test.run();
