#include "addon_data.h"

#include <chrono>
#include <thread>

namespace p2p {

void AddonData::closeAll() {
  using Clock = std::chrono::steady_clock;
  for (const auto& known : executors) {
    if (const auto executor = known.lock()) executor->cancel();
  }
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(2);
  for (const auto& known : executors) {
    const auto executor = known.lock();
    if (!executor) continue;
    while (executor->busy() && Clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    // One that still works keeps what it has: the operating system takes it back.
    if (!executor->busy()) executor->close();
  }
  for (const auto& known : blocks) {
    if (const auto block = known.lock()) block->reset();
  }
  executors.clear();
  blocks.clear();
  contexts.clear();
}

}  // namespace p2p
