// A thread that does the tasks of one stream, one after the other, and gives way when the process ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "../../native/cuda_api.h"

namespace fake {

// Thrown by a task that breaks its context, as a kernel does with an illegal address.
struct Broken {
  p2p::cu::Result result;
};

// Thrown in a task because the process ends.
struct Ending {};

// True from the moment on that the process ends: nothing may wait any longer.
bool ending();
void setEnding();

// Waits inside a task until a condition holds: soon at first, then less often. Throws Ending.
void waitUntil(const std::function<bool()>& done);

// One moment of a loop that spins in a task; throws Ending, or Broken when another stream broke the context.
class Spin {
 public:
  void pause();

 private:
  unsigned rounds_ = 0;
};

// Sleeps in a task; throws Ending.
void sleepNs(std::uint64_t ns);

using Task = std::function<void()>;

// Does tasks at the same time, each on a thread of its own, inside a task. The first failure ends the others.
void runSideBySide(const std::vector<Task>& tasks);

class Worker {
 public:
  // `broken` is the state of the stream's context: a task that throws Broken sets it, and none runs after.
  explicit Worker(std::atomic<p2p::cu::Result>& broken) : broken_(broken) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { join(); }

  void submit(Task task);
  std::size_t pending() const { return pending_.load(std::memory_order_acquire); }
  // Whether every task is done.
  bool idle() const { return pending_.load(std::memory_order_acquire) == 0; }
  // Lets the thread end after its last task.
  void close();
  void join();

 private:
  void work();

  std::atomic<p2p::cu::Result>& broken_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> queue_;
  std::atomic<std::size_t> pending_{0};
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace fake
