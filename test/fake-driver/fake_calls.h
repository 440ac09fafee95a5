// What every driver call passes first (counts, forced answers), and what is written when the process ends.
#pragma once

#include <atomic>
#include <functional>

#include "../../native/cuda_api.h"

namespace fake {

using namespace p2p::cu;

// One driver function: how often it was called, and what it is made to answer (P2PLAB_FAKE_FAIL).
class Call {
 public:
  explicit Call(const char* name);
  Result enter();
  const char* name() const { return name_; }
  long times() const { return times_; }

 private:
  const char* name_;
  std::atomic<long> times_{0};
  Result forced_ = kSuccess;
  long from_ = 1;
  // The time at which it breaks the current context (P2PLAB_FAKE_STICKY); 0: never.
  long breaks_ = 0;
};

// First line of every driver function.
#define ENTER(name)                                    \
  static ::fake::Call& call = *new ::fake::Call(name); \
  if (const Result forced = call.enter()) return forced

void setInitialized();

// Registers a kind of object for the count of what is still alive.
void countAlive(const char* kind, std::function<std::size_t()> alive);

// Registers work for the end of the process, before the counts are written.
void atExit(std::function<void()> work);

}  // namespace fake
