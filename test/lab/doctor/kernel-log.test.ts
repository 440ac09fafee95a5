import { suite } from "uvu";
import * as assert from "uvu/assert";
import { liveKernelLog, readKernelLog } from "../../../kernel/lab/doctor/kernel-log.js";
import { LostRoot } from "../../../kernel/lab/doctor/root.js";
import { known, reasonOf } from "../../../kernel/lab/doctor/told.js";

const test = suite("what the kernel's log tells");

class Log extends LostRoot {
  readonly #text: string;
  constructor(text: string) {
    super("not looked at");
    this.#text = text;
  }
  override text() {
    return known(this.#text);
  }
}

const factsOf = (...lines: string[]) => readKernelLog(new Log(lines.join("\n")));

test("Xid errors are counted by GPU and number", () => {
  // As in NVIDIA's Xid documentation and in nvidia-container-toolkit, gpu-operator and open-gpu-kernel-modules issues.
  const { xids } = factsOf(
    "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:01:00): 31, pid=1234, name=python, Ch 00000008, intr 10000000. MMU Fault",
    "NVRM: Xid (PCI:0000:01:00): 31, pid=1235, name=python, Ch 00000009, intr 10000000. MMU Fault",
    "NVRM: Xid (PCI:0000:01:00): 13, Graphics SM Warp Exception",
    "NVRM: Xid (PCI:00000008:01:00): 119, Timeout waiting for RPC from GSP",
    "NVRM: GPU 0000:01:00.0: RmInitAdapter failed!",
    "usb 1-1: Xid (PCI:0000:3b:00): 79",
  );
  assert.equal(xids, [
    { pci: "00000008:01:00.0", xid: 119, count: 1 },
    { pci: "0000:01:00.0", xid: 13, count: 1 },
    { pci: "0000:01:00.0", xid: 31, count: 2 },
    { pci: "0000:3b:00.0", xid: 79, count: 1 },
  ]);
});

test("accesses that the IOMMU refused are counted, in the words of AMD's and Intel's", () => {
  const { iommuFaults } = factsOf(
    "nvidia 0000:c1:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0036 address=0x2800a000 flags=0x0030]",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=c1:00.0 domain=0x0036 address=0x2800a000 flags=0x0030]",
    "DMAR: [DMA Write NO_PASID] Request device [4f:00.0] fault addr 0x38000000 [fault reason 0x05]",
    "DMAR: [DMA Read] Request device [0000:4f:00.0] PASID ffffffff fault addr 0 [fault reason 06]",
    "DMAR: Intel(R) Virtualization Technology for Directed I/O",
  );
  assert.equal(iommuFaults, [
    { pci: "0000:4f:00.0", count: 2 },
    { pci: "0000:c1:00.0", count: 2 },
  ]);
});

test("a quiet log is none of them; one that cannot be read is a reason", () => {
  assert.equal(factsOf(""), { xids: [], iommuFaults: [], missing: {} });
  const lost = readKernelLog(new LostRoot("/dev/kmsg: not permitted"));
  assert.is(lost.xids, null);
  assert.is(lost.missing.xids, "/dev/kmsg: not permitted");
});

test("of the live log only what is looked for is kept, or there is a reason", () => {
  const log = liveKernelLog();
  if (log.value === null) assert.match(reasonOf(log), "/dev/kmsg: ");
  else
    assert.equal(
      log.value.split("\n").filter((line) => line !== "" && !/Xid \(PCI|IO_PAGE_FAULT|DMAR: /.test(line)),
      [],
    );
});

test.run();
