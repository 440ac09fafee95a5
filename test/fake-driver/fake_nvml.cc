// A stand-in libnvidia-ml.so.1 for tests: it knows the GPUs as they stand in the stand-in machine, whatever
// CUDA shows of them, and answers what the environment sets; see README.md.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "../../native/nvml_api.h"
#include "fake_gpus.h"
#include "fake_settings.h"

using namespace p2p::nvml;

struct nvmlDevice_st {
  int gpu;
  bool slice;
};

namespace {

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) list.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

// `[GPU/]KEY[:LINK]=VALUE[@N]`: the value from its Nth reading on.
struct Rule {
  std::string gpu;
  std::string key;
  unsigned long long value = 0;
  long from = 1;
};

std::vector<Rule> rulesOf(const std::string& text) {
  std::vector<Rule> rules;
  for (const std::string& word : words(text)) {
    Rule rule;
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    const std::size_t slash = word.find('/');
    if (slash != std::string::npos && slash < equals) rule.gpu = word.substr(0, slash);
    const std::size_t start = rule.gpu.empty() ? 0 : slash + 1;
    rule.key = word.substr(start, equals - start);
    rule.value = std::strtoull(word.c_str() + equals + 1, nullptr, 0);
    const std::size_t at = word.find('@', equals);
    if (at != std::string::npos) rule.from = std::strtol(word.c_str() + at + 1, nullptr, 10);
    rules.push_back(rule);
  }
  return rules;
}

struct Library {
  std::mutex mutex;
  std::vector<nvmlDevice_st> devices;
  // The instance of the first GPU, where that is split.
  nvmlDevice_st slice{0, true};
  std::vector<Rule> values = rulesOf(fake::setting("P2PLAB_FAKE_NVML"));
  std::vector<Rule> failures = rulesOf(fake::setting("P2PLAB_FAKE_NVML_FAIL"));
  std::map<std::string, long> readings;

  Library() {
    for (int place = 0; place < fake::machineCount(); ++place) devices.push_back({place, false});
  }
};

Library& library() {
  static Library& once = *new Library();
  return once;
}

const std::map<std::string, unsigned long long>& defaults() {
  static const auto& once = *new std::map<std::string, unsigned long long>{
      {"uuid", 1},
      {"smClock", 1980},
      {"memoryClock", 2619},
      {"maxSmClock", 1980},
      {"maxMemoryClock", 2619},
      {"events", 0},
      {"temperature", 35},
      {"power", 90000},
      {"powerLimit", 700000},
      {"state", 0},
      {"pcieGeneration", 5},
      {"pcieWidth", 16},
      {"maxPcieGeneration", 5},
      {"maxPcieWidth", 16},
      {"pcieReplays", 0},
      {"pcieTx", 0},
      {"pcieRx", 0},
      {"ecc", 0},
      {"eccMode", 1},
      {"own", 1},
      {"foreign", 0},
      {"persistence", 1},
      {"computeMode", 0},
      {"mig", fake::mig()},
      {"bar1", 1ull << 38},
      {"display", 0},
      {"virtualization", 0},
      {"fabric", 3},
      {"fabricStatus", 0},
      {"links", 18},
      {"active", 1},
      {"speed", 26562},
      {"version", 6},
      {"remote", 2},
      {"replay", 0},
      {"recovery", 0},
      {"crc", 0},
      {"tx", 0},
      {"rx", 0},
      {"read", 0},
      {"write", 0},
      {"nvlink", 0},
      {"atomics", 0},
      {"pci", 0},
      {"topology", 50},
  };
  return once;
}

unsigned long long valueOf(int gpu, const std::string& key, int link = -1) {
  const std::string number = std::to_string(gpu);
  const std::string ofLink = key + ":" + std::to_string(link);
  const long times = ++library().readings[number + "/" + (link < 0 ? key : ofLink)];
  unsigned long long value = defaults().at(key);
  for (const Rule& rule : library().values) {
    if (!rule.gpu.empty() && rule.gpu != number) continue;
    if (rule.key != key && (link < 0 || rule.key != ofLink)) continue;
    if (times >= rule.from) value = rule.value;
  }
  return value;
}

// `*` is every call but nvmlInit, `values` every call but those before a GPU is found.
Result failing(const std::string& name) {
  const bool early = name == "nvmlInit_v2" || name.find("Version") != std::string::npos ||
                     name.find("Handle") != std::string::npos;
  const long times = ++library().readings[name];
  for (const Rule& rule : library().failures) {
    const bool meant =
        rule.key == name || (rule.key == "*" && name != "nvmlInit_v2") || (rule.key == "values" && !early);
    if (meant && times >= rule.from) return static_cast<Result>(rule.value);
  }
  return kSuccess;
}

#define ENTER(name)                            \
  const std::lock_guard lock(library().mutex); \
  if (const Result forced = failing(name)) return forced

template <typename Raw>
Result give(Raw* receiver, Device device, const char* key, int link = -1) {
  *receiver = static_cast<Raw>(valueOf(device->gpu, key, link));
  return kSuccess;
}

unsigned busOf(int gpu) {
  return static_cast<unsigned>(fake::pciBus(gpu));
}

void address(PciInfo* pci, unsigned bus) {
  *pci = {};
  pci->bus = bus;
  std::snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", bus);
  std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", bus);
}

bool hasLink(Device device, unsigned link) {
  return link < valueOf(device->gpu, "links");
}

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

const char* keyOf(unsigned field) {
  switch (field) {
    case kFieldNvLinkCount:
      return "links";
    case kFieldNvLinkSpeed:
    case kFieldNvLinkSpeedCommon:
      return "speed";
    case kFieldNvLinkState:
      return "active";
    case kFieldNvLinkReplay:
      return "replay";
    case kFieldNvLinkRecovery:
      return "recovery";
    case kFieldNvLinkCrc:
      return "crc";
    case kFieldNvLinkDataTxKib:
      return "tx";
    case kFieldNvLinkDataRxKib:
      return "rx";
    case kFieldPcieTxBytes:
      return "pcieTx";
    case kFieldPcieRxBytes:
      return "pcieRx";
    default:
      return nullptr;
  }
}

bool isOfLink(unsigned field) {
  return field != kFieldNvLinkCount && field != kFieldNvLinkSpeedCommon && field != kFieldPcieTxBytes &&
         field != kFieldPcieRxBytes;
}

// Why CUDA says that there is no peer access, in the words of nvidia-smi topo -p2p.
int noPeerStatus() {
  static const std::map<std::string, int> words = {
      {"CNS", kP2pChipsetNotSupported}, {"GNS", kP2pGpuNotSupported}, {"TNS", kP2pTopologyNotSupported},
      {"DR", kP2pDisabledByRegkey},     {"NS", kP2pNotSupported},     {"U", kP2pUnknown}};
  const auto it = words.find(fake::noPeerReason());
  return it == words.end() ? kP2pNotSupported : it->second;
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

Result nvmlDeviceGetNvLinkState(Device device, unsigned link, int* active) {
  ENTER("nvmlDeviceGetNvLinkState");
  if (!hasLink(device, link)) return kInvalidArgument;
  return give(active, device, "active", static_cast<int>(link));
}

Result nvmlDeviceGetNvLinkVersion(Device device, unsigned link, unsigned* version) {
  ENTER("nvmlDeviceGetNvLinkVersion");
  if (!hasLink(device, link)) return kInvalidArgument;
  return give(version, device, "version", static_cast<int>(link));
}

Result nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* pci) {
  ENTER("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  if (!hasLink(device, link)) return kInvalidArgument;
  // A switch, or the neighbour in a pair of GPUs.
  const bool toSwitch = valueOf(device->gpu, "remote", static_cast<int>(link)) == kNvLinkSwitch;
  address(pci, toSwitch ? 0x90u : busOf(device->gpu ^ 1));
  return kSuccess;
}

Result nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned link, NvLinkErrorCounter counter,
                                       unsigned long long* value) {
  ENTER("nvmlDeviceGetNvLinkErrorCounter");
  if (!hasLink(device, link)) return kInvalidArgument;
  const char* key = counter == kNvLinkErrorReplay     ? "replay"
                    : counter == kNvLinkErrorRecovery ? "recovery"
                                                      : "crc";
  return give(value, device, key, static_cast<int>(link));
}

Result nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  ENTER("nvmlDeviceGetFieldValues");
  for (FieldValue* field = values; field != values + count; ++field) {
    const char* key = keyOf(field->fieldId);
    field->result = failing("field:" + std::to_string(field->fieldId));
    if (field->result != kSuccess) continue;
    const bool ofLink = isOfLink(field->fieldId);
    if (!key) {
      field->result = kNotSupported;
    } else if (ofLink && !hasLink(device, field->scopeId)) {
      field->result = kInvalidArgument;
    } else {
      field->valueType = kValueUnsignedLongLong;
      field->value.asUnsignedLongLong =
          valueOf(device->gpu, key, ofLink ? static_cast<int>(field->scopeId) : -1);
    }
  }
  return kSuccess;
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

Result nvmlDeviceGetP2PStatus(Device from, Device to, P2pCapability capability, int* status) {
  ENTER("nvmlDeviceGetP2PStatus");
  const char* keys[] = {"read", "write", "nvlink", "atomics", "pci"};
  give(status, from, keys[capability]);
  const bool access = capability == kP2pRead || capability == kP2pWrite;
  if (*status == 0 && access && fake::faultyInMachine(fake::Fault::kNoPeer, from->gpu, to->gpu))
    *status = noPeerStatus();
  return kSuccess;
}

Result nvmlDeviceGetTopologyCommonAncestor(Device from, Device, int* level) {
  ENTER("nvmlDeviceGetTopologyCommonAncestor");
  return give(level, from, "topology");
}

// What came after the first driver that had all of the above.
#ifndef P2P_FAKE_OLD_NVML

Result nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* events) {
  ENTER("nvmlDeviceGetCurrentClocksEventReasons");
  return give(events, device, "events");
}

Result nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, int* type) {
  ENTER("nvmlDeviceGetNvLinkRemoteDeviceType");
  if (!hasLink(device, link)) return kInvalidArgument;
  return give(type, device, "remote", static_cast<int>(link));
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
