// What lies between GPUs: links with their counters, and what NVML says of pairs.
#include <map>

#include "fake_gpus.h"
#include "fake_nvml_values.h"
#include "fake_settings.h"

using namespace fake::nvml;

namespace {

bool hasLink(Device device, unsigned link) {
  return link < valueOf(device->gpu, "links");
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

Result nvmlDeviceGetP2PStatus(Device from, Device to, P2pCapability capability, int* status) {
  ENTER("nvmlDeviceGetP2PStatus");
  const char* keys[] = {"read", "write", "nvlink", "atomics", "pci"};
  const bool access = capability == kP2pRead || capability == kP2pWrite;
  const bool denied = access && fake::faultyInMachine(fake::Fault::kNoPeer, from->gpu, to->gpu);
  *status = static_cast<int>(
      valueOr(from->gpu, keys[capability], static_cast<unsigned long long>(denied ? noPeerStatus() : 0)));
  return kSuccess;
}

Result nvmlDeviceGetTopologyCommonAncestor(Device from, Device, int* level) {
  ENTER("nvmlDeviceGetTopologyCommonAncestor");
  return give(level, from, "topology");
}

// What came after the first driver that had all of the above.
#ifndef P2P_FAKE_OLD_NVML

Result nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, int* type) {
  ENTER("nvmlDeviceGetNvLinkRemoteDeviceType");
  if (!hasLink(device, link)) return kInvalidArgument;
  return give(type, device, "remote", static_cast<int>(link));
}

#endif

}  // extern "C"
