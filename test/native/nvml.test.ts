import { spawnSync } from "node:child_process";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { coreProgram, fakeEnvironment, fakeNvml, inChild, missing, SANITIZED } from "./toolchain.js";

export const TIME_LIMIT_S = 900;

const test = suite("what NVML tells, under AddressSanitizer and UBSan, and through Node.js");

/** Contract, test of nvml_test.cc, environment. */
const CASES: readonly [string, string, Record<string, string>?][] = [
  ["without NVML everything of it is not-available, and CUDA works", "absent", { P2PLAB_NVML: "/no/nvml" }],
  [
    "an nvmlInit that fails is a stated reason",
    "init-fails",
    fails("nvmlInit_v2=9", "nvmlInit failed: NVML_ERROR_DRIVER_NOT_LOADED"),
  ],
  [
    "an error that no header names is shown by its number",
    "init-fails",
    fails("nvmlInit_v2=12345", "nvmlInit failed: nvmlReturn_t 12345"),
  ],
  ["every fact of a GPU and of its links is told", "facts"],
  [
    "two readings tell what changed between them, of the GPU and link that changed",
    "states",
    { P2PLAB_FAKE_NVML: "0/smClock=1200@2,0/events=0x24@2,0/replay:3=7@2,0/tx:3=4@2,0/foreign=40@2" },
  ],
  ["clocks events have names, unknown ones their bit", "event-names"],
  ["a library of which every call fails knows no GPU", "all-fails", { P2PLAB_FAKE_NVML_FAIL: "*=999" }],
  [
    "values that all fail are all missing with the reason",
    "values-fail",
    { P2PLAB_FAKE_NVML_FAIL: "values=15" },
  ],
  [
    "a single call that is not supported costs its own value only",
    "single-fails",
    { P2PLAB_FAKE_NVML_FAIL: "nvmlDeviceGetPowerUsage=3,nvmlDeviceGetBAR1MemoryInfo=3" },
  ],
  [
    "links are told by the calls of old drivers where no field tells of them",
    "links-by-calls",
    {
      P2PLAB_FAKE_NVML: "links=4,replay:2=5,recovery:2=1,crc:2=2",
      P2PLAB_FAKE_NVML_FAIL: "nvmlDeviceGetFieldValues=3",
    },
  ],
  ["a GPU without NVLink has no links", "no-links", { P2PLAB_FAKE_NVML: "links=0" }],
  ["CUDA's GPU is found by its UUID", "joined", joins("uuid", "")],
  ["where the UUID is not known, by its PCI address", "joined", joins("pci", "0/uuid=0")],
  [
    "a MIG slice is joined to the GPU that it was cut from",
    "joined-slice",
    { P2PLAB_FAKE_MIG: "1", P2PLAB_FAKE_NVML: "0/smClock=1111" },
  ],
  [
    "GPUs in another order than the machine's are joined to their own",
    "joined-permuted",
    {
      CUDA_VISIBLE_DEVICES: "2,0",
      P2PLAB_FAKE_DEVICES: "3",
      P2PLAB_FAKE_NVML: "0/smClock=1000,2/smClock=1222",
    },
  ],
  [
    "each way between two GPUs has its status",
    "pairs",
    { P2PLAB_FAKE_NVML: "0/read=1,0/write=2,0/nvlink=3,0/atomics=4,0/pci=6,0/topology=30" },
  ],
];

function fails(rule: string, reason: string): Record<string, string> {
  return { P2PLAB_FAKE_NVML_FAIL: rule, P2PLAB_TEST_EXPECT: reason };
}

function joins(by: string, rule: string): Record<string, string> {
  return { P2PLAB_FAKE_NVML: `0/smClock=1111,${rule}`, P2PLAB_TEST_EXPECT: by };
}

const compiler = missing("compiler");
if (compiler) {
  test.skip(`skipped: ${compiler}`, () => {});
} else {
  for (const [title, name, settings] of CASES) test(title, () => passes(name, settings));
  test("an older library tells the same by its older calls", () => {
    passes("old-library", { P2PLAB_NVML: fakeNvml(true), P2PLAB_FAKE_NVML: "events=4" });
  });
}

function passes(name: string, settings: Record<string, string> = {}): void {
  const program = coreProgram("nvml_test", "test/native/nvml_test.cc", SANITIZED);
  const env = { ...fakeEnvironment(settings), ASAN_OPTIONS: "detect_leaks=1" };
  const run = spawnSync(program, [name], { env, encoding: "utf8", timeout: 300_000 });
  assert.is(run.status, 0, `${name} ${JSON.stringify(settings)}\n${run.stderr}`);
}

const addon = compiler ?? missing("addon");
if (addon) test.skip(`skipped: ${addon}`, () => {});
else registerAddon();

function registerAddon(): void {
  test("numbers are numbers, what is missing is null with its reason", () => {
    const [library, facts, state, pair] = inChild(
      `print(addon.availability().nvml); print(addon.nvmlFacts(1)); print(addon.nvmlState(1)); print(addon.nvmlPair(0, 1));`,
      { P2PLAB_FAKE_NVML: "links=1,events=5", P2PLAB_FAKE_NVML_FAIL: "nvmlDeviceGetTemperature=3" },
    ).lines;
    assert.is(library.available, true);
    assert.is(library.reason, null);
    assert.is(library.version, "13.580.95.05");
    assert.is(library.driverVersion, "580.95.05");
    assert.equal(facts, {
      pci: "0000:11:00.0",
      maxSmClockMhz: 1980,
      maxMemoryClockMhz: 2619,
      powerLimitW: 700,
      maxPcieGeneration: 5,
      maxPcieWidth: 16,
      persistence: true,
      computeMode: "default",
      mig: false,
      ecc: true,
      bar1Bytes: 274877906944,
      displayActive: false,
      virtualization: "none",
      fabric: "completed",
      linkCount: 1,
      missing: {},
      joinedBy: "uuid",
      links: [
        {
          active: true,
          version: 4,
          speedMBps: 26562,
          remoteType: "switch",
          remotePci: "0000:90:00.0",
          missing: {},
          link: 0,
        },
      ],
    });
    assert.type(state.processes[0].pid, "number");
    delete state.processes;
    assert.equal(state, {
      smClockMhz: 1980,
      memoryClockMhz: 2619,
      pcieGeneration: 5,
      pcieWidth: 16,
      performanceState: 0,
      events: ["gpu_idle", "sw_power_cap"],
      temperatureC: null,
      powerW: 90,
      pcieReplays: 0,
      pcieTxBytes: 0,
      pcieRxBytes: 0,
      eccUncorrected: 0,
      missing: { temperatureC: "nvmlDeviceGetTemperature: NVML_ERROR_NOT_SUPPORTED" },
      links: [
        {
          active: true,
          replayErrors: 0,
          recoveryErrors: 0,
          crcErrors: 0,
          receiveErrors: null,
          txBytes: 0,
          rxBytes: 0,
          missing: { receiveErrors: "nvmlDeviceGetFieldValues: NVML_ERROR_NOT_SUPPORTED" },
          link: 0,
        },
      ],
    });
    assert.equal(pair, {
      read: "OK",
      write: "OK",
      nvlink: "OK",
      atomics: "OK",
      pci: "OK",
      commonAncestor: "system",
      missing: {},
    });
  });

  test("without NVML availability says why and each call is not-available", () => {
    const { lines, status } = inChild(
      `print(addon.availability().nvml);
       for (const call of [() => addon.nvmlFacts(0), () => addon.nvmlState(0), () => addon.nvmlClocks(0), () => addon.nvmlPair(0, 1)])
         try { call(); print("?"); } catch (error) { print(failure(error)); }
       print(addon.availability().cuda.available);`,
      { P2PLAB_NVML: "/no/nvml" },
    );
    assert.is(status, 0);
    assert.is(lines[0].available, false);
    assert.match(lines[0].reason, "NVML cannot be opened (/no/nvml");
    assert.is(lines[0].version, null);
    for (const refused of lines.slice(1, 5)) {
      assert.is(refused.code, "not-available");
      assert.match(refused.hint, "utility");
    }
    assert.is(lines[5], true);
  });

  test("arguments of every wrong kind are refused by name", () => {
    const { lines, status } = inChild(
      `for (const wrong of [undefined, null, "0", -1, 1.5, NaN, 2 ** 40, {}, 0n])
         for (const call of ["nvmlFacts", "nvmlState", "nvmlClocks"])
           try { addon[call](wrong); print("?"); } catch (error) { print(failure(error)); }
       for (const wrong of [[], [0], [0, "1"], [NaN, 1], [1, 1]])
         try { addon.nvmlPair(...wrong); print("?"); } catch (error) { print(failure(error)); }
       try { addon.nvmlState(2); } catch (error) { print(failure(error)); }`,
    );
    assert.is(status, 0);
    assert.is(lines.length, 33);
    for (const refused of lines) assert.is(refused.code, "usage", JSON.stringify(refused));
    assert.match(lines[32].message, "there is no GPU 2");
  });
}

test.run();
