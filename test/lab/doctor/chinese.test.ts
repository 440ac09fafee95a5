import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inChinese } from "../../../kernel/lab/doctor/checks/chinese.js";
import { verdictWords } from "../../../kernel/lab/doctor/checks/verdict-words.js";
import { englishIn } from "./english.js";

const test = suite("reasons in Chinese");

/** As readers, driver and ladder say them. */
const SAID = [
  "/sys/class/iommu: there is none",
  "/dev/kmsg: not permitted",
  "/proc/1/ns/net: permission denied",
  "/sys/bus/pci/devices/0000:01:00.0/config: it is not a regular file",
  "the snapshot does not tell",
  "the NVIDIA driver's libcuda cannot be opened (libcuda.so.1: cannot open shared object file: No such file or directory)",
  "NVML cannot be opened (/no/nvml: cannot open shared object file: No such file or directory)",
  "kernel module and user library of the NVIDIA driver are of different versions (cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803))",
  "the NVSwitch fabric is not ready: fabric manager not running, or of another version (cuInit: CUDA_ERROR_SYSTEM_NOT_READY (802))",
  "asking NVML about GPU 3 did not return within 2.5 s",
  "starting CUDA and NVML failed: ended by SIGKILL",
  'reading the files of "pci" did not end within 5 s',
  "only 64 bytes of configuration space can be read without root",
  "no libcuda.so with a version in /usr/lib64, /usr/lib/wsl/lib",
  "NVML does not know GPU 0: by its UUID GPU-1 NVML_ERROR_NOT_FOUND, by its PCI address 0000:01:00.0 NVML_ERROR_NO_PERMISSION",
  "the time for it, 60 s, was over",
  "one GPU is visible to programs started here: there is no pair",
  "the driver refuses peer access between GeForce RTX 4090 over PCIe (nvidia-smi topo -p2p: GNS)",
];

test("each is Chinese, and keeps names, numbers and codes", () => {
  for (const english of SAID) {
    const chinese = inChinese(english);
    assert.is(englishIn(chinese), null, chinese);
    for (const word of english.match(/\d+(\.\d+)?|[A-Z]{2,}_\w+|\/[a-z/]+/g) ?? []) {
      assert.ok(chinese.includes(word), `${word} is lost: ${chinese}`);
    }
  }
});

test("of the ladder's verdicts too, with the names of outcomes and rungs", () => {
  const cell = { from: 0, to: 1, allocator: "malloc", next: "" } as const;
  const of = (outcome: "broken" | "mirror" | "hang", stage: "kernel read" | "put", reason: string) =>
    inChinese(verdictWords({ ...cell, outcome, stage, reason }).zh);
  assert.is(
    of(
      "broken",
      "kernel read",
      "corrupt: 12 of 1048576 bytes wrong (4 as if never written), the first at offset 8",
    ),
    "GPU 0 → 1 malloc：数据损坏（内核读：数据损坏：1048576字节中有12字节错误（4字节像从未写入），首个位于偏移8）",
  );
  assert.is(
    of("hang", "put", "the probe's process did not answer within 3000 ms and was ended"),
    "GPU 0 → 1 malloc：挂起（写入并置标志：探测进程在3000 ms内没有应答，已被结束）",
  );
  assert.is(
    of(
      "broken",
      "put",
      "the access ends in an error: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700). Device code touched memory, that it may not",
    ),
    "GPU 0 → 1 malloc：数据损坏（写入并置标志：访问以错误结束：cuStreamSynchronize：CUDA_ERROR_ILLEGAL_ADDRESS (700)）",
  );
});

test("lists have Chinese commas, and addresses stay as they are", () => {
  assert.is(inChinese("GPU 0: x8 / x16, GPU 1: x4 / x16 (+2)"), "GPU 0：x8 / x16、GPU 1：x4 / x16（另有2）");
  assert.is(inChinese("端口0000:22:00.0, 0000:22:01.0"), "端口0000:22:00.0、0000:22:01.0");
});

test.run();
