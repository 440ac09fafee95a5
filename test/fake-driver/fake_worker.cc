#include "fake_worker.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "fake_calls.h"
#include "fake_settings.h"

using namespace p2p::cu;

namespace fake {

namespace {

constexpr unsigned kYields = 64;
constexpr std::uint64_t kShortestNs = 2'000;
constexpr std::uint64_t kLongestNs = 500'000;
// Longest sleep without a look at whether the process ends.
constexpr std::uint64_t kSliceNs = 10'000'000;

std::atomic<bool> processEnds{false};

// State of the context whose task this thread does.
thread_local std::atomic<Result>* ownState = nullptr;

void rest(std::uint64_t ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

}  // namespace

bool ending() {
  return processEnds.load(std::memory_order_relaxed);
}

void setEnding() {
  processEnds = true;
}

void Spin::pause() {
  if (ending()) throw Ending{};
  if (ownState && *ownState != kSuccess) throw Broken{*ownState};
  if (++rounds_ <= kYields) {
    sched_yield();
    return;
  }
  const unsigned doublings = std::min((rounds_ - kYields) / 16, 8u);
  rest(std::min(kShortestNs << doublings, kLongestNs));
}

void waitUntil(const std::function<bool()>& done) {
  for (Spin spin; !done();) spin.pause();
}

void sleepNs(std::uint64_t ns) {
  const std::uint64_t end = nowNs() + ns;
  for (std::uint64_t now = nowNs(); now < end; now = nowNs()) {
    if (ending()) throw Ending{};
    rest(std::min(end - now, kSliceNs));
  }
}

void runSideBySide(const std::vector<Task>& tasks) {
  std::atomic<Result>& state = *ownState;
  std::vector<std::thread> threads;
  for (const Task& task : tasks) {
    threads.emplace_back([&] {
      ownState = &state;
      try {
        task();
      } catch (const Broken& broken) {
        state = broken.result;
      } catch (const Ending&) {
        // The task that we are part of ends for the same reason.
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (ending()) throw Ending{};
  if (state != kSuccess) throw Broken{state};
}

void Worker::submit(Task task) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(task));
  pending_.fetch_add(1, std::memory_order_release);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  wake_.notify_one();
}

void Worker::close() {
  const std::lock_guard lock(mutex_);
  closing_ = true;
  wake_.notify_one();
}

void Worker::join() {
  close();
  if (thread_.joinable()) thread_.join();
}

void Worker::work() {
  // Sleeps of microseconds are meant as such.
  prctl(PR_SET_TIMERSLACK, 1);
  ownState = &broken_;
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty() || ending()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    try {
      if (broken_ == kSuccess) task();
    } catch (const Broken& broken) {
      broken_ = broken.result;
    } catch (const Ending&) {
      return;
    }
    task = nullptr;
    pending_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace fake
