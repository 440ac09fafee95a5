#include "fake_stream.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "../../native/cupti_api.h"
#include "fake_registry.h"
#include "fake_settings.h"
#include "fake_tracing.h"

using namespace p2p::cu;

namespace fake {

namespace {

// Streams that were destroyed with work in flight: their workers go on until it is done or the process ends.
struct Retired {
  std::mutex mutex;
  std::vector<std::shared_ptr<CUstream_st>> streams;

  void add(std::shared_ptr<CUstream_st> stream) {
    stream->worker.close();
    const std::lock_guard lock(mutex);
    std::erase_if(streams, [](const auto& other) { return other->worker.idle(); });
    streams.push_back(std::move(stream));
  }
};

Retired& retired() {
  static Retired& once = *new Retired();
  return once;
}

// Ends every worker before the counts are written; what never completes gives way.
class Streams : public Registry<CUstream_st> {
 public:
  Streams() : Registry("streams") {
    atExit([this] {
      setEnding();
      for (const auto& stream : all()) stream->worker.join();
      const std::lock_guard lock(retired().mutex);
      retired().streams.clear();
    });
  }
};

Streams& streams() {
  static Streams& once = *new Streams();
  return once;
}

std::mutex& captureMutex() {
  static std::mutex& once = *new std::mutex();
  return once;
}

// Whether a call asks a captured stream for what only work in flight can tell; that ends the capture.
bool refusesCapture(const CUstream_st& stream) {
  const auto capture = captureOf(stream);
  if (capture) capture->invalidate();
  return capture != nullptr;
}

}  // namespace

std::shared_ptr<CUstream_st> findStream(CUstream_st* handle) {
  return streams().find(handle);
}

namespace {

void enqueue(CUstream_st& stream, Task task) {
  static const auto depth = static_cast<std::size_t>(number("P2PLAB_FAKE_QUEUE", 0));
  try {
    if (depth > 0) waitUntil([&] { return stream.worker.pending() < depth; });
  } catch (const Ending&) {
    return;
  }
  stream.worker.submit(std::move(task));
}

}  // namespace

void submit(const std::shared_ptr<CUstream_st>& stream, GraphNodeType type, Task task) {
  if (const auto capture = captureOf(*stream))
    capture->add(stream.get(), type, std::move(task));
  else
    enqueue(*stream, std::move(task));
}

std::shared_ptr<Capture> captureOf(const CUstream_st& stream) {
  const std::lock_guard lock(captureMutex());
  return stream.capture;
}

void setCapture(CUstream_st& stream, std::shared_ptr<Capture> capture) {
  const std::lock_guard lock(captureMutex());
  stream.capture = std::move(capture);
}

void endCapture(const std::shared_ptr<Capture>& capture) {
  const auto all = streams().all();
  const std::lock_guard lock(captureMutex());
  for (const auto& stream : all) {
    if (stream->capture == capture) stream->capture = nullptr;
  }
}

Result waitFor(const CUstream_st& stream) {
  try {
    waitUntil([&] { return stream.worker.idle(); });
  } catch (const Ending&) {
    return kDeinitialized;
  }
  return stream.context->broken;
}

}  // namespace fake

using namespace fake;

extern "C" {

Result cuStreamCreate(Stream* stream, unsigned flags) {
  ENTER("cuStreamCreate");
  if (const Result state = currentState()) return state;
  // The first few are the driver's own.
  static std::atomic<std::uint32_t> ids{12};
  if (flags & ~kStreamNonBlocking) return kInvalidValue;
  *stream = streams().add(std::make_shared<CUstream_st>(currentContext(), ++ids));
  return kSuccess;
}

Result cuStreamDestroy_v2(Stream stream) {
  ENTER("cuStreamDestroy_v2");
  std::shared_ptr<CUstream_st> gone = streams().remove(stream);
  if (!gone) return kInvalidHandle;
  const Result state = gone->context->broken;
  (void)refusesCapture(*gone);
  if (!gone->worker.idle()) retired().add(std::move(gone));
  return state;
}

Result cuStreamQuery(Stream stream) {
  ENTER("cuStreamQuery");
  const auto own = findStream(stream);
  if (!own) return kInvalidHandle;
  TracedCall traced(p2p::cupti::kCbidStreamQuery, own->id);
  if (const Result state = own->context->broken) return state;
  if (refusesCapture(*own)) return kStreamCaptureUnsupported;
  return traced.answered(own->worker.idle() ? kSuccess : kNotReady);
}

Result cuStreamSynchronize(Stream stream) {
  ENTER("cuStreamSynchronize");
  const auto own = findStream(stream);
  if (!own) return kInvalidHandle;
  const TracedCall traced(p2p::cupti::kCbidStreamSynchronize, own->id);
  if (refusesCapture(*own)) return kStreamCaptureUnsupported;
  return waitFor(*own);
}

}  // extern "C"
