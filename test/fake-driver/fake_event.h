// Events. Each record is a point of its own: who waits for an event waits for the point recorded last before.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "fake_context.h"
#include "fake_graph.h"

namespace fake {

struct Point {
  CUctx_st* const context;
  std::atomic<bool> reached{false};
  std::uint64_t timeNs = 0;

  explicit Point(CUctx_st* context) : context(context) {}

  // Reached, or never to be, because the context before it broke.
  bool over() const { return reached || context->broken != p2p::cu::kSuccess; }
};

}  // namespace fake

struct CUevent_st {
  CUctx_st* const context;
  const unsigned flags;
  std::mutex mutex;
  std::shared_ptr<fake::Point> latest;  // nullptr: never recorded
  fake::CapturedPoint captured;         // set when it was recorded last during a capture

  CUevent_st(CUctx_st* context, unsigned flags) : context(context), flags(flags) {}

  std::shared_ptr<fake::Point> point() {
    const std::lock_guard lock(mutex);
    return latest;
  }

  fake::CapturedPoint capturedPoint() {
    const std::lock_guard lock(mutex);
    return captured;
  }
};
