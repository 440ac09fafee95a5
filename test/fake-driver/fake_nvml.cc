// A stand-in libnvidia-ml.so.1 for tests: it knows the GPUs as they stand in the stand-in machine, whatever
// CUDA shows of them, and answers what the environment sets; see README.md. Here: the library and single
// GPUs.
#include <strings.h>
#include <unistd.h>

#include <cstring>

#include "fake_gpus.h"
#include "fake_nvml_values.h"

using namespace fake::nvml;

namespace {

Result text(char* to, unsigned length, const char* from) {
  if (length <= std::strlen(from)) return kInsufficientSize;
  std::strcpy(to, from);
  return kSuccess;
}

Result processes(Device device, unsigned* count, ProcessInfo* infos) {
  const auto own = static_cast<unsigned>(valueOf(device->gpu, "own"));
  const auto foreign = static_cast<unsigned>(valueOf(device->gpu, "foreign"));
  const unsigned needed = own + foreign;
  const unsigned room = *count;
  *count = needed;
  if (needed > room) return kInsufficientSize;
  for (unsigned i = 0; i < needed; ++i) {
    // Process identifiers that no Linux gives.
    const unsigned pid = i < own ? static_cast<unsigned>(getpid()) : 0x7ffffff0u - i;
    infos[i] = {pid, i < own ? 1ull << 20 : kValueNotAvailable, ~0u, ~0u};
  }
  return kSuccess;
}

}  // namespace

extern "C" {

Result nvmlInit_v2() {
  ENTER("nvmlInit_v2");
  return kSuccess;
}

Result nvmlSystemGetDriverVersion(char* version, unsigned length) {
  ENTER("nvmlSystemGetDriverVersion");
  return text(version, length, "580.95.05");
}

Result nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  ENTER("nvmlSystemGetNVMLVersion");
  return text(version, length, "13.580.95.05");
}

Result nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  ENTER("nvmlDeviceGetHandleByUUID");
  if (fake::mig() && uuid == fake::uuidText(fake::migUuid(), "MIG-")) {
    *device = &library().slice;
    return kSuccess;
  }
  for (nvmlDevice_st& one : library().devices) {
    if (valueOf(one.gpu, "uuid") == 0 || uuid != fake::uuidText(fake::uuidOf(one.gpu), "GPU-")) continue;
    *device = &one;
    return kSuccess;
  }
  return kNotFound;
}

Result nvmlDeviceGetHandleByPciBusId_v2(const char* pci, Device* device) {
  ENTER("nvmlDeviceGetHandleByPciBusId_v2");
  for (nvmlDevice_st& one : library().devices) {
    PciInfo info;
    address(&info, busOf(one.gpu));
    if (strcasecmp(pci, info.busIdLegacy) != 0 && strcasecmp(pci, info.busId) != 0) continue;
    *device = &one;
    return kSuccess;
  }
  return kNotFound;
}

Result nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device slice, Device* device) {
  ENTER("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
  if (!slice->slice) return kInvalidArgument;
  *device = &library().devices[static_cast<std::size_t>(slice->gpu)];
  return kSuccess;
}

Result nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  ENTER("nvmlDeviceGetPciInfo_v3");
  address(pci, busOf(device->gpu));
  return kSuccess;
}

Result nvmlDeviceGetClockInfo(Device device, ClockType type, unsigned* clock) {
  ENTER("nvmlDeviceGetClockInfo");
  return give(clock, device, type == kClockSm ? "smClock" : "memoryClock");
}

Result nvmlDeviceGetMaxClockInfo(Device device, ClockType type, unsigned* clock) {
  ENTER("nvmlDeviceGetMaxClockInfo");
  return give(clock, device, type == kClockSm ? "maxSmClock" : "maxMemoryClock");
}

Result nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* events) {
  ENTER("nvmlDeviceGetCurrentClocksThrottleReasons");
  return give(events, device, "events");
}

Result nvmlDeviceGetTemperature(Device device, TemperatureSensor, unsigned* temperature) {
  ENTER("nvmlDeviceGetTemperature");
  return give(temperature, device, "temperature");
}

Result nvmlDeviceGetPowerUsage(Device device, unsigned* power) {
  ENTER("nvmlDeviceGetPowerUsage");
  return give(power, device, "power");
}

Result nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* limit) {
  ENTER("nvmlDeviceGetEnforcedPowerLimit");
  return give(limit, device, "powerLimit");
}

Result nvmlDeviceGetPerformanceState(Device device, int* state) {
  ENTER("nvmlDeviceGetPerformanceState");
  return give(state, device, "state");
}

Result nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  ENTER("nvmlDeviceGetCurrPcieLinkGeneration");
  return give(generation, device, "pcieGeneration");
}

Result nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* width) {
  ENTER("nvmlDeviceGetCurrPcieLinkWidth");
  return give(width, device, "pcieWidth");
}

Result nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  ENTER("nvmlDeviceGetMaxPcieLinkGeneration");
  return give(generation, device, "maxPcieGeneration");
}

Result nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* width) {
  ENTER("nvmlDeviceGetMaxPcieLinkWidth");
  return give(width, device, "maxPcieWidth");
}

Result nvmlDeviceGetPcieReplayCounter(Device device, unsigned* replays) {
  ENTER("nvmlDeviceGetPcieReplayCounter");
  return give(replays, device, "pcieReplays");
}

Result nvmlDeviceGetTotalEccErrors(Device device, MemoryErrorType, EccCounterType,
                                   unsigned long long* errors) {
  ENTER("nvmlDeviceGetTotalEccErrors");
  return give(errors, device, "ecc");
}

Result nvmlDeviceGetEccMode(Device device, int* current, int* pending) {
  ENTER("nvmlDeviceGetEccMode");
  *pending = 0;
  return give(current, device, "eccMode");
}

Result nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count, ProcessInfo* infos) {
  ENTER("nvmlDeviceGetComputeRunningProcesses_v2");
  return processes(device, count, infos);
}

Result nvmlDeviceGetPersistenceMode(Device device, int* mode) {
  ENTER("nvmlDeviceGetPersistenceMode");
  return give(mode, device, "persistence");
}

Result nvmlDeviceGetComputeMode(Device device, int* mode) {
  ENTER("nvmlDeviceGetComputeMode");
  return give(mode, device, "computeMode");
}

Result nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  ENTER("nvmlDeviceGetMigMode");
  *pending = 0;
  return give(current, device, "mig");
}

Result nvmlDeviceGetBAR1MemoryInfo(Device device, Bar1Memory* memory) {
  ENTER("nvmlDeviceGetBAR1MemoryInfo");
  *memory = {};
  return give(&memory->totalBytes, device, "bar1");
}

Result nvmlDeviceGetDisplayActive(Device device, int* active) {
  ENTER("nvmlDeviceGetDisplayActive");
  return give(active, device, "display");
}

Result nvmlDeviceGetVirtualizationMode(Device device, int* mode) {
  ENTER("nvmlDeviceGetVirtualizationMode");
  return give(mode, device, "virtualization");
}

// What came after the first driver that had all of the above.
#ifndef P2P_FAKE_OLD_NVML

Result nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* events) {
  ENTER("nvmlDeviceGetCurrentClocksEventReasons");
  return give(events, device, "events");
}

Result nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* infos) {
  ENTER("nvmlDeviceGetComputeRunningProcesses_v3");
  return processes(device, count, infos);
}

Result nvmlDeviceGetGpuFabricInfoV(Device device, FabricInfo* info) {
  ENTER("nvmlDeviceGetGpuFabricInfoV");
  if (info->version != kFabricInfoVersion) return kArgumentVersionMismatch;
  give(&info->status, device, "fabricStatus");
  return give(&info->state, device, "fabric");
}

#endif

}  // extern "C"
