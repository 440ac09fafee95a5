import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readConfig } from "../../../kernel/lab/doctor/pci-config.js";
import { Random } from "../../../kernel/lab/random.js";
import { configSpace } from "./config-space.js";

const test = suite("PCI configuration space");

const FLAGS = [
  "sourceValidation",
  "translationBlocking",
  "requestRedirect",
  "completionRedirect",
  "upstreamForwarding",
  "egressControl",
  "directTranslated",
] as const;

test("every ACS bit is its own flag, wherever the capability stands in the list", () => {
  const random = new Random(1);
  for (let round = 0; round < 400; round++) {
    const bits = random.integer(128);
    const before = random.integer(6);
    const { acs, portType } = readConfig(configSpace({ type: 6, acs: bits, before }));
    assert.is(portType.value, "downstream");
    assert.is(acs.value?.supported, true);
    FLAGS.forEach((flag, bit) => {
      assert.is(acs.value?.[flag], (bits & (1 << bit)) !== 0, `${flag} of ${bits}`);
    });
  }
});

test("a port without the capability redirects nothing, and says so", () => {
  const { acs } = readConfig(configSpace({ type: 4, acs: null }));
  assert.is(acs.value?.supported, false);
  assert.is(acs.value?.requestRedirect, false);
});

test("each type of port is told apart", () => {
  const types = { 0: "endpoint", 1: "endpoint", 4: "root-port", 5: "upstream", 6: "downstream", 7: "other" };
  for (const [code, wanted] of Object.entries(types)) {
    assert.is(readConfig(configSpace({ type: Number(code), acs: null })).portType.value, wanted);
  }
});

test("what a reader without root gets, 64 bytes, is unknown and says why", () => {
  const { acs, portType } = readConfig(configSpace({ type: 6, acs: 0x1d }).subarray(0, 64));
  for (const told of [acs, portType]) {
    assert.is(told.value, null);
    assert.match("reason" in told ? told.reason : "", /only 64 bytes .* without root/);
  }
});

test("cut anywhere, it is either as the whole says or unknown", () => {
  const whole = configSpace({ type: 6, acs: 0x1d, before: 3 });
  const wanted = readConfig(whole);
  for (let length = 0; length <= whole.length; length += 4) {
    const { acs, portType } = readConfig(whole.subarray(0, length));
    if (acs.value !== null) assert.equal(acs, wanted.acs, `${length} bytes`);
    if (portType.value !== null) assert.equal(portType, wanted.portType, `${length} bytes`);
  }
  assert.is(readConfig(whole.subarray(0, 256)).acs.value, null);
});

test("a device that does not answer is unknown", () => {
  assert.is(readConfig(new Uint8Array(4096).fill(0xff)).acs.value, null);
});

test("a list that leads in a circle, and any bytes at all, come to an end", () => {
  const circle = configSpace({ type: 6, acs: null });
  new DataView(circle.buffer, circle.byteOffset).setUint32(0x100, (0x100 << 20) | (1 << 16) | 1, true);
  assert.is(readConfig(circle).acs.value?.supported, false);
  const random = new Random(2);
  for (let round = 0; round < 2000; round++) {
    const length = random.integer(4097);
    const bytes = Uint8Array.from({ length }, () => random.integer(256));
    const { acs, portType } = readConfig(bytes);
    for (const told of [acs, portType]) {
      assert.ok(told.value !== null || ("reason" in told && told.reason !== ""), `round ${round}`);
    }
  }
});

test.run();
