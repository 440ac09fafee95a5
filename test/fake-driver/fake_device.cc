// The library itself and the facts of its GPUs.
#include <cstdio>
#include <cstring>

#include "fake_calls.h"
#include "fake_gpus.h"
#include "fake_memory.h"
#include "fake_settings.h"

using namespace p2p::cu;
using namespace fake;

namespace {

bool exists(Device device) {
  return device >= 0 && device < deviceCount();
}

}  // namespace

extern "C" {

Result cuInit(unsigned) {
  ENTER("cuInit");
  if (deviceCount() == 0) return kNoDevice;
  setInitialized();
  return kSuccess;
}

Result cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number("P2PLAB_FAKE_VERSION", 13000));
  return kSuccess;
}

Result cuGetErrorName(Result, const char** name) {
  *name = "CUDA_ERROR_FAKE";
  return kSuccess;
}

Result cuGetErrorString(Result, const char** text) {
  *text = "an error of the stand-in driver";
  return kSuccess;
}

Result cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = deviceCount();
  return kSuccess;
}

Result cuDeviceGet(Device* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (!exists(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

Result cuDeviceGetName(char* name, int length, Device device) {
  ENTER("cuDeviceGetName");
  if (!exists(device)) return kInvalidDevice;
  std::snprintf(name, static_cast<std::size_t>(length), mig() ? "Fake GPU MIG 1g.18gb" : "Fake GPU");
  return kSuccess;
}

Result cuDeviceGetUuid(Uuid* uuid, Device device) {
  ENTER("cuDeviceGetUuid");
  if (!exists(device)) return kInvalidDevice;
  std::memcpy(uuid->bytes, uuidOf(placeOf(device)).data(), sizeof uuid->bytes);
  return kSuccess;
}

// Differs from the plain one for an instance of a split GPU only.
Result cuDeviceGetUuid_v2(Uuid* uuid, Device device) {
  ENTER("cuDeviceGetUuid_v2");
  if (!exists(device)) return kInvalidDevice;
  std::memcpy(uuid->bytes, (mig() ? migUuid() : uuidOf(placeOf(device))).data(), sizeof uuid->bytes);
  return kSuccess;
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, Device device) {
  ENTER("cuDeviceTotalMem_v2");
  if (!exists(device)) return kInvalidDevice;
  *bytes = memoryLimit();
  return kSuccess;
}

Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  ENTER("cuDeviceGetAttribute");
  if (!exists(device)) return kInvalidDevice;
  switch (attribute) {
    case kAttributeMaxThreadsPerBlock:
    case kAttributeMaxBlockX:
    case kAttributeMaxBlockY:
      *value = 1024;
      return kSuccess;
    case kAttributeMaxBlockZ:
      *value = 64;
      return kSuccess;
    case kAttributeMaxGridX:
      *value = 2147483647;
      return kSuccess;
    case kAttributeMaxGridY:
    case kAttributeMaxGridZ:
      *value = 65535;
      return kSuccess;
    case kAttributeMaxSharedPerBlock:
      *value = 48 << 10;
      return kSuccess;
    case kAttributeMaxSharedPerBlockOptIn:
      *value = 227 << 10;
      return kSuccess;
    case kAttributeWarpSize:
      *value = 32;
      return kSuccess;
    case kAttributePciBusId:
      *value = pciBus(placeOf(device));
      return kSuccess;
    case kAttributePciDeviceId:
    case kAttributePciDomainId:
      *value = 0;
      return kSuccess;
    case kAttributeComputeMajor:
      *value = 9;
      return kSuccess;
    case kAttributeComputeMinor:
      *value = 0;
      return kSuccess;
    case kAttributeL2CacheSize:
      *value = 1 << 20;
      return kSuccess;
    case kAttributeMultiprocessorCount:
      *value = 4;
      return kSuccess;
    case kAttributeAsyncEngineCount:
      *value = 3;
      return kSuccess;
    default:
      *value = 1;
      return kSuccess;
  }
}

Result cuDeviceCanAccessPeer(int* can, Device from, Device to) {
  ENTER("cuDeviceCanAccessPeer");
  if (!exists(from) || !exists(to)) return kInvalidDevice;
  *can = from != to && !faulty(Fault::kNoPeer, from, to);
  return kSuccess;
}

#ifndef P2P_FAKE_OLD_DRIVER
Result cuDeviceGetP2PAttribute(int* value, PeerAttribute attribute, Device from, Device to) {
  ENTER("cuDeviceGetP2PAttribute");
  if (!exists(from) || !exists(to) || from == to) return kInvalidDevice;
  *value = attribute == kPeerPerformanceRank ? 0 : !faulty(Fault::kNoPeer, from, to);
  return kSuccess;
}
#endif

}  // extern "C"
