// A GPU of CUDA's as NVML knows it. The two number GPUs differently (CUDA_VISIBLE_DEVICES,
// CUDA_DEVICE_ORDER), so they are joined by UUID, or by PCI address where that fails; never by index.
#pragma once

#include <string>

#include "nvml_links.h"

namespace p2p {

struct NvmlGpu {
  // Of a MIG slice, the GPU that it was cut from: slices have no clocks or links of their own.
  nvml::Device device = nullptr;
  // `uuid`, `mig-parent` or `pci`.
  std::string joinedBy;
  // What does not change and is needed at every reading.
  Reading<double> linkCount;
  LinkSources linkSources;

  unsigned links() const { return static_cast<unsigned>(linkCount.value.value_or(0)); }
};

// By CUDA's ordinal; found once. Throws a kNotAvailable failure when there is no NVML or it does not know the
// GPU.
const NvmlGpu& nvmlGpu(int gpu);

// `0000:0f:00.0`, lower case, as CUDA's addresses and sysfs are written.
std::string pciTextOf(const nvml::PciInfo& pci);

}  // namespace p2p
