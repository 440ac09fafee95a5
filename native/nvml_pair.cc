#include "nvml_pair.h"

#include "errors.h"
#include "nvml_gpu.h"
#include "nvml_library.h"

namespace p2p {

namespace {

std::string statusOf(int raw) {
  switch (raw) {
    case nvml::kP2pOk:
      return "OK";
    case nvml::kP2pChipsetNotSupported:
      return "CNS";
    case nvml::kP2pGpuNotSupported:
      return "GNS";
    case nvml::kP2pTopologyNotSupported:
      return "TNS";
    case nvml::kP2pDisabledByRegkey:
      return "DR";
    case nvml::kP2pNotSupported:
      return "NS";
    default:
      return "U";
  }
}

std::string levelOf(int raw) {
  switch (raw) {
    case nvml::kTopologyInternal:
      return "internal";
    case nvml::kTopologySingle:
      return "single";
    case nvml::kTopologyMultiple:
      return "multiple";
    case nvml::kTopologyHostBridge:
      return "hostbridge";
    case nvml::kTopologyNode:
      return "node";
    case nvml::kTopologySystem:
      return "system";
    default:
      return "level " + std::to_string(raw);
  }
}

}  // namespace

GpuPair gpuPair(int from, int to) {
  if (from == to)
    throw usage("GPU " + std::to_string(from) + " is no peer of itself", "Name two different GPUs.");
  const nvml::Device a = nvmlGpu(from).device;
  const nvml::Device b = nvmlGpu(to).device;
  const auto& entries = nvmlEntryPoints();
  const auto status = [&](nvml::P2pCapability capability) {
    return P2P_NVML_READ(int, statusOf, nvmlDeviceGetP2PStatus, a, b, capability);
  };
  GpuPair pair;
  pair.read = status(nvml::kP2pRead);
  pair.write = status(nvml::kP2pWrite);
  pair.nvlink = status(nvml::kP2pNvLink);
  pair.atomics = status(nvml::kP2pAtomics);
  pair.pci = status(nvml::kP2pPci);
  pair.commonAncestor = P2P_NVML_READ(int, levelOf, nvmlDeviceGetTopologyCommonAncestor, a, b);
  return pair;
}

}  // namespace p2p
