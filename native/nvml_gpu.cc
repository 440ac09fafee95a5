#include "nvml_gpu.h"

#include <cstdio>
#include <map>
#include <mutex>

#include "devices.h"
#include "errors.h"
#include "nvml_library.h"

namespace p2p {

namespace {

// The GPU that a MIG slice was cut from.
nvml::Result parentOf(nvml::Device slice, nvml::Device* device) {
  const auto& entries = nvmlEntryPoints();
  return entries.nvmlDeviceGetDeviceHandleFromMigDeviceHandle
             ? entries.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(slice, device)
             : static_cast<nvml::Result>(nvml::kFunctionNotFound);
}

NvmlGpu join(int gpu) {
  const auto& entries = nvmlEntryPoints();
  const DeviceFacts facts = deviceFacts(gpu);
  NvmlGpu found;
  const nvml::Result byUuid = entries.nvmlDeviceGetHandleByUUID(facts.uuid.c_str(), &found.device);
  if (byUuid == nvml::kSuccess) {
    found.joinedBy = "uuid";
    return found;
  }
  // CUDA tells the UUID of a MIG slice without the prefix that NVML gives it.
  const std::string slice = "MIG" + facts.uuid.substr(facts.uuid.find('-'));
  nvml::Device mig = nullptr;
  if (entries.nvmlDeviceGetHandleByUUID(slice.c_str(), &mig) == nvml::kSuccess &&
      parentOf(mig, &found.device) == nvml::kSuccess) {
    found.joinedBy = "mig-parent";
    return found;
  }
  const nvml::Result byPci = entries.nvmlDeviceGetHandleByPciBusId_v2(facts.pci.c_str(), &found.device);
  if (byPci == nvml::kSuccess) {
    found.joinedBy = "pci";
    return found;
  }
  throw notAvailable("NVML does not know GPU " + std::to_string(gpu) + ": by its UUID " + facts.uuid + " " +
                         nvmlResultName(byUuid) + ", by its PCI address " + facts.pci + " " +
                         nvmlResultName(byPci),
                     "Compare nvidia-smi -L with cuda.devices(); a container may hide the GPU from NVML.");
}

}  // namespace

const NvmlGpu& nvmlGpu(int gpu) {
  static std::mutex& mutex = *new std::mutex();
  static auto& known = *new std::map<int, NvmlGpu>();
  const std::lock_guard lock(mutex);
  if (const auto at = known.find(gpu); at != known.end()) return at->second;
  NvmlGpu found = join(gpu);
  found.linkCount = linkCountOf(found.device);
  found.linkSources = linkSourcesOf(found.device, found.links());
  return known.emplace(gpu, std::move(found)).first->second;
}

std::string pciTextOf(const nvml::PciInfo& pci) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
  return text;
}

}  // namespace p2p
