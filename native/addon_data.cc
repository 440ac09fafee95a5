#include "addon_data.h"

#include <chrono>
#include <thread>

namespace p2p {

namespace {

using Clock = std::chrono::steady_clock;

// Closes what works off the event loop. One that still works keeps what it has: the operating system takes it
// back.
template <typename Worker>
void closeWorkers(std::vector<std::weak_ptr<Worker>>& workers, Clock::time_point limit) {
  for (const auto& known : workers) {
    const auto worker = known.lock();
    if (!worker) continue;
    while (worker->busy() && Clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (!worker->busy()) worker->close();
  }
  workers.clear();
}

template <typename Held>
void empty(std::vector<std::weak_ptr<Held>>& list) {
  for (const auto& known : list) {
    if (const auto held = known.lock()) held->reset();
  }
  list.clear();
}

}  // namespace

void AddonData::closeAll() {
  for (const auto& known : executors) {
    if (const auto executor = known.lock()) executor->cancel();
  }
  for (const auto& known : setups) {
    if (const auto setup = known.lock()) setup->cancel();
  }
  for (const auto& known : probes) {
    if (const auto probe = known.lock()) probe->cancel();
  }
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(2);
  closeWorkers(executors, limit);
  closeWorkers(setups, limit);
  closeWorkers(probes, limit);
  empty(blocks);
  empty(exports);
  contexts.clear();
}

}  // namespace p2p
