#include "work_event.h"

#include "driver_library.h"

namespace p2p {

void WorkEvent::requireRecorded() const {
  if (!recorded_) throw usage("the event was never recorded", "Record it on a stream: event.record(stream).");
}

bool WorkEvent::query() const {
  requireRecorded();
  const CurrentContext current(*event_.context());
  const cu::Result result = driver().cuEventQuery(handle());
  if (result == cu::kNotReady) return false;
  check(result, "cuEventQuery");
  return true;
}

void WorkEvent::sync(double deadlineMs) const {
  const CancelCount never{0};
  if (waitUntil([this] { return query(); }, deadlineMs, never, 0) == WaitEnd::kDeadline)
    throw cudaFailure(cu::kNotReady, "cuEventQuery", "The event was not reached by the deadline.");
}

double WorkEvent::elapsedNs(const WorkEvent& since) const {
  if (!timing_ || !since.timing_)
    throw usage("an event without timing has no time", "Make both with cuda.event(gpu).");
  if (gpu() != since.gpu())
    throw usage("events of GPU " + std::to_string(since.gpu()) + " and GPU " + std::to_string(gpu()) +
                    " have no common clock",
                "Record both on the same GPU.");
  if (!since.query() || !query())
    throw usage("the GPU has not passed both events yet", "Wait for the later one first: event.sync().");
  const CurrentContext current(*event_.context());
  float milliseconds = 0;
  P2P_CALL(cuEventElapsedTime, &milliseconds, since.handle(), handle());
  return static_cast<double>(milliseconds) * 1e6;
}

}  // namespace p2p
