#include "kept_host_memory.h"

#include <algorithm>
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
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return kept.memory->bytes() == bytes && kept.numaNode == numaNode;
    });
    if (fits != kept_.end()) {
      std::unique_ptr<PinnedMemory> memory = std::move(fits->memory);
      kept_.erase(fits);
      bytes_ -= bytes;
      return memory;
    }
    if (kept_.empty()) return std::make_unique<PinnedMemory>(context, bytes);
  }
  try {
    return std::make_unique<PinnedMemory>(context, bytes);
  } catch (const Failure&) {
    release();
    return std::make_unique<PinnedMemory>(context, bytes);
  }
}

void KeptHostMemory::give(std::unique_ptr<PinnedMemory> memory, int numaNode) {
  const std::size_t bytes = memory->bytes();
  if (bytes < kLeastBytes || bytes > kMostBytes) return;
  std::vector<Kept> freed;
  const std::lock_guard lock(mutex_);
  while (bytes_ + bytes > kMostBytes) {
    bytes_ -= kept_.front().memory->bytes();
    freed.push_back(std::move(kept_.front()));
    kept_.erase(kept_.begin());
  }
  bytes_ += bytes;
  kept_.push_back({std::move(memory), numaNode});
}

void KeptHostMemory::release() {
  std::vector<Kept> freed;
  const std::lock_guard lock(mutex_);
  freed.swap(kept_);
  bytes_ = 0;
}

}  // namespace p2p
