// What changes while GPUs work, read before and after each measurement: one call for all the counters, and
// one for each of the few values that have no other way. Nothing here waits, as nvmlDeviceGetPcieThroughput
// would (20 ms).
#pragma once

#include <optional>
#include <vector>

#include "nvml_links.h"

namespace p2p {

// The little that waking a GPU looks at again and again.
struct GpuClocks {
  Reading<double> smClockMhz;
  Reading<double> memoryClockMhz;
  Reading<double> pcieGeneration;
  Reading<double> pcieWidth;
  // 0 (fastest) to 15.
  Reading<double> performanceState;
  // Bits of nvml::ClocksEvent.
  Reading<unsigned long long> events;
};

struct GpuProcess {
  unsigned pid = 0;
  std::optional<double> memoryBytes;
  // This process or a thread of it.
  bool own = false;
};

struct GpuState {
  GpuClocks clocks;
  Reading<double> temperatureC;
  Reading<double> powerW;
  Reading<double> pcieReplays;
  // Since the GPU was powered; may wrap.
  Reading<double> pcieTxBytes;
  Reading<double> pcieRxBytes;
  // Since the driver was loaded.
  Reading<double> eccUncorrected;
  // With a compute context on the GPU.
  Reading<std::vector<GpuProcess>> processes;
  std::vector<LinkCounters> links;
};

GpuClocks gpuClocks(int gpu);
GpuState gpuState(int gpu);

// Name of one bit, as nvidia-smi prints it: `sw_power_cap`; `event_0x200` of one that is newer than this.
std::string clocksEventName(unsigned long long bit);
// Names of the bits that are set, lowest first.
std::vector<std::string> clocksEventNames(unsigned long long events);

template <typename Visit>
void visitReadings(const GpuClocks& clocks, Visit visit) {
  visit("smClockMhz", clocks.smClockMhz);
  visit("memoryClockMhz", clocks.memoryClockMhz);
  visit("pcieGeneration", clocks.pcieGeneration);
  visit("pcieWidth", clocks.pcieWidth);
  visit("performanceState", clocks.performanceState);
  visit("events", clocks.events);
}

template <typename Visit>
void visitReadings(const GpuState& state, Visit visit) {
  visitReadings(state.clocks, visit);
  visit("temperatureC", state.temperatureC);
  visit("powerW", state.powerW);
  visit("pcieReplays", state.pcieReplays);
  visit("pcieTxBytes", state.pcieTxBytes);
  visit("pcieRxBytes", state.pcieRxBytes);
  visit("eccUncorrected", state.eccUncorrected);
  visit("processes", state.processes);
}

template <typename Visit>
void visitReadings(const LinkCounters& counters, Visit visit) {
  visit("active", counters.active);
  visit("replayErrors", counters.replayErrors);
  visit("recoveryErrors", counters.recoveryErrors);
  visit("crcErrors", counters.crcErrors);
  visit("receiveErrors", counters.receiveErrors);
  visit("txBytes", counters.txBytes);
  visit("rxBytes", counters.rxBytes);
}

}  // namespace p2p
