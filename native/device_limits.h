// What a GPU takes in one launch, and how much of its memory is free.
#pragma once

#include <cstdint>

namespace p2p {

struct DeviceLimits {
  int maxThreadsPerBlock = 0;
  int maxBlock[3] = {};
  int maxGrid[3] = {};
  // Shared memory of a block: without asking, and at most.
  int maxSharedBytes = 0;
  int maxSharedBytesOptIn = 0;
  int warpSize = 0;
};

// Asked of the driver once. Throws when there is no driver or no such GPU.
const DeviceLimits& deviceLimits(int gpu);

struct MemoryInfo {
  std::uint64_t freeBytes = 0;
  std::uint64_t totalBytes = 0;
};

class DeviceContext;

// Of all processes that use the GPU.
MemoryInfo memoryInfo(const DeviceContext& context);

}  // namespace p2p
