#include "devices.h"

#include <cstdio>

#include "driver_library.h"
#include "host_thread.h"

namespace p2p {

namespace {

int attribute(cu::Device device, cu::DeviceAttribute which) {
  int value = 0;
  P2P_CALL(cuDeviceGetAttribute, &value, which, device);
  return value;
}

// An attribute that newer drivers may stop answering, as they did for clocks; 0 then.
int attributeIfKnown(cu::Device device, cu::DeviceAttribute which) {
  int value = 0;
  const cu::Result result = driver().cuDeviceGetAttribute(&value, which, device);
  return result == cu::kSuccess ? value : 0;
}

std::optional<bool> flagIfKnown(cu::Device device, cu::DeviceAttribute which) {
  int value = 0;
  if (driver().cuDeviceGetAttribute(&value, which, device) != cu::kSuccess) return std::nullopt;
  return value != 0;
}

std::string pciAddress(cu::Device device) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", attribute(device, cu::kAttributePciDomainId),
                attribute(device, cu::kAttributePciBusId), attribute(device, cu::kAttributePciDeviceId));
  return text;
}

std::string uuidOf(cu::Device device) {
  cu::Uuid uuid{};
  // The second version gives a MIG slice its own UUID, the first that of the GPU it was cut from.
  if (driver().cuDeviceGetUuid_v2)
    P2P_CALL(cuDeviceGetUuid_v2, &uuid, device);
  else
    P2P_CALL(cuDeviceGetUuid, &uuid, device);
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex;
  }
  return text;
}

}  // namespace

DeviceFacts deviceFacts(int gpu) {
  const cu::Device device = deviceOf(gpu);
  DeviceFacts facts;
  facts.index = gpu;
  char name[256] = {};
  P2P_CALL(cuDeviceGetName, name, static_cast<int>(sizeof name) - 1, device);
  facts.name = name;
  facts.uuid = uuidOf(device);
  facts.pci = pciAddress(device);
  std::size_t bytes = 0;
  P2P_CALL(cuDeviceTotalMem_v2, &bytes, device);
  facts.memoryBytes = static_cast<double>(bytes);
  facts.computeMajor = attribute(device, cu::kAttributeComputeMajor);
  facts.computeMinor = attribute(device, cu::kAttributeComputeMinor);
  facts.multiprocessors = attribute(device, cu::kAttributeMultiprocessorCount);
  facts.copyEngines = attribute(device, cu::kAttributeAsyncEngineCount);
  facts.clockKhz = attributeIfKnown(device, cu::kAttributeClockRate);
  facts.memoryClockKhz = attributeIfKnown(device, cu::kAttributeMemoryClockRate);
  facts.l2Bytes = attributeIfKnown(device, cu::kAttributeL2CacheSize);
  facts.unifiedAddressing = attribute(device, cu::kAttributeUnifiedAddressing) != 0;
  facts.canMapHostMemory = attribute(device, cu::kAttributeCanMapHostMemory) != 0;
  facts.gpuDirectRdma = flagIfKnown(device, cu::kAttributeGpuDirectRdmaSupported);
  facts.dmaBuf = flagIfKnown(device, cu::kAttributeDmaBufSupported);
  facts.numaNode = numaNodeOfPci(facts.pci);
  return facts;
}

PeerFacts peerFacts(int from, int to) {
  const cu::Device a = deviceOf(from);
  const cu::Device b = deviceOf(to);
  if (from == to)
    throw usage("GPU " + std::to_string(from) + " is no peer of itself", "Name two different GPUs.");
  int access = 0;
  P2P_CALL(cuDeviceCanAccessPeer, &access, a, b);
  const auto attributeOfPair = [&](cu::PeerAttribute which) {
    int value = 0;
    const cu::Result result = driver().cuDeviceGetP2PAttribute(&value, which, a, b);
    return result == cu::kSuccess ? value : 0;
  };
  return {access != 0, attributeOfPair(cu::kPeerNativeAtomicSupported) != 0,
          attributeOfPair(cu::kPeerArrayAccessSupported) != 0, attributeOfPair(cu::kPeerPerformanceRank)};
}

int numaNodeOf(int gpu) {
  return numaNodeOfPci(pciAddress(deviceOf(gpu)));
}

}  // namespace p2p
