import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { topology } from "../../../kernel/lab/machine-topology.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { open } from "../../../kernel/lab/open.js";
import { topology as drawing } from "../../../kernel/lab/plot/topology.js";
import { Random } from "../../../kernel/lab/random.js";
import { richDisplay } from "../../../kernel/lab/rich.js";
import { topologyJson } from "../../../kernel/lab/topology/json.js";
import { topologyMatrix } from "../../../kernel/lab/topology/matrix.js";
import { TOPOLOGIES } from "../../../kernel/lab/topology/presets.js";
import { rated } from "../../../kernel/lab/topology/rate.js";
import { parseTopology, readTopology } from "../../../kernel/lab/topology/read.js";
import { scriptedMachine } from "../scripted-machine.js";
import { complaint, errorOf, HWLOC, NCCL, table } from "./helpers.js";

const test = suite("topology files");
const folder = mkdtempSync(join(tmpdir(), "p2plab-topology-"));
test.after(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

test("what is no text, no topology or too large is refused", () => {
  assert.match(complaint(""), /no topology of a known format/);
  assert.match(complaint("hello"), /no topology of a known format \(line 1, column 1\)/);
  assert.match(complaint(Uint8Array.of(0xff, 0xfe, 0x3c, 0x00)), /no UTF-8/);
  assert.match(complaint(Buffer.from("<system/>", "utf16le")), /zero byte/);
  assert.match(complaint(Uint8Array.of(0x1f, 0x8b, 8, 0, 200, 201)), /UTF-8|zero byte/);
  assert.match(complaint(new Uint8Array(17 * 2 ** 20)), /bytes, more than/);
  assert.is(errorOf(() => parseTopology(7 as never)).code, "usage");
  assert.is(errorOf(() => readTopology("")).code, "usage");
  assert.match(errorOf(() => readTopology(join(folder, "none.xml"))).message, /none\.xml/);
  assert.match(errorOf(() => readTopology(folder)).message, /cannot read/);
  assert.match(errorOf(() => readTopology(file("bad.xml", "<system"))).message, /bad\.xml: malformed XML/);
});

test("mutated files are read or refused, never worse (seeded)", () => {
  const random = new Random(20_261_130);
  const preset = TOPOLOGIES.find(({ name }) => name === "dgx1-v100-8");
  assert.ok(preset);
  const seeds = [
    NCCL,
    HWLOC,
    topologyJson(preset),
    topologyMatrix(preset),
    topologyJson(parseTopology(HWLOC)),
  ];
  const words = [
    "<",
    ">",
    '"',
    "&",
    "{",
    "]",
    "\t",
    "\n",
    "GPU0",
    "NV99",
    "-1",
    "1e999",
    "\u0000",
    "é",
    "]]>",
    "<!--",
  ];
  const until = performance.now() + 4000;
  let read = 0;
  let refused = 0;
  while (performance.now() < until && read + refused < 4000) {
    let text = seeds[random.integer(seeds.length)] as string;
    for (let change = random.integer(4); change >= 0; change--) {
      const at = random.integer(text.length + 1);
      const span = random.integer(3) === 0 ? random.integer(200) : random.integer(3);
      const put =
        random.integer(2) === 0 ? (words[random.integer(words.length)] as string) : text.slice(at, at + span);
      text = text.slice(0, at) + put + text.slice(at + span);
    }
    try {
      const { layout } = parseTopology(text);
      if (layout.gpuCount > 0) topologyMatrix(layout, { host: layout.hostOf("gpu0") });
      read++;
    } catch (error) {
      assert.instance(error, P2pError, `${error}\n${text}`);
      refused++;
    }
  }
  assert.ok(read > 50 && refused > 50, `${read} read, ${refused} refused`);
});

test("a file opens as a simulated machine, with rates by generation that it says are assumed", async () => {
  const path = file("nccl.xml", NCCL);
  const machine = await open(`sim:${path}`);
  assert.is(machine.provenance.kind, "simulated");
  assert.is(machine.provenance.source, `sim:${path}`);
  assert.is(machine.info.pairs.find(({ from, to }) => from === 1 && to === 2)?.link, "NV4");
  assert.match(String(machine.info.facts.unknown), /compute capability 9\.0/);
  assert.match(String(machine.info.facts.unknown), /ASSUMPTION granted/);
  const bytes = 64 * 2 ** 20;
  const rate = async (from: number, to: number) =>
    bytes / (await machine.run(transfer({ from, to, bytes }))).samples.convergence.medianNs;
  // Four links of NVLink4 carry 4 / 18 of what 18 do; the way through the CPUs is limited by eight lanes of Gen5.
  assert.ok(Math.abs((await rate(1, 2)) / ((397.5 * 4) / 18) - 1) < 0.05);
  assert.ok((await rate(0, 1)) < 30);
});

test("every format opens, and a machine that was written opens as itself", async () => {
  const preset = TOPOLOGIES.find(({ name }) => name === "pcie-4");
  assert.ok(preset);
  for (const [name, text] of [
    ["hwloc.xml", HWLOC],
    ["topo.txt", `\t${table("GPU0 GPU1", "GPU0 X NV12", "GPU1 NV12 X")}`],
    ["pcie.json", topologyJson(preset)],
    ["nccl.json", topologyJson(parseTopology(NCCL))],
  ] as const) {
    const machine = await open(`sim:${file(name, text)}`);
    const run = await machine.run(transfer({ from: 0, to: 1, bytes: 8 }));
    assert.ok(run.samples.convergence.medianNs > 0, name);
  }
  const written = rated(readTopology(join(folder, "pcie.json")), "x");
  assert.equal({ ...written, graph: null }, { ...preset, name: "x", graph: null });
});

test("what cannot be simulated is refused by name", async () => {
  const amd = NCCL.replaceAll("nvlink", "xgmi");
  assert.match(errorOf(() => rated(parseTopology(amd), "amd")).message, /NVIDIA GPUs only/);
  for (const spec of ["sim:nothing", `sim:${folder}/none.xml`, `sim:${file("bad.json", "{")}`]) {
    try {
      await open(spec);
      assert.unreachable(spec);
    } catch (error) {
      assert.instance(error, P2pError, spec);
    }
  }
});

test("lab.topology shows an opened machine in terms of topo -m, with its provenance", async () => {
  const simulated = await open("sim:hgx-h100-8");
  const text = String(topology(simulated));
  assert.match(text, /^simulated: model of HGX H100 8-GPU/);
  assert.match(text, /GPU0\t X \tNV18/);
  assert.is(topology(simulated).topology?.name, "hgx-h100-8");
  assert.match(String(topology(simulated)[richDisplay]()["text/html"]), /<pre>simulated/);
  assert.match(JSON.stringify(drawing(topology(simulated)).layout), /"name":"watermark"/);
  assert.not.match(JSON.stringify(drawing(parseTopology(NCCL)).layout), /watermark/);
  const rack = String(topology(await open("sim:gb200-nvl72")));
  assert.is(rack.match(/^Computers /gm)?.length, 1);
});

test("of a machine that moves bytes lab.topology knows the pairs, and lists what it does not", () => {
  const machine = scriptedMachine("recorded");
  const linked = {
    ...machine,
    provenance: machine.provenance,
    info: {
      ...machine.info,
      pairs: machine.info.pairs.map((pair) => ({ ...pair, link: "NV18", rawGbps: 478 })),
    },
  };
  const told = topology(linked as never);
  assert.is(told.pairClass(0, 1), "NV18");
  assert.is(told.layout.links.find(({ kind }) => kind === "nvlink")?.rawGbps, 478);
  assert.ok(told.unknown.some((sentence) => /PCIe tree/.test(sentence)));
  assert.is(topology(machine).pairClass(0, 1), null);
  assert.is(errorOf(() => topology({} as never)).code, "usage");
  assert.is(errorOf(() => topology(null as never)).code, "usage");
  assert.is(errorOf(() => topologyMatrix(null as never)).code, "usage");
});

const samples = process.env.P2PLAB_SAMPLES;
if (!samples) {
  test.skip("skipped (optional): no folder of sample files is named by P2PLAB_SAMPLES", () => {});
} else {
  test("real files are read, or refused for what they lack", () => {
    let read = 0;
    for (const part of ["nvidia-smi-topo", "nccl-topo-xml", "hwloc"]) {
      for (const name of readdirSync(join(samples, part))) {
        try {
          const told = readTopology(join(samples, part, name));
          const json = topologyJson(told);
          assert.is(topologyJson(parseTopology(json)), json, name);
          assert.ok(told.layout.gpuCount > 0, name);
          read++;
        } catch (error) {
          assert.instance(error, P2pError, `${name}: ${error}`);
          assert.match((error as P2pError).message, /names no GPU|root element "graphs"/, name);
        }
      }
    }
    assert.ok(read >= 20, `${read} files`);
  });
}

test.run();
