#include "pool_memory.h"

#include <cstdint>
#include <string>

#include "clock.h"
#include "driver_library.h"

namespace p2p {

namespace {

// Allocating and freeing in an empty stream takes microseconds to milliseconds.
constexpr std::uint64_t kLimitNs = 10'000'000'000;

cu::Result settle(const Stream& stream) noexcept {
  return stream.poll(nowNs() + kLimitNs);
}

void requirePools(int gpu) {
  int supported = 0;
  P2P_CALL(cuDeviceGetAttribute, &supported, cu::kAttributeMemoryPoolsSupported, deviceOf(gpu));
  if (!supported)
    throw notAvailable("GPU " + std::to_string(gpu) + " has no stream-ordered memory pools",
                       "Use the allocator \"malloc\".");
}

}  // namespace

MemoryPool::MemoryPool(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {
  const auto create = P2P_PRESENT(cuMemPoolCreate);
  requirePools(context_->gpu());
  const CurrentContext current(*context_);
  cu::MemoryPoolProps properties{};
  properties.allocType = cu::kAllocationPinned;
  properties.location = {cu::kLocationDevice, context_->gpu()};
  check(create(&handle_, &properties), "cuMemPoolCreate");
}

MemoryPool::~MemoryPool() {
  noteRelease(driver().cuMemPoolDestroy(handle_));
}

void MemoryPool::allow(int gpu, bool access) {
  const cu::MemoryAccessDesc wish{{cu::kLocationDevice, gpu},
                                  access ? cu::kAccessReadWrite : cu::kAccessNone};
  const cu::Result result = P2P_PRESENT(cuMemPoolSetAccess)(handle_, &wish, 1);
  if (result != cu::kSuccess)
    throw cudaFailure(
        result, "cuMemPoolSetAccess",
        "(GPU " + std::to_string(gpu) + " to a pool of GPU " + std::to_string(context_->gpu()) + ")");
}

PoolMemory::PoolMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes, std::span<const int> peers)
    : pool_(context), stream_(std::move(context)) {
  for (const int gpu : peers) pool_.allow(gpu, true);
  const CurrentContext current(*pool_.context());
  const auto allocate = P2P_PRESENT(cuMemAllocFromPoolAsync);
  if (const cu::Result result = allocate(&address_, bytes, pool_.handle(), stream_.handle());
      result != cu::kSuccess)
    throw cudaFailure(result, "cuMemAllocFromPoolAsync", "(" + std::to_string(bytes) + " bytes)");
  if (const cu::Result result = settle(stream_); result != cu::kSuccess) {
    noteRelease(driver().cuMemFreeAsync(address_, stream_.handle()));
    throw cudaFailure(result, "cuMemAllocFromPoolAsync", "(" + std::to_string(bytes) + " bytes)");
  }
}

PoolMemory::~PoolMemory() {
  noteRelease(driver().cuMemFreeAsync(address_, stream_.handle()));
  noteRelease(settle(stream_));
}

}  // namespace p2p
