#include "addon_data.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "discard.h"
#include "kept_host_memory.h"

namespace p2p {

namespace {

constexpr double kSettleMs = 10'000;
constexpr auto kPatience = std::chrono::seconds(2);

template <typename T, typename Do>
void each(const std::vector<std::weak_ptr<T>>& list, Do work) {
  for (const auto& known : list) {
    if (const auto open = known.lock()) work(*open);
  }
}

template <typename T>
bool anyBusy(const std::vector<std::weak_ptr<T>>& list) {
  bool busy = false;
  each(list, [&](T& open) { busy |= open.busy(); });
  return busy;
}

constexpr auto cancel = [](auto& open) { open.cancel(); };
constexpr auto close = [](auto& open) { open.close(); };
constexpr auto reset = [](auto& open) { open.reset(); };

}  // namespace

Block AddonData::blockAt(std::uint64_t address) const {
  Block found;
  each(blocks, [&](const Block& block) {
    if (block && address >= block->address() && address - block->address() < block->bytes()) found = block;
  });
  return found;
}

void AddonData::settle(const MemoryBlock* block) {
  each(streams, [&](WorkStream& stream) {
    if (!block || stream.uses(*block)) stream.sync(kSettleMs);
  });
}

bool AddonData::quiet() {
  const bool works = anyBusy(executors) || anyBusy(setups) || anyBusy(probes) || anyBusy(streams) ||
                     std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return !job->over(); });
  return !works && discardedAll() && releaseFinishedWork();
}

// The operating system takes back what is kept here.
void AddonData::keepAll() {
  auto& kept = *new std::vector<std::shared_ptr<const void>>();
  const auto keep = [&](const auto& list) {
    for (const auto& known : list) kept.push_back(known.lock());
  };
  keep(executors);
  keep(setups);
  keep(probes);
  each(handles, [&](const OpenHandle& handle) { kept.push_back(handle.content()); });
  each(blocks, [&](const Block& block) { kept.push_back(block); });
  each(exports, [&](const Exported& exported) { kept.push_back(exported); });
  for (const auto& [gpu, context] : contexts) kept.push_back(context);
}

void AddonData::closeAll() {
  each(executors, cancel);
  each(setups, cancel);
  each(probes, cancel);
  for (const auto& job : jobs) job->cancel();
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (!quiet() && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  if (!quiet()) return keepAll();
  each(executors, close);
  each(setups, close);
  each(probes, close);
  each(handles, close);
  each(blocks, reset);
  each(exports, reset);
  KeptHostMemory::instance().release();
  contexts.clear();
}

}  // namespace p2p
