import { suite } from "uvu";
import * as assert from "uvu/assert";
import { fakeNvml, inLab, missing } from "../../native/toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("state of the GPUs around a run, on the stand-in NVML");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

const OPEN = "const machine = await CudaMachine.open();";
const RUN = `${OPEN} const run = await machine.run(push(), { sampling: quick });
  print({ state: run.state, stateReason: run.stateReason, warnings: run.warnings, n: run.samples.totalNs.length });`;

/** One run with NVML telling these values. */
function runWith(values: string, settings: Record<string, string> = {}) {
  const child = inLab(RUN, { P2PLAB_FAKE_NVML: values, ...settings });
  assert.is(child.status, 0, child.stderr);
  assert.ok(child.lines[0].n >= 10);
  return child.lines[0];
}

/** Facts, name and first pair of a machine of which NVML tells these values. */
function infoWith(values: string, settings: Record<string, string> = {}) {
  const child = inLab(`${OPEN} print(machine.info);`, { P2PLAB_FAKE_NVML: values, ...settings });
  assert.is(child.status, 0, child.stderr);
  return child.lines[0];
}

function register(): void {
  test("a healthy run has the state of every GPU before and after, and no warning", () => {
    const { state, stateReason, warnings } = runWith("1/temperature=51@2,0/tx=4@4");
    assert.equal(warnings, []);
    assert.is(stateReason, null);
    const gpu = {
      gpu: 0,
      idle: false,
      smClockMhz: 1980,
      memoryClockMhz: 2619,
      performanceState: 0,
      events: [],
      temperatureC: 35,
      powerW: 90,
      pcieGeneration: 5,
      pcieWidth: 16,
      pcieReplays: 0,
      pcieTxBytes: 0,
      pcieRxBytes: 0,
      eccUncorrected: 0,
      foreignProcesses: 0,
      nvlink: {
        activeLinks: 18,
        replayErrors: 0,
        recoveryErrors: 0,
        crcErrors: 0,
        receiveErrors: null,
        txBytes: 0,
        rxBytes: 0,
      },
      missing: {},
    };
    assert.equal(state.before, [gpu, { ...gpu, gpu: 1 }]);
    assert.is(state.after[1].temperatureC, 51);
  });

  test("only the GPUs that a program touches are read", () => {
    const [gpus] = inLab(
      `${OPEN} const alone = program().buffer("a", { gpu: 1, bytes: 8 }).buffer("b", { gpu: 1, bytes: 8 }).stream("s", { gpu: 1 }).copy("s", "a", "b").sync("s");
       const { state } = await machine.run(alone, { sampling: quick }); print([state.before, state.after].map((list) => list.map(({ gpu }) => gpu)));`,
      { P2PLAB_FAKE_DEVICES: "3" },
    ).lines;
    assert.equal(gpus, [[1], [1]]);
  });

  // A value's second reading in a run is the one before it, the third the one after it, where waking looks at the value
  // first, or joining a GPU does; otherwise its first and second.
  for (const [what, values, warning] of [
    [
      "a throttle reason that is active",
      "0/events=0x4@3",
      "throttled: GPU 0 had its clocks held down before and after the run (sw_power_cap)",
    ],
    [
      "a throttle reason that came up",
      "1/events=0x40@4",
      "throttled: GPU 1 had its clocks held down after the run (hw_thermal_slowdown)",
    ],
    [
      "an SM clock that fell by more than 5 %",
      "0/smClock=1880@4",
      "clock: the SM clock of GPU 0 fell from 1980 to 1880 MHz during the run",
    ],
    [
      "a memory clock that fell",
      "1/memoryClock=1300@4",
      "clock: the memory clock of GPU 1 fell from 2619 to 1300 MHz during the run",
    ],
    [
      "a PCIe generation that changed",
      "0/pcieGeneration=4@4",
      "pcie: the PCIe generation of GPU 0 changed from 5 to 4 during the run",
    ],
    [
      "a PCIe link narrower than it could be",
      "1/pcieWidth=8",
      "pcie: GPU 1 runs at PCIe width 8 under load, where 16 is possible",
    ],
    ["a PCIe replay", "0/pcieReplays=3,0/pcieReplays=4@2", "pcie: GPU 0 had 1 PCIe replay during the run"],
    [
      "NVLink errors, by link",
      "0/replay:3=2@2,0/replay:7=1@2",
      "nvlink: GPU 0 had 3 NVLink replays during the run (link 3, 7)",
    ],
    [
      "a link that recovered",
      "0/recovery:5=1@2",
      "nvlink: GPU 0 had 1 NVLink recovery during the run (link 5)",
    ],
    ["a CRC error", "0/crc:0=1@3", "nvlink: GPU 0 had 1 NVLink CRC error during the run (link 0)"],
    // Facts, before, after: joining asks the first link only.
    ["a link that went down", "0/active:4=0@3", "nvlink: GPU 0 lost 1 NVLink during the run (link 4)"],
    [
      "an uncorrected memory error",
      "0/ecc=7,0/ecc=9@2",
      "ecc: GPU 0 had 2 uncorrected ECC errors during the run",
    ],
    ["processes of others", "1/foreign=2@2", "shared: 2 other processes had work on GPU 1 during the run"],
  ] as const) {
    test(`${what} is said with the samples, which are kept`, () => {
      assert.equal(runWith(values).warnings, [warning]);
    });
  }

  test("a clock that fell by 5 % or less, errors from before and counters that were reset are no taint", () => {
    assert.equal(runWith("smClock=1881@4,replay:3=9,pcieReplays=8,pcieReplays=0@2,ecc=5").warnings, []);
  });

  test("an idle reading is labelled, and its clocks and PCIe generation are not held against it", () => {
    const { state, warnings } = runWith(
      "0/events=1@4,0/smClock=345@4,0/pcieGeneration=1@4,0/memoryClock=405@4",
    );
    assert.equal(warnings, []);
    assert.is(state.before[0].idle, false);
    assert.is(state.after[0].idle, true);
    assert.is(state.after[0].pcieGeneration, 1);
  });

  test("a GPU that rests is woken until clock and PCIe generation stand still", () => {
    const { state, warnings } = runWith(
      "0/smClock=345,0/pcieGeneration=1,0/state=8,0/smClock=1200@3,0/smClock=1980@4,0/pcieGeneration=5@4,0/state=0@4",
    );
    assert.equal(warnings, []);
    assert.is(state.before[0].smClockMhz, 1980);
    assert.is(state.before[0].pcieGeneration, 5);
  });

  test("a GPU that never settles is measured all the same, and it is said", () => {
    const jumps = Array.from({ length: 300 }, (_, i) => `0/smClock=${i % 2 ? 1000 : 1100}@${i + 1}`).join(
      ",",
    );
    const { warnings } = runWith(jumps, { P2PLAB_FAKE_DELAY_NS: "1000000" });
    assert.match(
      warnings[0],
      /^clock: GPU 0 had not settled 300 ms after it was woken \(SM clock 1\d00 → 1\d00 MHz, /,
    );
  });

  test("without NVML runs have no state but the reason; nothing else changes", () => {
    const { state, stateReason, warnings } = runWith("", { P2PLAB_NVML: "/no/nvml" });
    assert.is(state, null);
    assert.match(stateReason, "NVML cannot be opened");
    assert.equal(warnings, []);
    const info = infoWith("", { P2PLAB_NVML: "/no/nvml" });
    assert.is(info.name, "2 × Fake GPU");
    assert.is(info.pairs[0].link, null);
    assert.is(info.pairs[0].rawGbps, null);
    assert.match(info.facts.nvml, /^none: NVML cannot be opened/);
    assert.is(info.facts.persistence, null);
  });

  test("an nvmlInit that fails and a library of which every call fails are reasons, too", () => {
    const init = runWith("", { P2PLAB_FAKE_NVML_FAIL: "nvmlInit_v2=18" });
    assert.is(init.state, null);
    assert.is(init.stateReason, "nvmlInit failed: NVML_ERROR_LIB_RM_VERSION_MISMATCH");
    const all = runWith("", { P2PLAB_FAKE_NVML_FAIL: "*=999" });
    assert.is(all.state, null);
    assert.match(all.stateReason, "NVML does not know GPU 0");
  });

  test("values that NVML does not tell are null with their reason, and taint nothing", () => {
    const { state, warnings } = runWith("", { P2PLAB_FAKE_NVML_FAIL: "values=3" });
    assert.equal(warnings, []);
    assert.is(state.before[0].smClockMhz, null);
    assert.is(state.before[0].foreignProcesses, null);
    assert.is(state.before[0].nvlink, null);
    assert.is(state.before[0].missing.smClockMhz, "nvmlDeviceGetClockInfo: NVML_ERROR_NOT_SUPPORTED");
    assert.match(state.before[0].missing.foreignProcesses, "NVML_ERROR_NOT_SUPPORTED");
  });

  test("an old library without the newer calls tells the state", () => {
    const { state, warnings } = runWith("", { P2PLAB_NVML: fakeNvml(true) });
    assert.equal(warnings, []);
    assert.equal(state.after[1].missing, {});
    assert.is(infoWith("", { P2PLAB_NVML: fakeNvml(true) }).pairs[0].link, "NV18");
  });

  test("identifiers from another PID namespace: one of those listed is this process, an empty list tells nothing", () => {
    assert.equal(runWith("own=0,foreign=1").warnings, []);
    assert.equal(
      runWith("own=0,foreign=3").warnings[0],
      "shared: 2 other processes had work on GPU 0 during the run",
    );
    const { state, warnings } = runWith("own=0");
    assert.equal(warnings, []);
    assert.is(state.before[0].foreignProcesses, null);
    assert.match(state.before[0].missing.foreignProcesses, "PID namespace");
  });

  for (const [what, values, link, rawGbps] of [
    ["18 NVLinks to switches", "", "NV18", 478.116],
    ["NVLinks to the other GPU directly", "links=4,remote=0,speed=25781", "NV4", 103.124],
    ["the smaller number where one GPU has fewer links", "1/links=12", "NV12", 318.744],
    ["links that are down do not count", "active:2=0,active:9=0", "NV16", 424.992],
    ["behind one PCIe switch, generation 4", "links=0,topology=10,maxPcieGeneration=4", "PIX", 31.508],
    ["behind several PCIe switches", "links=0,topology=20", "PXB", 63.015],
    ["through the host bridge, the narrower end", "links=0,topology=30,1/maxPcieWidth=8", "PHB", 31.508],
    ["within a NUMA node, generation 3", "links=0,topology=40,maxPcieGeneration=3", "NODE", 15.754],
    ["between NUMA nodes, generation 2", "links=0,topology=50,maxPcieGeneration=2", "SYS", 8],
    ["generation 6", "links=0,topology=10,maxPcieGeneration=6", "PIX", 121],
    ["switches without peer access over NVLink", "nvlink=5,topology=50", "SYS", 63.015],
  ] as const) {
    test(`the link of a pair: ${what} → ${link}`, () => {
      const info = infoWith(values);
      assert.is(info.pairs[0].link, link);
      assert.is(info.pairs[0].rawGbps, rawGbps);
      assert.is(info.name, `2 × Fake GPU (${link})`);
    });
  }

  test("a link class that not all pairs share stays out of the machine's name", () => {
    const info = infoWith("links=4,remote=0", { P2PLAB_FAKE_DEVICES: "4" });
    assert.is(info.name, "4 × Fake GPU");
    const links = Object.fromEntries(
      info.pairs.map(({ from, to, link }: { from: number; to: number; link: string }) => [
        `${from}>${to}`,
        link,
      ]),
    );
    assert.is(links["0>1"], "NV4");
    assert.is(links["0>2"], "SYS");
    assert.is(links["3>2"], "NV4");
  });

  test("a generation or width that is not known leaves the rate unknown, and the class stands", () => {
    const [pair] = infoWith("links=0,topology=10", {
      P2PLAB_FAKE_NVML_FAIL: "nvmlDeviceGetMaxPcieLinkWidth=3",
    }).pairs;
    assert.is(pair.link, "PIX");
    assert.is(pair.rawGbps, null);
  });

  test("facts of the GPUs are one value where they agree, otherwise one for each", () => {
    const { facts } = infoWith("1/persistence=0,bar1=0x10000000");
    assert.is(facts.nvml, "13.580.95.05");
    assert.is(facts.persistence, "GPU 0 on, GPU 1 off");
    assert.is(facts.bar1_bytes, 268435456);
    assert.is(facts.mig, "off");
    assert.is(facts.nvswitch_fabric, "completed");
  });

  test("with CUDA_VISIBLE_DEVICES in another order, state, links and reasons are those of the right GPUs", () => {
    const [state, pairs] = inLab(
      `${OPEN} print((await machine.run(push(), { sampling: quick })).state.after.map(({ gpu, smClockMhz }) => [gpu, smClockMhz]));
       print(machine.info.pairs.map(({ from, to, link }) => [from, to, link]));`,
      {
        CUDA_VISIBLE_DEVICES: "3,0,2",
        P2PLAB_FAKE_DEVICES: "4",
        P2PLAB_FAKE_NVML: "links=4,remote=0,0/smClock=1950,3/smClock=1960",
      },
    ).lines;
    assert.equal(state, [
      [0, 1960],
      [1, 1950],
    ]);
    assert.equal(pairs, [
      [0, 1, "SYS"],
      [0, 2, "NV4"],
      [1, 0, "SYS"],
      [1, 2, "SYS"],
      [2, 0, "NV4"],
      [2, 1, "SYS"],
    ]);
  });

  test("of a MIG slice the state is that of the GPU that it was cut from", () => {
    const [result] = inLab(
      `${OPEN} const alone = program().buffer("a", { gpu: 0, bytes: 8 }).buffer("b", { gpu: 0, bytes: 8 }).stream("s", { gpu: 0 }).copy("s", "a", "b").sync("s");
       const { state } = await machine.run(alone, { sampling: quick });
       print([machine.info.name, machine.info.facts.mig, state.after[0].powerW]);`,
      { P2PLAB_FAKE_MIG: "1", P2PLAB_FAKE_NVML: "0/power=123000" },
    ).lines;
    assert.equal(result, ["1 × Fake GPU MIG 1g.18gb", "on", 123]);
  });

  for (const [what, values, said] of [
    ["the chipset", "read=1", "NVML says CNS: the chipset does not support it"],
    ["the GPU", "read=2", "NVML says GNS: the GPU does not support it"],
    ["the topology", "read=3", "NVML says TNS: the topology does not support it"],
    ["a registry key", "read=4", "NVML says DR: it is turned off by a setting of the driver"],
    ["nothing said", "read=5", "NVML says NS: it is not supported"],
    ["writes only", "read=0,write=1", "NVML says CNS"],
    ["nothing known", "read=0,write=0", "NVML sees nothing that stands against it"],
    ["MIG", "read=5,1/mig=1", "GPU 1 is in MIG mode, and slices have no peer access"],
    [
      "the fabric",
      "read=6,fabric=2",
      "not registered with the NVSwitch fabric (in-progress): see systemctl status",
    ],
    ["the fabric's failure", "read=6,fabricStatus=999", "NVSwitch fabric (failed: NVML_ERROR_UNKNOWN)"],
    [
      "BAR1",
      "read=1,links=0,bar1=0x10000000",
      "BAR1 of GPU 0 is 256 MiB for 1024 MiB of memory: turn on Above 4G",
    ],
    ["a virtual machine", "virtualization=1", "GPU 0 is passed into a virtual machine"],
  ] as const) {
    test(`no peer access is explained: ${what}`, () => {
      const child = inLab(
        `${OPEN} print(machine.info.pairs[0].reason);
         await machine.run(push(), { sampling: quick }).catch((error) => print(failure(error)));`,
        { P2PLAB_FAKE_MODE: "no-peer", P2PLAB_FAKE_NVML: values },
      );
      const [told, refused] = child.lines;
      assert.match(told, "the driver does not let GPU 0 access the memory of GPU 1; ");
      assert.match(told, said);
      assert.match(told, "look at nvidia-smi topo -p2p r");
      assert.is(refused.code, "not-available");
      assert.is(refused.message, `no peer access: ${told}`);
    });
  }

  test("without NVML no peer access says that the reason is not known", () => {
    const info = infoWith("", { P2PLAB_FAKE_MODE: "no-peer", P2PLAB_NVML: "/no/nvml" });
    assert.match(info.pairs[0].reason, "NVML cannot say why (NVML cannot be opened");
  });

  test("a run's state goes into a recording and comes back", () => {
    const [same, reasons] = inLab(
      `${OPEN}
       const { decodeRecording, encodeRecording } = await import(${from("recording/format")});
       const { RecordedMachine } = await import(${from("machines/recorded")});
       const run = await machine.run(push(), { sampling: quick });
       const kept = { ...run, ...run.samples, traceKind: null };
       const { provenance, info } = machine;
       const replay = new RecordedMachine(decodeRecording(encodeRecording({ provenance, info, runs: [kept] }), "x"), "recorded:x");
       const again = await replay.run(push());
       print(JSON.stringify(again.state) === JSON.stringify(run.state) && again.state.before.length === 2);
       print([run.stateReason, again.stateReason]);`,
    ).lines;
    assert.is(same, true);
    assert.equal(reasons, [null, null]);
  });
}

function from(file: string): string {
  return JSON.stringify(new URL(`../../../kernel/lab/${file}.js`, import.meta.url).href);
}

test.run();
