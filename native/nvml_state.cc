#include "nvml_state.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "nvml_gpu.h"
#include "nvml_library.h"

namespace p2p {

namespace {

double asNumber(unsigned raw) {
  return raw;
}

// Some drivers tell the thread that made the context instead of its process.
bool isOwn(unsigned pid) {
  return pid == static_cast<unsigned>(getpid()) ||
         access(("/proc/self/task/" + std::to_string(pid)).c_str(), F_OK) == 0;
}

Reading<std::vector<GpuProcess>> processesOn(nvml::Device device) {
  const auto& entries = nvmlEntryPoints();
  // Both versions fill the same structure.
  const bool newer = entries.nvmlDeviceGetComputeRunningProcesses_v3 != nullptr;
  const auto call = newer ? entries.nvmlDeviceGetComputeRunningProcesses_v3
                          : entries.nvmlDeviceGetComputeRunningProcesses_v2;
  const char* name =
      newer ? "nvmlDeviceGetComputeRunningProcesses_v3" : "nvmlDeviceGetComputeRunningProcesses_v2";
  if (!call) return unread<std::vector<GpuProcess>>(name, nvml::kFunctionNotFound);
  std::vector<nvml::ProcessInfo> infos(32);
  unsigned count = static_cast<unsigned>(infos.size());
  nvml::Result result = call(device, &count, infos.data());
  if (result == nvml::kInsufficientSize) {
    // Some more, for those that start in between.
    infos.resize(count + 32);
    count = static_cast<unsigned>(infos.size());
    result = call(device, &count, infos.data());
  }
  if (result != nvml::kSuccess) return unread<std::vector<GpuProcess>>(name, result);
  std::vector<GpuProcess> processes;
  for (unsigned i = 0; i < count && i < infos.size(); ++i) {
    GpuProcess process;
    process.pid = infos[i].pid;
    process.own = isOwn(process.pid);
    if (infos[i].usedGpuMemory != nvml::kValueNotAvailable)
      process.memoryBytes = static_cast<double>(infos[i].usedGpuMemory);
    processes.push_back(process);
  }
  return {std::move(processes), {}};
}

GpuClocks clocksOf(nvml::Device device) {
  const auto& entries = nvmlEntryPoints();
  const auto asIs = [](unsigned long long raw) { return raw; };
  GpuClocks clocks;
  clocks.smClockMhz = P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetClockInfo, device, nvml::kClockSm);
  clocks.memoryClockMhz =
      P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetClockInfo, device, nvml::kClockMemory);
  clocks.pcieGeneration = P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetCurrPcieLinkGeneration, device);
  clocks.pcieWidth = P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetCurrPcieLinkWidth, device);
  clocks.performanceState = P2P_NVML_READ(
      int, [](int raw) { return static_cast<double>(raw); }, nvmlDeviceGetPerformanceState, device);
  clocks.events =
      entries.nvmlDeviceGetCurrentClocksEventReasons
          ? P2P_NVML_READ(unsigned long long, asIs, nvmlDeviceGetCurrentClocksEventReasons, device)
          : P2P_NVML_READ(unsigned long long, asIs, nvmlDeviceGetCurrentClocksThrottleReasons, device);
  return clocks;
}

}  // namespace

GpuClocks gpuClocks(int gpu) {
  return clocksOf(nvmlGpu(gpu).device);
}

GpuState gpuState(int gpu) {
  const NvmlGpu& joined = nvmlGpu(gpu);
  const nvml::Device device = joined.device;
  const auto& entries = nvmlEntryPoints();
  GpuState state;
  // First, because it is what idleness changes soonest.
  state.clocks = clocksOf(device);
  state.temperatureC =
      P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetTemperature, device, nvml::kTemperatureGpu);
  state.powerW = P2P_NVML_READ(
      unsigned, [](unsigned milliwatts) { return milliwatts / 1000.0; }, nvmlDeviceGetPowerUsage, device);
  state.pcieReplays = P2P_NVML_READ(unsigned, asNumber, nvmlDeviceGetPcieReplayCounter, device);
  state.eccUncorrected = P2P_NVML_READ(
      unsigned long long, [](unsigned long long raw) { return static_cast<double>(raw); },
      nvmlDeviceGetTotalEccErrors, device, nvml::kErrorUncorrected, nvml::kEccVolatile);
  state.processes = processesOn(device);
  FieldQuery query;
  const std::size_t tx = query.add(nvml::kFieldPcieTxBytes);
  const std::size_t rx = query.add(nvml::kFieldPcieRxBytes);
  const LinkQuery links(query, joined.links(), joined.linkSources);
  query.run(device);
  state.pcieTxBytes = query.at(tx);
  state.pcieRxBytes = query.at(rx);
  state.links = links.countersOf(device);
  return state;
}

std::string clocksEventName(unsigned long long bit) {
  switch (bit) {
    case nvml::kEventGpuIdle:
      return "gpu_idle";
    case nvml::kEventApplicationsClocksSetting:
      return "applications_clocks_setting";
    case nvml::kEventSwPowerCap:
      return "sw_power_cap";
    case nvml::kEventHwSlowdown:
      return "hw_slowdown";
    case nvml::kEventSyncBoost:
      return "sync_boost";
    case nvml::kEventSwThermalSlowdown:
      return "sw_thermal_slowdown";
    case nvml::kEventHwThermalSlowdown:
      return "hw_thermal_slowdown";
    case nvml::kEventHwPowerBrakeSlowdown:
      return "hw_power_brake_slowdown";
    case nvml::kEventDisplayClockSetting:
      return "display_clocks_setting";
    default: {
      char text[32];
      std::snprintf(text, sizeof text, "event_0x%llx", bit);
      return text;
    }
  }
}

std::vector<std::string> clocksEventNames(unsigned long long events) {
  std::vector<std::string> names;
  for (unsigned long long bit = 1; bit != 0; bit <<= 1) {
    if (events & bit) names.push_back(clocksEventName(bit));
  }
  return names;
}

}  // namespace p2p
