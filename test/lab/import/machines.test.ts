import { suite } from "uvu";
import * as assert from "uvu/assert";
import { HWLOC, NCCL } from "../topology/helpers.js";
import { HWLOC_DISTANCES, NCCL_GRAPH, NCCL_LOG, SMI, SMI_Q, SMI_XML } from "./fixtures.js";
import { cells, read, refusal, rows } from "./helpers.js";

const test = suite("imported descriptions of machines");

test("the log of NCCL: channels, communicators, its model of the machine, choices, settings and warnings", async () => {
  const imported = await read(NCCL_LOG);
  assert.equal([imported.format, imported.version], ["nccl-log", "2.28.9+cuda13.0"]);
  assert.equal(
    rows(imported, "channels").map((row) =>
      cells(row, "channel", "from_rank", "to_rank", "transport", "via", "read"),
    ),
    [
      [0, 0, 1, "P2P", "P2P/CUMEM/read", true],
      [0, 1, 0, "P2P", "P2P/CUMEM/read", true],
    ],
  );
  assert.equal(
    rows(imported, "links").map((row) => cells(row, "from", "to", "kind", "gbps")),
    [
      ["CPU/0-0", "PCI/0-c000", "PCI", 24],
      ["PCI/0-c000", "GPU/0-f000", "PCI", 24],
      ["GPU/0-f000", "NVS/0-0", "NVL", 360],
      ["CPU/0-0", "GPU/0-10000", "PCI", 24],
    ],
  );
  assert.equal(cells(rows(imported, "paths")[1], "from", "to", "hops", "gbps", "type"), [
    "GPU/0-f000",
    "GPU/0-10000",
    2,
    360,
    "NVL",
  ]);
  assert.equal(cells(rows(imported, "graphs")[0], "pattern", "channels", "intra_gbps"), ["ring", 12, 30]);
  assert.equal(cells(rows(imported, "choices")[0], "bytes", "algorithm", "protocol", "channels"), [
    4096,
    "RING",
    "LL",
    4,
  ]);
  assert.equal(cells(rows(imported, "settings")[0], "variable", "value"), ["NCCL_P2P_LEVEL", "NVL"]);
  assert.equal(cells(rows(imported, "warnings")[0], "time", "text"), [
    "2026-11-30T08:00:01",
    "something is odd",
  ]);
  assert.ok(imported.notes.some((note) => /assumes for its model of the machine/.test(note)));
});

test("the log of NCCL: prefixes of launchers, colours, carriage returns, byte order marks and UTF-16 make no difference", async () => {
  const plain = rows(await read(NCCL_LOG), "channels");
  const lines = NCCL_LOG.split("\n");
  const variants: (string | Uint8Array)[] = [
    lines.map((line, i) => `[1,${i % 2}]<stdout>:${line}`).join("\n"),
    lines.map((line) => `   [1,0]<stderr>:${line}`).join("\n"),
    lines.map((line) => `0: ${line}`).join("\n"),
    lines.map((line) => `    ${line}`).join("\n"),
    lines.map((line) => `2026-11-30T08:00:00.123456789Z ${line}`).join("\r\n"),
    lines.map((line) => `\u001b[32m${line}\u001b[0m`).join("\r\n"),
    `\ufeff${NCCL_LOG}`,
    Buffer.from(`\ufeff${NCCL_LOG}`, "utf16le"),
    Buffer.from(NCCL_LOG, "utf16le").swap16(),
  ];
  for (const [i, variant] of variants.entries()) {
    assert.equal(rows(await read(variant), "channels"), plain, `variant ${i}`);
  }
});

test("old lines of NCCL: rings by bus id, shared memory, no prefix at all", async () => {
  const imported = await read(
    "NCCL INFO Ring 00 : 0[6000] -> 1[b000] via P2P/IPC\nNCCL INFO Channel 01 : 1[b000] -> 0[6000] via direct shared memory\nNCCL INFO Ring 02 : 15 -> 0 [receive] via NET/AWS Libfabric/3/GDRDMA\n",
  );
  assert.equal(
    rows(imported, "channels").map((row) => cells(row, "channel", "from_device", "transport", "via")),
    [
      [0, "6000", "P2P", "P2P/IPC"],
      [1, "b000", "SHM", "direct shared memory"],
      [2, null, "NET", "NET/AWS Libfabric/3/GDRDMA"],
    ],
  );
});

test("old lines of NCCL: a graph with one type, a communicator without its bus id", async () => {
  const imported = await read(
    "h:1:2 [0] NCCL INFO Pattern 2, crossNic 1, nChannels 1, speed 44/44, nvlink 1, type 3, sameChannels 1\nh:1:2 [1] NCCL INFO comm 0x7f0000000010 rank 1 nranks 2 cudaDev 1 nvmlDev 3 - Init COMPLETE\n",
  );
  assert.equal(
    rows(imported, "graphs").map((row) => cells(row, "channels", "intra_gbps", "intra_type", "inter_type")),
    [[1, 44, "3", null]],
  );
  assert.equal(
    rows(imported, "communicators").map((row) => cells(row, "rank", "nvml_device", "bus_id")),
    [[1, 3, null]],
  );
});

test("NCCL's topology: devices and links, and the topology itself", async () => {
  const imported = await read(NCCL);
  assert.is(imported.format, "nccl-topology");
  assert.is(imported.topology?.layout.gpuCount, 3);
  const gpus = rows(imported, "devices").filter((row) => row.kind === "gpu");
  assert.equal(
    gpus.map((row) => cells(row, "id", "parent", "numa", "device", "sm")),
    [
      ["0000:0f:00.0", "0000:08:00.0", 0, 1, 90],
      ["0000:1f:00.0", "0000:18:00.0", 0, 0, 90],
      ["0000:5f:00.0", "cpu1", 1, 2, 90],
    ],
  );
  assert.equal(
    rows(imported, "links").map((row) => cells(row, "kind", "to", "count", "gbps")),
    [
      ["nvlink", "0000:5f:00.0", 4, null],
      ["net", "mlx5_0", null, 50],
      ["nvlink", "0000:0f:00.0", 4, null],
    ],
  );
  const template = await read(
    NCCL.replace(/<gpu[^>]*\/>/g, "")
      .replace(/<gpu[\s\S]*?<\/gpu>/g, "")
      .replaceAll("0x030200", "0x120000"),
  );
  assert.is(template.topology, null);
  assert.ok(template.notes.some((note) => /makes no topology to simulate.*names no GPU/.test(note)));
});

test("NCCL's graph: patterns and the stops of their channels, and channels that are missing", async () => {
  const imported = await read(NCCL_GRAPH);
  assert.equal(cells(rows(imported, "graphs")[0], "pattern", "channels", "intra_gbps", "intra_type"), [
    "ring",
    2,
    30,
    "NVL",
  ]);
  assert.equal(
    rows(imported, "channels").map((row) => cells(row, "channel", "position", "kind", "device")),
    [
      [0, 0, "net", 0],
      [0, 1, "gpu", 0],
      [0, 2, "gpu", 1],
    ],
  );
  assert.ok(imported.notes.some((note) => /nchannels is 2, but 1 channels follow/.test(note)));
});

test("nvidia-smi: every table that stands in one text", async () => {
  const imported = await read(SMI);
  assert.is(imported.topology?.pairClass(0, 1), "NV4");
  assert.equal(cells(rows(imported, "pairs")[1], "from", "to", "class"), ["GPU0", "GPU1", "NV4"]);
  assert.equal(cells(rows(imported, "affinity")[1], "cpu_affinity", "numa_affinity"), ["16-31", "1"]);
  assert.equal(
    rows(imported, "p2p").map((row) => row.status),
    ["X", "OK", "CNS", "X"],
  );
  assert.equal(
    rows(imported, "nvlink").map((row) => cells(row, "gpu", "link", "active", "link_gbps")),
    [
      [0, 0, true, 26.562],
      [0, 1, false, null],
    ],
  );
  assert.equal(cells(rows(imported, "nvlink_errors")[0], "gpu", "error", "count"), [0, "Replay Errors", 3]);
  assert.ok(imported.notes.some((note) => /^GPU 1: NVML: Unable to retrieve NVLink/.test(note)));
});

test("nvidia-smi: which capability a table of topo -p2p is of, where the command stands above it", async () => {
  const imported = await read("$ nvidia-smi topo -p2p w\n \tGPU0\tGPU1\n GPU0\tX\tNS\n GPU1\tNS\tX\n");
  assert.equal(cells(rows(imported, "p2p")[1], "capability", "from", "to", "status"), [
    "write",
    "GPU0",
    "GPU1",
    "NS",
  ]);
});

test("nvidia-smi: words that are none are null and told; links that were cut out are missed", async () => {
  const odd = await read(SMI.replace("NV4\t X", "QQ\t X"));
  assert.equal(
    rows(odd, "pairs").map((row) => row.class),
    ["X", "NV4", null, "X"],
  );
  assert.ok(odd.notes.some((note) => /"QQ" in row GPU1, column GPU0/.test(note)));
  const cut = await read(SMI.replace("Link 1: <inactive>", "Link 3: <inactive>"));
  assert.ok(cut.notes.some((note) => /Links 1, 2 of GPU 0 are missing/.test(note)));
  assert.is(rows(cut, "gpus")[0]?.active_links, null);
});

test("nvidia-smi nvlink: capabilities, counters of errors and data, bit error rates, a GPU without its UUID", async () => {
  const imported = await read(
    [
      "GPU 3: NVIDIA Synthetic 1",
      "\t Link 0, P2P is supported: true",
      "\t Link 0, Access to system memory supported: false",
      "\t Link 0: Malformed packet Errors: 2",
      "\t Link 0: Tx discards: 7",
      "\t Link 0: FEC Errors - 0: 28912",
      "\t Link 0: Effective BER: 15e-255",
      "\t Link 0: Data Tx: 12 KiB",
      "\t Link 0: Data Rx: N/A KiB",
      "\t Link 0: Remote Device 00000008:00:00.0: Link 3",
    ].join("\n"),
  );
  assert.equal(
    rows(imported, "nvlink_capabilities").map((row) => cells(row, "gpu", "link", "capability", "supported")),
    [
      [3, 0, "P2P", true],
      [3, 0, "Access to system memory", false],
    ],
  );
  assert.equal(
    rows(imported, "nvlink_errors").map((row) => cells(row, "gpu", "error", "count", "bit_error_rate")),
    [
      [3, "Malformed packet Errors", 2, null],
      [3, "Tx discards", 7, null],
      [3, "FEC Errors - 0", 28912, null],
      [3, "Effective BER", null, 1.5e-254],
    ],
  );
  assert.equal(
    rows(imported, "nvlink_data").map((row) => cells(row, "counter", "bytes")),
    [
      ["Data Tx", 12288],
      ["Data Rx", null],
    ],
  );
  assert.ok(imported.notes.some((note) => /none of nvlink -s, -c, -e or -gt, left out: 1\./.test(note)));
});

test("nvidia-smi -q -x: numbers in the library's units, reasons for what is missing, nothing private", async () => {
  const imported = await read(SMI_XML);
  const [gpu] = rows(imported, "gpus");
  assert.equal(
    cells(
      gpu,
      "name",
      "pcie_generation",
      "pcie_max_width",
      "pcie_tx_gbps",
      "pcie_rx_gbps",
      "memory_bytes",
      "power_w",
    ),
    ["NVIDIA SYNTHETIC", 1, 16, 0.002, null, 2 ** 30, 71.5],
  );
  assert.equal(cells(gpu, "clocks_events", "memory_used_bytes", "date"), [
    "gpu_idle",
    null,
    "2026-11-30T08:00:00",
  ]);
  assert.ok(imported.notes.some((note) => /"\[Insufficient Permissions\]": memory_used_bytes/.test(note)));
  assert.ok(imported.notes.some((note) => /attached_gpus is 2, but the file holds 1/.test(note)));
  assert.not(JSON.stringify([imported, rows(imported, "gpus")]).includes("secret"));
  assert.match((await refusal(read(SMI_XML.slice(0, 700)))).message, /malformed XML.*line/);
  const list = "<mig_devices><mig_device/><mig_device/></mig_devices>";
  const split = await read(SMI_XML.replace(/(<gpu id="[^"]*">)/, `$1${list}`));
  assert.is(rows(split, "gpus")[0]?.mig_devices, 2);
  assert.ok(split.notes.some((note) => /Split into MIG devices.*: GPU 0\./.test(note)));
});

test("nvidia-smi -q: a row a field below its sections, nothing private", async () => {
  const imported = await read(SMI_Q);
  const fields = rows(imported, "fields");
  assert.equal(
    fields.slice(-4).map((row) => cells(row, "gpu", "section", "field", "value", "number", "unit")),
    [
      [0, "PCI / GPU Link Info / PCIe Generation", "Max", "5", 5, null],
      [0, "PCI", "Tx Throughput", "2000 KB/s", 2000, "KB/s"],
      [1, null, "Product Name", "NVIDIA SYNTHETIC", null, null],
      [1, null, "Fan Speed", null, null, null],
    ],
  );
  assert.equal(cells(fields[0], "machine", "date"), ["2 × NVIDIA SYNTHETIC", "2026-11-30T08:00:00"]);
  assert.not(JSON.stringify(fields).includes("secret"));
});

test("hwloc: devices, kinds by version, and bandwidths between GPUs", async () => {
  const imported = await read(HWLOC_DISTANCES);
  assert.equal(
    cells(rows(imported, "devices")[0], "pci", "class", "link_gbps", "os_devices", "os_kinds", "gpu_model"),
    ["0000:01:00.0", "0302", 63, "nvml0", "gpu+coproc", "NVIDIA SYNTHETIC"],
  );
  assert.equal(
    rows(imported, "distances").map((row) => cells(row, "matrix", "from", "to", "gbps")),
    [
      ["NVLinkBandwidth", "5", "5", null],
      ["NVLinkBandwidth", "5", "6", 400],
      ["NVLinkBandwidth", "6", "5", 399],
      ["NVLinkBandwidth", "6", "6", null],
    ],
  );
  const old = await read(HWLOC);
  assert.is(old.topology?.layout.gpuCount, 3);
  assert.is(rows(old, "devices").find((row) => row.pci === "0000:06:00.0")?.os_kinds, "net openfabrics");
  const short = await read(HWLOC_DISTANCES.replace(" 399000", ""));
  assert.ok(short.notes.some((note) => /NVLinkBandwidth .*hold 3 values for 2 objects/.test(note)));
});

test.run();
