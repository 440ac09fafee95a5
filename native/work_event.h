// An event of ad hoc work: a point in a stream that the host can ask for, wait for and take the time of.
#pragma once

#include "host_wait.h"
#include "objects.h"

namespace p2p {

class WorkEvent {
 public:
  WorkEvent(std::shared_ptr<DeviceContext> context, bool timing)
      : event_(std::move(context), timing), timing_(timing) {}

  cu::Event handle() const { return event_.handle(); }
  int gpu() const { return event_.context()->gpu(); }

  bool recorded() const { return recorded_; }
  void noteRecorded() { recorded_ = true; }

  // Whether the GPU has passed the point recorded last. Throws a kUsage failure when there is none, and what
  // the work before it ended with.
  bool query() const;
  // Waits until it has. Throws kNotReady at the deadline.
  void sync(double deadlineMs) const;
  // Nanoseconds of the GPU from one point to another. Throws a kUsage failure for events of different GPUs,
  // without timing, or that the GPU has not passed.
  double elapsedNs(const WorkEvent& since) const;

 private:
  void requireRecorded() const;

  Event event_;
  bool timing_;
  bool recorded_ = false;
};

}  // namespace p2p
