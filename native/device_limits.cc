#include "device_limits.h"

#include <cstddef>
#include <map>
#include <mutex>

#include "context.h"
#include "driver_library.h"

namespace p2p {

namespace {

DeviceLimits asked(int gpu) {
  const cu::Device device = deviceOf(gpu);
  const auto attribute = [&](cu::DeviceAttribute which) {
    int value = 0;
    P2P_CALL(cuDeviceGetAttribute, &value, which, device);
    return value;
  };
  DeviceLimits limits;
  limits.maxThreadsPerBlock = attribute(cu::kAttributeMaxThreadsPerBlock);
  limits.maxBlock[0] = attribute(cu::kAttributeMaxBlockX);
  limits.maxBlock[1] = attribute(cu::kAttributeMaxBlockY);
  limits.maxBlock[2] = attribute(cu::kAttributeMaxBlockZ);
  limits.maxGrid[0] = attribute(cu::kAttributeMaxGridX);
  limits.maxGrid[1] = attribute(cu::kAttributeMaxGridY);
  limits.maxGrid[2] = attribute(cu::kAttributeMaxGridZ);
  limits.maxSharedBytes = attribute(cu::kAttributeMaxSharedPerBlock);
  limits.maxSharedBytesOptIn = attribute(cu::kAttributeMaxSharedPerBlockOptIn);
  limits.warpSize = attribute(cu::kAttributeWarpSize);
  return limits;
}

}  // namespace

const DeviceLimits& deviceLimits(int gpu) {
  static std::mutex& mutex = *new std::mutex();
  static auto& known = *new std::map<int, DeviceLimits>();
  const std::lock_guard lock(mutex);
  const auto it = known.find(gpu);
  return it != known.end() ? it->second : known.emplace(gpu, asked(gpu)).first->second;
}

MemoryInfo memoryInfo(const DeviceContext& context) {
  const CurrentContext current(context);
  std::size_t freeBytes = 0;
  std::size_t totalBytes = 0;
  P2P_CALL(cuMemGetInfo_v2, &freeBytes, &totalBytes);
  return {freeBytes, totalBytes};
}

}  // namespace p2p
