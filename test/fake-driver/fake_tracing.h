// Reports calls and work to the stand-in CUPTI, while it listens.
#pragma once

#include "../../native/cuda_api.h"
#include "fake_trace.h"

namespace fake {

// One call of the driver, from here to the end of the scope.
class TracedCall {
 public:
  explicit TracedCall(std::uint32_t cbid, std::uint32_t stream = 0);
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;
  ~TracedCall();
  std::uint32_t correlation() const { return activity_.correlation; }
  // Of a poll: passes its answer on.
  p2p::cu::Result answered(p2p::cu::Result result) {
    activity_.unfinished = result == p2p::cu::kNotReady;
    return result;
  }

 private:
  FakeActivity activity_;
};

// Work that was done. Inside the launch of a graph it belongs to that launch, whatever call it was captured
// from.
void traceWork(FakeActivity work);

// While it lives, work of this thread belongs to the call with that correlation.
class InLaunch {
 public:
  explicit InLaunch(std::uint32_t correlation);
  InLaunch(const InLaunch&) = delete;
  InLaunch& operator=(const InLaunch&) = delete;
  ~InLaunch();

 private:
  std::uint32_t outer_;
};

}  // namespace fake
