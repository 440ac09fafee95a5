#include "fake_event.h"

#include "../../native/cupti_api.h"
#include "fake_registry.h"
#include "fake_settings.h"
#include "fake_stream.h"
#include "fake_tracing.h"

using namespace p2p::cu;
using namespace fake;

namespace {

Registry<CUevent_st>& events() {
  static auto& once = *new Registry<CUevent_st>("events");
  return once;
}

}  // namespace

extern "C" {

Result cuEventCreate(Event* event, unsigned flags) {
  ENTER("cuEventCreate");
  if (const Result state = currentState()) return state;
  *event = events().add(std::make_shared<CUevent_st>(currentContext(), flags));
  return kSuccess;
}

Result cuEventDestroy_v2(Event event) {
  ENTER("cuEventDestroy_v2");
  const auto gone = events().remove(event);
  return gone ? gone->context->broken.load() : kInvalidHandle;
}

Result cuEventRecord(Event event, Stream stream) {
  ENTER("cuEventRecord");
  const TracedCall traced(p2p::cupti::kCbidEventRecord);
  const auto own = events().find(event);
  const auto on = findStream(stream);
  if (!own || !on || own->context != on->context || currentContext() != on->context) return kInvalidHandle;
  if (const Result state = currentState()) return state;
  if (const auto capture = captureOf(*on)) {
    const std::lock_guard lock(own->mutex);
    own->captured = {capture, capture->tail(stream)};
    return kSuccess;
  }
  auto point = std::make_shared<Point>(own->context);
  {
    const std::lock_guard lock(own->mutex);
    own->latest = point;
    own->captured = {};
  }
  submit(on, kNodeEmpty, [point] {
    point->timeNs = nowNs();
    point->reached = true;
  });
  return kSuccess;
}

Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  ENTER("cuStreamWaitEvent");
  const TracedCall traced(p2p::cupti::kCbidStreamWaitEvent);
  const auto own = events().find(event);
  const auto on = findStream(stream);
  if (!own || !on) return kInvalidHandle;
  if (const Result state = on->context->broken) return state;
  const auto capture = captureOf(*on);
  if (const CapturedPoint captured = own->capturedPoint(); captured.capture) {
    if (captured.capture->ended()) return kCapturedEvent;
    if (capture && capture != captured.capture) return kStreamCaptureMerge;
    setCapture(*on, captured.capture);
    captured.capture->join(stream, captured.nodes);
    return kSuccess;
  }
  if (capture) {
    capture->invalidate();
    return kStreamCaptureIsolation;
  }
  const auto point = own->point();
  if (!point) return kSuccess;
  submit(on, kNodeEmpty, [point] { waitUntil([&] { return point->over(); }); });
  return kSuccess;
}

Result cuEventQuery(Event event) {
  ENTER("cuEventQuery");
  TracedCall traced(p2p::cupti::kCbidEventQuery);
  const auto own = events().find(event);
  if (!own) return kInvalidHandle;
  if (const Result state = own->context->broken) return state;
  if (own->capturedPoint().capture) return kCapturedEvent;
  const auto point = own->point();
  return traced.answered(!point || point->reached ? kSuccess : kNotReady);
}

Result cuEventSynchronize(Event event) {
  ENTER("cuEventSynchronize");
  const auto own = events().find(event);
  if (!own) return kInvalidHandle;
  if (own->capturedPoint().capture) return kCapturedEvent;
  const auto point = own->point();
  try {
    waitUntil([&] { return !point || point->over(); });
  } catch (const Ending&) {
    return kDeinitialized;
  }
  return own->context->broken;
}

Result cuEventElapsedTime(float* ms, Event start, Event end) {
  ENTER("cuEventElapsedTime");
  const auto first = events().find(start);
  const auto last = events().find(end);
  if (!first || !last || first->context != last->context) return kInvalidHandle;
  if ((first->flags | last->flags) & kEventDisableTiming) return kInvalidHandle;
  if (first->capturedPoint().capture || last->capturedPoint().capture) return kCapturedEvent;
  const auto from = first->point();
  const auto to = last->point();
  if (!from || !to) return kInvalidHandle;
  if (!from->reached || !to->reached) return kNotReady;
  *ms = static_cast<float>(static_cast<double>(static_cast<std::int64_t>(to->timeNs - from->timeNs)) / 1e6);
  return kSuccess;
}

}  // extern "C"
