// What does not change while a program runs, or too seldom to be read for each measurement.
#pragma once

#include <string>
#include <vector>

#include "nvml_links.h"

namespace p2p {

struct GpuFacts {
  std::string joinedBy;
  Reading<std::string> pci;
  Reading<double> maxSmClockMhz;
  Reading<double> maxMemoryClockMhz;
  Reading<double> powerLimitW;
  // The most that GPU and slot can do together.
  Reading<double> maxPcieGeneration;
  Reading<double> maxPcieWidth;
  Reading<bool> persistence;
  // `default`, `exclusive-process` or `prohibited`.
  Reading<std::string> computeMode;
  Reading<bool> mig;
  Reading<bool> ecc;
  Reading<double> bar1Bytes;
  Reading<bool> displayActive;
  // `none` (bare metal), `pass-through`, `vgpu`, `host-vgpu` or `host-vsga`.
  Reading<std::string> virtualization;
  // Registration with the NVSwitch fabric: `not-supported`, `not-started`, `in-progress`, `completed`, or
  // `failed: NVML_ERROR_…` where it ended without success.
  Reading<std::string> fabric;
  Reading<double> linkCount;
  std::vector<LinkFacts> links;
};

GpuFacts gpuFacts(int gpu);

// Calls visit(name, reading) for every single value; the names are those of kernel/lab/native.ts.
template <typename Visit>
void visitReadings(const GpuFacts& facts, Visit visit) {
  visit("pci", facts.pci);
  visit("maxSmClockMhz", facts.maxSmClockMhz);
  visit("maxMemoryClockMhz", facts.maxMemoryClockMhz);
  visit("powerLimitW", facts.powerLimitW);
  visit("maxPcieGeneration", facts.maxPcieGeneration);
  visit("maxPcieWidth", facts.maxPcieWidth);
  visit("persistence", facts.persistence);
  visit("computeMode", facts.computeMode);
  visit("mig", facts.mig);
  visit("ecc", facts.ecc);
  visit("bar1Bytes", facts.bar1Bytes);
  visit("displayActive", facts.displayActive);
  visit("virtualization", facts.virtualization);
  visit("fabric", facts.fabric);
  visit("linkCount", facts.linkCount);
}

template <typename Visit>
void visitReadings(const LinkFacts& facts, Visit visit) {
  visit("active", facts.active);
  visit("version", facts.version);
  visit("speedMBps", facts.speedMBps);
  visit("remoteType", facts.remoteType);
  visit("remotePci", facts.remotePci);
}

}  // namespace p2p
