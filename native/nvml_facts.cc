#include "nvml_facts.h"

#include "nvml_gpu.h"
#include "nvml_library.h"

namespace p2p {

namespace {

double asNumber(unsigned raw) {
  return raw;
}

bool asSwitch(int raw) {
  return raw != 0;
}

std::string computeModeOf(int raw) {
  switch (raw) {
    case nvml::kComputeDefault:
      return "default";
    case nvml::kComputeProhibited:
      return "prohibited";
    case nvml::kComputeExclusiveProcess:
      return "exclusive-process";
    default:
      return "mode " + std::to_string(raw);
  }
}

std::string virtualizationOf(int raw) {
  switch (raw) {
    case nvml::kVirtualizationNone:
      return "none";
    case nvml::kVirtualizationPassthrough:
      return "pass-through";
    case nvml::kVirtualizationVgpu:
      return "vgpu";
    case nvml::kVirtualizationHostVgpu:
      return "host-vgpu";
    case nvml::kVirtualizationHostVsga:
      return "host-vsga";
    default:
      return "mode " + std::to_string(raw);
  }
}

std::string fabricOf(const nvml::FabricInfo& info) {
  switch (info.state) {
    case nvml::kFabricNotSupported:
      return "not-supported";
    case nvml::kFabricNotStarted:
      return "not-started";
    case nvml::kFabricInProgress:
      return "in-progress";
    case nvml::kFabricCompleted:
      return info.status == nvml::kSuccess ? "completed" : "failed: " + nvmlResultName(info.status);
    default:
      return "state " + std::to_string(info.state);
  }
}

// Of modes that come as a pair of current and pending only the current one is told.
template <typename Raw>
Reading<bool> currentMode(const char* name, nvml::Result (*call)(nvml::Device, Raw*, Raw*),
                          nvml::Device device) {
  Raw pending{};
  return readWith<Raw>(
      name, call != nullptr, [&](Raw* current) { return call(device, current, &pending); },
      [](Raw raw) { return raw != 0; });
}

}  // namespace

GpuFacts gpuFacts(int gpu) {
  const NvmlGpu& joined = nvmlGpu(gpu);
  const nvml::Device device = joined.device;
  const auto& entries = nvmlEntryPoints();
  GpuFacts facts;
  facts.joinedBy = joined.joinedBy;
  facts.pci = P2P_NVML_READ(nvml::PciInfo, pciTextOf, nvmlDeviceGetPciInfo_v3, device);
  facts.maxSmClockMhz = P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetMaxClockInfo, device, nvml::kClockSm);
  facts.maxMemoryClockMhz =
      P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetMaxClockInfo, device, nvml::kClockMemory);
  facts.powerLimitW = P2P_NVML_READ(
      unsigned, [](unsigned milliwatts) { return milliwatts / 1000.0; }, nvmlDeviceGetEnforcedPowerLimit,
      device);
  facts.maxPcieGeneration = P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetMaxPcieLinkGeneration, device);
  facts.maxPcieWidth = P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetMaxPcieLinkWidth, device);
  facts.persistence = P2P_NVML_READ(int, asSwitch, nvmlDeviceGetPersistenceMode, device);
  facts.computeMode = P2P_NVML_READ(int, computeModeOf, nvmlDeviceGetComputeMode, device);
  facts.mig = currentMode("nvmlDeviceGetMigMode", entries.nvmlDeviceGetMigMode, device);
  facts.ecc = currentMode("nvmlDeviceGetEccMode", entries.nvmlDeviceGetEccMode, device);
  facts.bar1Bytes = P2P_NVML_READ(
      nvml::Bar1Memory, [](const nvml::Bar1Memory& raw) { return static_cast<double>(raw.totalBytes); },
      nvmlDeviceGetBAR1MemoryInfo, device);
  facts.displayActive = P2P_NVML_READ(int, asSwitch, nvmlDeviceGetDisplayActive, device);
  facts.virtualization = P2P_NVML_READ(int, virtualizationOf, nvmlDeviceGetVirtualizationMode, device);
  facts.fabric = readWith<nvml::FabricInfo>(
      "nvmlDeviceGetGpuFabricInfoV", entries.nvmlDeviceGetGpuFabricInfoV != nullptr,
      [&](nvml::FabricInfo* info) {
        info->version = nvml::kFabricInfoVersion;
        return entries.nvmlDeviceGetGpuFabricInfoV(device, info);
      },
      fabricOf);
  facts.linkCount = joined.linkCount;
  facts.links = linkFactsOf(device, joined.links(), joined.linkSources);
  return facts;
}

}  // namespace p2p
