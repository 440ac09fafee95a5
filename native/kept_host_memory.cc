#include "kept_host_memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "errors.h"

namespace p2p {

namespace {

constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

}  // namespace

KeptHostMemory& KeptHostMemory::instance() {
  static KeptHostMemory& once = *new KeptHostMemory();
  return once;
}

std::unique_ptr<PinnedMemory> KeptHostMemory::take(const std::shared_ptr<DeviceContext>& context,
                                                   std::size_t bytes, int numaNode) {
  const std::lock_guard lock(mutex_);
  const auto fits = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
    return kept.memory->bytes() == bytes && kept.numaNode == numaNode;
  });
  if (fits != kept_.end()) {
    std::unique_ptr<PinnedMemory> memory = std::move(fits->memory);
    kept_.erase(fits);
    return memory;
  }
  try {
    return std::make_unique<PinnedMemory>(context, bytes);
  } catch (const Failure&) {
    if (kept_.empty()) throw;
    kept_.clear();
    return std::make_unique<PinnedMemory>(context, bytes);
  }
}

void KeptHostMemory::give(std::unique_ptr<PinnedMemory> memory, int numaNode) {
  if (memory->bytes() < kLeastBytes || memory->bytes() > kMostBytes) return;
  const std::lock_guard lock(mutex_);
  kept_.push_back({std::move(memory), numaNode});
  const auto sum = [](std::size_t bytes, const Kept& kept) { return bytes + kept.memory->bytes(); };
  while (std::accumulate(kept_.begin(), kept_.end(), std::size_t{0}, sum) > kMostBytes)
    kept_.erase(kept_.begin());
}

void KeptHostMemory::release() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
}

}  // namespace p2p
