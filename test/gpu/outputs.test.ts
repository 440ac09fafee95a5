import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readNvbandwidth } from "../../kernel/lab/import/nvbandwidth-output.js";
import { readP2pTest } from "../../kernel/lab/import/p2p-test.js";
import { cellOf } from "./nvbandwidth.js";
import { latencyUs } from "./p2p-test.js";

const nvbandwidth = suite("output of nvbandwidth");

const JSON_OUTPUT = `NOTE: a warning before the JSON
${JSON.stringify({
  nvbandwidth: {
    "CUDA Runtime Version": 13000,
    "Driver Version": "580.159.04",
    version: "v0.8",
    testcases: [
      {
        name: "host_to_device_memcpy_ce",
        status: "Passed",
        bandwidth_description: "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
        bandwidth_matrix: [["53.25", "53.5"]],
        sum: 106.75,
      },
      {
        name: "device_to_device_memcpy_write_ce",
        status: "Passed",
        bandwidth_description: "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
        bandwidth_matrix: [
          ["N/A", "396.1"],
          ["395.9", "N/A"],
        ],
        sum: 792,
      },
      {
        name: "device_to_device_bidirectional_memcpy_read_sm",
        status: "Passed",
        bandwidth_description: "memcpy SM GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
        bandwidth_matrix: [
          ["N/A", "350.1"],
          ["350.2", "N/A"],
          ["N/A", "360.1"],
          ["360.2", "N/A"],
          ["N/A", "710.2"],
          ["710.4", "N/A"],
        ],
        sum: 1420.6,
      },
      {
        name: "host_device_latency_sm",
        status: "Passed",
        bandwidth_description: "memory latency SM CPU(row) <-> GPU(column) (ns)",
        bandwidth_matrix: [["1196.4", "1.2e+03"]],
      },
      { name: "device_local_copy", status: "Waived" },
      { name: "no_such_test", status: "ERROR" },
    ],
  },
})}
`;

const TEXT_OUTPUT = `nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 13000
CUDA Driver Version: 13000
Driver Version: 580.159.04

machine
Device 0: NVIDIA H200 (00000000:0f:00)
Device 1: NVIDIA H200 (00000000:10:00)

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    396.10
 1    395.90       N/A

SUM device_to_device_memcpy_write_ce 792.00

Waived: 
Running device_to_device_bidirectional_memcpy_write_ce.
memcpy CE GPU(row) <-> GPU(column) Write1 bandwidth (GB/s)
           0         1
 0       N/A    391.00
 1    391.50       N/A

SUM device_to_device_bidirectional_memcpy_write_ce_write1 782.50

memcpy CE GPU(row) <-> GPU(column) Write2 bandwidth (GB/s)
           0         1
 0       N/A    392.00
 1    392.50       N/A

SUM device_to_device_bidirectional_memcpy_write_ce_write2 784.50

memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
           0         1
 0       N/A    783.00
 1    784.00       N/A

SUM device_to_device_bidirectional_memcpy_write_ce_total 1567.00

Running device_to_device_latency_sm.
Device to Device Latency SM GPU(row) <-> GPU(column) (ns)
           0         1
 0       N/A    830.25
 1    831.50       N/A

SUM device_to_device_latency_sm 1661.75

NOTE: The reported results may not reflect the full capabilities of the platform.
`;

nvbandwidth("JSON gives versions, and cells as numbers, N/A as null", () => {
  const output = readNvbandwidth(JSON_OUTPUT);
  assert.is(output.version, "v0.8");
  assert.is(output.driver, "580.159.04");
  assert.is(output.cudaVersion, 13000);
  assert.is(cellOf(output, "host_to_device_memcpy_ce", 0, 1), 53.5);
  assert.is(cellOf(output, "device_to_device_memcpy_write_ce", 0, 1), 396.1);
  assert.is(cellOf(output, "device_to_device_memcpy_write_ce", 0, 0), null);
  assert.is(cellOf(output, "device_to_device_memcpy_write_ce", 2, 0), null);
  assert.is(output.error, null);
});

nvbandwidth("the three matrices that JSON runs together are told apart", () => {
  const output = readNvbandwidth(JSON_OUTPUT);
  const name = "device_to_device_bidirectional_memcpy_read_sm";
  assert.is(cellOf(output, name, 1, 0, "read1"), 350.2);
  assert.is(cellOf(output, name, 0, 1, "read2"), 360.1);
  assert.is(cellOf(output, name, 0, 1, "total"), 710.2);
  assert.is(cellOf(output, name, 0, 1), null);
});

nvbandwidth("latency is in nanoseconds, by its description", () => {
  const output = readNvbandwidth(JSON_OUTPUT);
  const latency = output.testcases.find((testcase) => testcase.name === "host_device_latency_sm");
  assert.is(latency?.matrices[0]?.unit, "ns");
  assert.equal(latency?.matrices[0]?.cells, [[1196.4, 1200]]);
});

nvbandwidth("a testcase that was waived or failed has its status and no matrix", () => {
  const output = readNvbandwidth(JSON_OUTPUT);
  assert.equal(output.testcases.at(-2), { name: "device_local_copy", status: "waived", matrices: [] });
  assert.equal(output.testcases.at(-1), { name: "no_such_test", status: "error", matrices: [] });
});

nvbandwidth("text gives the same, a waived testcase without its name", () => {
  const output = readNvbandwidth(TEXT_OUTPUT);
  assert.is(output.version, "v0.8");
  assert.is(output.cudaVersion, 13000);
  assert.equal(
    output.testcases.map(({ name, status, matrices }) => [name, status, matrices.map(({ part }) => part)]),
    [
      ["device_to_device_memcpy_write_ce", "passed", [null]],
      [null, "waived", []],
      ["device_to_device_bidirectional_memcpy_write_ce", "passed", ["write1", "write2", "total"]],
      ["device_to_device_latency_sm", "passed", [null]],
    ],
  );
  assert.is(cellOf(output, "device_to_device_memcpy_write_ce", 1, 0), 395.9);
  assert.is(cellOf(output, "device_to_device_bidirectional_memcpy_write_ce", 1, 0, "total"), 784);
  assert.is(cellOf(output, "device_to_device_latency_sm", 0, 1), 830.25);
  assert.is(output.testcases.at(-1)?.matrices[0]?.unit, "ns");
});

nvbandwidth("any other text is refused with its beginning", () => {
  assert.throws(
    () => readNvbandwidth("Segmentation fault"),
    /no output of nvbandwidth: "Segmentation fault"/,
  );
  assert.throws(() => readNvbandwidth("{}"), /no member nvbandwidth/);
});

nvbandwidth.run();

const p2p = suite("output of p2pBandwidthLatencyTest");

const P2P_OUTPUT = `[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA H200, pciBusID: f, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA H200, pciBusID: 10, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1
Device=1 CAN Access Peer Device=0

P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1 
     0 3800.25 390.50 
     1 391.25 3801.75 
P2P=Disabled Latency Matrix (us)
   GPU     0      1 
     0   1.52  15.20 
     1  16.10   1.53 

   CPU     0      1 
     0   2.01   4.10 
     1   4.05   2.02 
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1 
     0   1.51   2.21 
     1   2.25   1.50 

   CPU     0      1 
     0   2.00   2.10 
     1   2.05   1.99 

NOTE: The CUDA Samples are not meant for performance measurements. Results may vary when GPU Boost is enabled.
`;

p2p("matrices are told apart by title, peer access and clock", () => {
  const output = readP2pTest(P2P_OUTPUT);
  assert.equal(output.devices, ["NVIDIA H200", "NVIDIA H200"]);
  assert.equal(
    output.matrices.map(({ unit, peerAccess, clock }) => [unit, peerAccess, clock]),
    [
      ["GB/s", true, null],
      ["us", false, "GPU"],
      ["us", false, "CPU"],
      ["us", true, "GPU"],
      ["us", true, "CPU"],
    ],
  );
  assert.equal(output.matrices[0]?.cells, [
    [3800.25, 390.5],
    [391.25, 3801.75],
  ]);
});

p2p("a latency is found by pair, peer access and clock", () => {
  const output = readP2pTest(P2P_OUTPUT);
  assert.is(latencyUs(output, 0, 1), 2.21);
  assert.is(latencyUs(output, 0, 0), 1.51);
  assert.is(latencyUs(output, 1, 0, { peerAccess: false }), 16.1);
  assert.is(latencyUs(output, 1, 0, { clock: "CPU" }), 2.05);
  assert.is(latencyUs(output, 2, 0), null);
});

p2p("a CUDA failure and any other text are refused", () => {
  assert.throws(
    () => readP2pTest(`${P2P_OUTPUT}Cuda failure p2p.cu:12: 'out of memory'\n`),
    /Cuda failure p2p.cu:12: 'out of memory'/,
  );
  assert.throws(() => readP2pTest("hello"), /no output of p2pBandwidthLatencyTest: "hello"/);
});

p2p.run();
