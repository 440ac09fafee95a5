#include "discard.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace p2p {

namespace {

class Discarded {
 public:
  Discarded() : thread_([this] { destroy(); }) {}

  void add(std::shared_ptr<const void> object) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(object));
    }
    added_.notify_one();
  }

  bool none() {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && !destroying_;
  }

 private:
  void destroy() {
    for (;;) {
      std::unique_lock lock(mutex_);
      destroying_ = false;
      added_.wait(lock, [this] { return !waiting_.empty(); });
      std::shared_ptr<const void> object = std::move(waiting_.front());
      waiting_.pop_front();
      destroying_ = true;
      lock.unlock();
      object.reset();
    }
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::shared_ptr<const void>> waiting_;
  bool destroying_ = false;
  std::thread thread_;
};

std::atomic<Discarded*> made = nullptr;

// Never destroyed: its thread waits for more until the process ends.
Discarded& discarded() {
  static Discarded& once = *(made = new Discarded());
  return once;
}

}  // namespace

void discard(std::shared_ptr<const void> object) {
  if (object) discarded().add(std::move(object));
}

bool discardedAll() {
  Discarded* const known = made;
  return !known || known->none();
}

}  // namespace p2p
