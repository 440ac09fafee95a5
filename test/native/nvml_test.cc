// What NVML tells, read without Node.js against the stand-in library, under sanitizers. Runs the test named
// by its argument; the environment of the stand-ins is set by nvml.test.ts.
#include <unistd.h>

#include "devices.h"
#include "expect.h"
#include "nvml_facts.h"
#include "nvml_gpu.h"
#include "nvml_library.h"
#include "nvml_pair.h"
#include "nvml_state.h"

using namespace p2p;

namespace {

// Every reading of an object that has no value, and why.
template <typename Readings>
std::string missingOf(const Readings& readings) {
  std::string list;
  visitReadings(readings, [&](const char* name, const auto& reading) {
    if (!reading.value) list += std::string(name) + "=" + reasonOf(reading.unread) + ";";
  });
  return list;
}

void absent() {
  EXPECT(!nvmlLibraryState().available);
  EXPECT(nvmlLibraryState().reason.find("NVML cannot be opened") == 0);
  EXPECT(!nvmlLibraryState().hint.empty());
  for (const Failure& failure : {FAILURE((void)gpuFacts(0)), FAILURE((void)gpuState(0)),
                                 FAILURE((void)gpuClocks(0)), FAILURE((void)gpuPair(0, 1))})
    EXPECT(failure.code == FailureCode::kNotAvailable && !failure.hint.empty());
  // CUDA works as before.
  EXPECT_TEXT(deviceFacts(0).name, "Fake GPU");
}

void initFails() {
  EXPECT(!nvmlLibraryState().available);
  EXPECT_TEXT(nvmlLibraryState().reason, std::getenv("P2PLAB_TEST_EXPECT"));
  EXPECT(!nvmlLibraryState().hint.empty());
}

void facts() {
  EXPECT(nvmlLibraryState().available);
  EXPECT_TEXT(nvmlLibraryState().version, "13.580.95.05");
  EXPECT_TEXT(nvmlLibraryState().driverVersion, "580.95.05");
  const GpuFacts gpu = gpuFacts(1);
  EXPECT_TEXT(missingOf(gpu), "");
  EXPECT_TEXT(gpu.joinedBy, "uuid");
  EXPECT_TEXT(*gpu.pci.value, "0000:11:00.0");
  EXPECT_EQ(*gpu.maxSmClockMhz.value, 1980.0);
  EXPECT_EQ(*gpu.powerLimitW.value, 700.0);
  EXPECT_EQ(*gpu.maxPcieGeneration.value, 5.0);
  EXPECT_EQ(*gpu.maxPcieWidth.value, 16.0);
  EXPECT(*gpu.persistence.value && *gpu.ecc.value && !*gpu.mig.value && !*gpu.displayActive.value);
  EXPECT_TEXT(*gpu.computeMode.value, "default");
  EXPECT_TEXT(*gpu.virtualization.value, "none");
  EXPECT_TEXT(*gpu.fabric.value, "completed");
  EXPECT_EQ(*gpu.bar1Bytes.value, 274877906944.0);
  EXPECT_EQ(gpu.links.size(), 18u);
  const LinkFacts& link = gpu.links[17];
  EXPECT_TEXT(missingOf(link), "");
  EXPECT_EQ(link.link, 17u);
  EXPECT(*link.active.value);
  EXPECT_EQ(*link.version.value, 4.0);
  EXPECT_EQ(*link.speedMBps.value, 26562.0);
  EXPECT_TEXT(*link.remoteType.value, "switch");
  EXPECT_TEXT(*link.remotePci.value, "0000:90:00.0");
}

void states() {
  const GpuState before = gpuState(0);
  EXPECT_TEXT(missingOf(before), "");
  EXPECT_EQ(*before.clocks.smClockMhz.value, 1980.0);
  EXPECT_EQ(*before.clocks.memoryClockMhz.value, 2619.0);
  EXPECT_EQ(*before.clocks.performanceState.value, 0.0);
  EXPECT_EQ(*before.powerW.value, 90.0);
  EXPECT_EQ(*before.processes.value->front().memoryBytes, 1048576.0);
  EXPECT_EQ(before.processes.value->front().pid, static_cast<unsigned>(getpid()));
  EXPECT(before.processes.value->front().own);
  EXPECT_EQ(before.links.size(), 18u);
  // NVLink 5's own counter is not told by an older GPU.
  EXPECT_TEXT(missingOf(before.links[0]),
              "receiveErrors=nvmlDeviceGetFieldValues: NVML_ERROR_NOT_SUPPORTED;");
  EXPECT_EQ(*before.links[3].replayErrors.value, 0.0);
  // What the environment changes from the second reading on.
  const GpuState after = gpuState(0);
  EXPECT_EQ(*after.clocks.smClockMhz.value, 1200.0);
  EXPECT_EQ(*after.clocks.events.value, 0x24ull);
  EXPECT_EQ(*after.links[3].replayErrors.value, 7.0);
  EXPECT_EQ(*after.links[2].replayErrors.value, 0.0);
  EXPECT_EQ(*after.links[3].txBytes.value, 4096.0);
  EXPECT_EQ(after.processes.value->size(), 41u);
  EXPECT(!after.processes.value->back().own && !after.processes.value->back().memoryBytes);
  EXPECT_EQ(*gpuState(1).clocks.smClockMhz.value, 1980.0);
}

void eventNames() {
  EXPECT_EQ(clocksEventNames(0).size(), 0u);
  const auto names = clocksEventNames(0x3ff);
  EXPECT_EQ(names.size(), 10u);
  EXPECT_TEXT(names[0], "gpu_idle");
  EXPECT_TEXT(names[2], "sw_power_cap");
  EXPECT_TEXT(names[9], "event_0x200");
}

// Every call answers an error: nothing is known, and it is said which call said what.
void allFails() {
  EXPECT(nvmlLibraryState().available);
  EXPECT_TEXT(nvmlLibraryState().version, "");
  const Failure failure = FAILURE((void)gpuState(1));
  EXPECT(failure.code == FailureCode::kNotAvailable);
  EXPECT_TEXT(failure.what(),
              "NVML does not know GPU 1: by its UUID GPU-01010101-0101-0101-0101-010101010101 "
              "NVML_ERROR_UNKNOWN, by its PCI address 0000:11:00.0 NVML_ERROR_UNKNOWN");
}

// The GPU is found, but no value is told.
void valuesFail() {
  const GpuFacts facts = gpuFacts(0);
  std::size_t missing = 0;
  visitReadings(facts, [&](const char*, const auto& reading) {
    EXPECT(!reading.value);
    EXPECT(reasonOf(reading.unread).find(": NVML_ERROR_GPU_IS_LOST") != std::string::npos);
    ++missing;
  });
  EXPECT_EQ(missing, 15u);
  EXPECT_EQ(facts.links.size(), 0u);
  const GpuState state = gpuState(0);
  visitReadings(state, [&](const char*, const auto& reading) {
    EXPECT(!reading.value);
    EXPECT(reasonOf(reading.unread).find(": NVML_ERROR_GPU_IS_LOST") != std::string::npos);
    ++missing;
  });
  EXPECT_EQ(missing, 28u);
  visitReadings(gpuPair(0, 1), [&](const char*, const auto& reading) { EXPECT(!reading.value); });
}

// Single calls that are not supported leave their own value unknown, and no other.
void singleFails() {
  EXPECT_TEXT(missingOf(gpuFacts(0)), "bar1Bytes=nvmlDeviceGetBAR1MemoryInfo: NVML_ERROR_NOT_SUPPORTED;");
  EXPECT_TEXT(missingOf(gpuState(0)), "powerW=nvmlDeviceGetPowerUsage: NVML_ERROR_NOT_SUPPORTED;");
}

// A driver that lacks the newer calls: the older ones tell the same, and what has none names the release.
void oldLibrary() {
  const GpuFacts facts = gpuFacts(0);
  EXPECT_TEXT(missingOf(facts),
              "fabric=nvmlDeviceGetGpuFabricInfoV: NVML_ERROR_FUNCTION_NOT_FOUND (it came with the driver of "
              "CUDA 12.4);");
  EXPECT_TEXT(
      missingOf(facts.links[0]),
      "remoteType=nvmlDeviceGetNvLinkRemoteDeviceType: NVML_ERROR_FUNCTION_NOT_FOUND (it came with the "
      "driver of CUDA 11.4);");
  const GpuState state = gpuState(0);
  EXPECT_TEXT(missingOf(state), "");
  EXPECT_EQ(*state.clocks.events.value, 0x4ull);
  EXPECT_EQ(state.processes.value->size(), 1u);
}

// Links without any field that tells of them are read by the calls of their own.
void linksByCalls() {
  EXPECT_EQ(gpuFacts(0).links.size(), 4u);
  const GpuState state = gpuState(0);
  EXPECT_EQ(state.links.size(), 4u);
  EXPECT_EQ(*state.links[2].replayErrors.value, 5.0);
  EXPECT_EQ(*state.links[2].recoveryErrors.value, 1.0);
  // Of the two CRC counters, flow control and data.
  EXPECT_EQ(*state.links[2].crcErrors.value, 4.0);
  EXPECT(*state.links[2].active.value);
  EXPECT(!state.links[2].txBytes.value);
}

void noLinks() {
  EXPECT_EQ(*gpuFacts(0).linkCount.value, 0.0);
  EXPECT_EQ(gpuState(0).links.size(), 0u);
}

void joined() {
  EXPECT_TEXT(nvmlGpu(0).joinedBy, std::getenv("P2PLAB_TEST_EXPECT"));
  EXPECT_EQ(*gpuState(0).clocks.smClockMhz.value, 1111.0);
  EXPECT_EQ(*gpuState(1).clocks.smClockMhz.value, 1980.0);
}

void joinedSlice() {
  EXPECT_TEXT(nvmlGpu(0).joinedBy, "mig-parent");
  EXPECT_EQ(*gpuState(0).clocks.smClockMhz.value, 1111.0);
  EXPECT_TEXT(*gpuFacts(0).pci.value, "0000:10:00.0");
  EXPECT(*gpuFacts(0).mig.value);
}

void joinedPermuted() {
  EXPECT_EQ(*gpuState(0).clocks.smClockMhz.value, 1222.0);
  EXPECT_EQ(*gpuState(1).clocks.smClockMhz.value, 1000.0);
  EXPECT_TEXT(*gpuFacts(0).pci.value, "0000:12:00.0");
  EXPECT_TEXT(*gpuFacts(1).pci.value, "0000:10:00.0");
}

void pairs() {
  const GpuPair pair = gpuPair(0, 1);
  EXPECT_TEXT(missingOf(pair), "");
  EXPECT_TEXT(*pair.read.value, "CNS");
  EXPECT_TEXT(*pair.write.value, "GNS");
  EXPECT_TEXT(*pair.nvlink.value, "TNS");
  EXPECT_TEXT(*pair.atomics.value, "DR");
  EXPECT_TEXT(*pair.pci.value, "U");
  EXPECT_TEXT(*pair.commonAncestor.value, "hostbridge");
  EXPECT_TEXT(*gpuPair(1, 0).read.value, "OK");
  EXPECT(FAILURE((void)gpuPair(1, 1)).code == FailureCode::kUsage);
  EXPECT(FAILURE((void)gpuPair(0, 9)).code == FailureCode::kUsage);
}

const std::map<std::string, std::function<void()>> kTests = {
    {"absent", absent},
    {"init-fails", initFails},
    {"facts", facts},
    {"states", states},
    {"event-names", eventNames},
    {"all-fails", allFails},
    {"values-fail", valuesFail},
    {"single-fails", singleFails},
    {"old-library", oldLibrary},
    {"links-by-calls", linksByCalls},
    {"no-links", noLinks},
    {"joined", joined},
    {"joined-slice", joinedSlice},
    {"joined-permuted", joinedPermuted},
    {"pairs", pairs},
};

}  // namespace

int main(int argc, char** argv) {
  return runTest(kTests, argc, argv);
}
