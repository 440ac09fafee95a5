// Waiting on the host for something that the GPU does: never without a deadline, and cancellable.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>

#include "clock.h"

namespace p2p {

enum class WaitEnd { kDone, kDeadline, kCancelled };

// Counts how often the waits in progress were asked to end.
using CancelCount = std::atomic<unsigned>;

// Asks `done` until it holds: without a pause at first, then giving way to other threads, then sleeping for
// up to 100 µs between two questions, so that a long wait takes no processor. It is cancelled once `cancels`
// is no longer `before`.
template <typename Done>
WaitEnd waitUntil(Done done, double deadlineMs, const CancelCount& cancels, unsigned before) {
  constexpr std::uint64_t kBusyNs = 20'000;
  constexpr std::uint64_t kYieldNs = 500'000;
  const std::uint64_t begin = nowNs();
  const auto limitNs = static_cast<std::uint64_t>(deadlineMs * 1e6);
  for (;;) {
    if (done()) return WaitEnd::kDone;
    const std::uint64_t passed = nowNs() - begin;
    if (passed >= limitNs) return WaitEnd::kDeadline;
    if (cancels.load(std::memory_order_relaxed) != before) return WaitEnd::kCancelled;
    if (passed < kBusyNs) continue;
    if (passed < kYieldNs) {
      sched_yield();
      continue;
    }
    const auto pause = static_cast<long>(std::min<std::uint64_t>({passed / 20, limitNs - passed, 100'000}));
    const timespec moment{0, pause};
    nanosleep(&moment, nullptr);
  }
}

}  // namespace p2p
