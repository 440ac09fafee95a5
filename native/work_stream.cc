#include "work_stream.h"

#include <string>
#include <utility>
#include <vector>

#include "driver_library.h"
#include "peers.h"

namespace p2p {

namespace {

// What the capture in progress uses; the graph takes it over. Captures are made by one thread at a time.
struct Capture {
  std::mutex mutex;
  const WorkStream* stream = nullptr;  // that began it; nullptr: no capture is in progress
  Uses uses;
};

Capture& currentCapture() {
  static Capture& once = *new Capture();
  return once;
}

// Work of closed streams that was not done yet.
struct Unfinished {
  std::mutex mutex;
  std::vector<std::unique_ptr<StreamWork>> work;
};

Unfinished& unfinished() {
  static Unfinished& once = *new Unfinished();
  return once;
}

}  // namespace

namespace {

// With its context current; for callers that cannot throw.
cu::Result queryIn(StreamWork& work) {
  cu::Context popped = nullptr;
  noteRelease(driver().cuCtxPushCurrent_v2(work.stream.context()->handle()));
  const cu::Result result = work.query();
  noteRelease(driver().cuCtxPopCurrent_v2(&popped));
  return result;
}

}  // namespace

cu::Result StreamWork::query() {
  Uses done;
  const std::lock_guard lock(mutex);
  const cu::Result result = driver().cuStreamQuery(stream.handle());
  if (result != cu::kNotReady) std::swap(done, uses);
  return result;
}

bool releaseFinishedWork() {
  std::vector<std::unique_ptr<StreamWork>> done;
  Unfinished& left = unfinished();
  const std::lock_guard lock(left.mutex);
  for (auto& work : left.work) {
    if (queryIn(*work) != cu::kNotReady) done.push_back(std::move(work));
  }
  std::erase(left.work, nullptr);
  return left.work.empty();
}

void requireReachableFrom(int gpu, const MemoryBlock& block, const std::string& what) {
  if (block.place() == Place::kPageable) {
    throw usage(what + " is pageable host memory, which a GPU cannot reach",
                "Use page-locked memory: cuda.hostAlloc(bytes).");
  }
  if (block.place() != Place::kDevice || block.gpu() == gpu) return;
  if (!Peers::instance().enabled(gpu, block.gpu())) {
    const std::string a = std::to_string(gpu);
    const std::string b = std::to_string(block.gpu());
    throw usage(what + " is memory of GPU " + b + ", which GPU " + a + " may not access",
                "Call cuda.enablePeer(" + a + ", " + b + ") first.");
  }
}

WorkStream::WorkStream(std::shared_ptr<DeviceContext> context) {
  (void)releaseFinishedWork();
  work_ = std::make_unique<StreamWork>(std::move(context));
}

WorkStream::~WorkStream() {
  {
    Capture& capture = currentCapture();
    const std::lock_guard lock(capture.mutex);
    if (capture.stream == this) capture.stream = nullptr;
  }
  if (queryIn(*work_) != cu::kNotReady) return;
  Unfinished& left = unfinished();
  const std::lock_guard lock(left.mutex);
  left.work.push_back(std::move(work_));
}

bool WorkStream::capturing() const {
  cu::CaptureStatus status = cu::kCaptureNone;
  P2P_CALL(cuStreamIsCapturing, handle(), &status);
  return status != cu::kCaptureNone;
}

void WorkStream::requireOutsideCapture() const {
  if (capturing())
    throw usage("the stream is being captured: nothing runs on it that could be waited for",
                "Wait after the capture, when the graph was launched.");
}

void WorkStream::requireOwnGpu(int other, const char* what) const {
  if (other == gpu()) return;
  throw usage(std::string(what) + " belongs to GPU " + std::to_string(other) + ", the stream to GPU " +
                  std::to_string(gpu()),
              "Use a stream of the same GPU.");
}

template <typename Submit>
void WorkStream::submit(const Uses& uses, Submit call) {
  const CurrentContext current(*context());
  if (capturing()) {
    Capture& capture = currentCapture();
    const std::lock_guard lock(capture.mutex);
    if (capture.stream) capture.uses.add(uses);
    call();
    return;
  }
  const std::lock_guard lock(work_->mutex);
  // Before the call: work that was submitted and whose needs were then lost could not be called back.
  work_->uses.add(uses);
  call();
}

void WorkStream::launch(const std::shared_ptr<DeviceKernel>& kernel, const LaunchShape& shape,
                        KernelArguments& arguments, Uses uses) {
  requireOwnGpu(kernel->context()->gpu(), "the kernel");
  for (const Block& block : uses.blocks)
    requireReachableFrom(gpu(), *block, "an argument of " + kernel->name());
  kernel->prepare(shape);
  uses.objects.push_back(kernel);
  submit(uses, [&] { kernel->submit(shape, arguments, handle()); });
}

void WorkStream::launch(const std::shared_ptr<CapturedGraph>& graph) {
  requireOwnGpu(graph->gpu(), "the graph");
  Uses uses = graph->uses();
  uses.objects.push_back(graph);
  submit(uses, [&] { P2P_CALL(cuGraphLaunch, graph->handle(), handle()); });
}

void WorkStream::copy(const Block& dst, std::uint64_t dstOffset, const Block& src, std::uint64_t srcOffset,
                      std::uint64_t bytes) {
  requireInside(*dst, dstOffset, bytes);
  requireInside(*src, srcOffset, bytes);
  for (const Block& block : {dst, src}) {
    if (block->place() == Place::kPageable)
      throw usage("a copy on a stream cannot use pageable host memory: it would not run beside the host",
                  "Use page-locked memory: cuda.hostAlloc(bytes).");
  }
  if (bytes == 0) return;
  submit({{dst, src}, {}}, [&] {
    P2P_CALL(cuMemcpyAsync, dst->address() + dstOffset, src->address() + srcOffset, bytes, handle());
  });
}

void WorkStream::fill(const Block& dst, std::uint64_t offset, std::uint32_t value, unsigned width,
                      std::uint64_t count) {
  if (count > UINT64_MAX / width) throw usage("more elements than any memory has", "Stay inside the buffer.");
  requireInside(*dst, offset, count * width);
  requireReachableFrom(gpu(), *dst, "the buffer");
  if (offset % width != 0)
    throw usage("offset " + std::to_string(offset) + " is no multiple of the element's " +
                    std::to_string(width) + " bytes",
                "Begin at a whole element.");
  if (count == 0) return;
  const cu::DevicePtr address = dst->address() + offset;
  submit({{dst}, {}}, [&] {
    if (width == 1)
      P2P_CALL(cuMemsetD8Async, address, static_cast<unsigned char>(value), count, handle());
    else if (width == 2)
      P2P_CALL(cuMemsetD16Async, address, static_cast<unsigned short>(value), count, handle());
    else
      P2P_CALL(cuMemsetD32Async, address, value, count, handle());
  });
}

void WorkStream::record(const std::shared_ptr<WorkEvent>& event) {
  requireOwnGpu(event->gpu(), "the event");
  submit({{}, {event}}, [&] { P2P_CALL(cuEventRecord, event->handle(), handle()); });
  event->noteRecorded();
}

void WorkStream::wait(const std::shared_ptr<WorkEvent>& event) {
  if (!event->recorded())
    throw usage("the event was never recorded", "Record it on a stream: event.record(stream).");
  submit({{}, {event}}, [&] { P2P_CALL(cuStreamWaitEvent, handle(), event->handle(), 0); });
}

bool WorkStream::query() {
  requireOutsideCapture();
  const CurrentContext current(*context());
  const cu::Result result = work_->query();
  if (result == cu::kNotReady) return false;
  check(result, "cuStreamQuery");
  return true;
}

bool WorkStream::busy() noexcept {
  cu::CaptureStatus status = cu::kCaptureNone;
  const cu::Result asked = driver().cuStreamIsCapturing(handle(), &status);
  if (asked == cu::kSuccess && status != cu::kCaptureNone) return false;
  return queryIn(*work_) == cu::kNotReady;
}

bool WorkStream::sync(double deadlineMs, unsigned before) {
  requireOutsideCapture();
  const CurrentContext current(*context());
  cu::Result result = cu::kSuccess;
  const WaitEnd end =
      waitUntil([&] { return (result = work_->query()) != cu::kNotReady; }, deadlineMs, cancels_, before);
  if (end == WaitEnd::kDeadline) {
    throw cudaFailure(cu::kNotReady, "cuStreamQuery",
                      "The work of the stream was not done after " + std::to_string(deadlineMs / 1e3) +
                          " s and goes on; its memory is kept until it ends.");
  }
  if (end == WaitEnd::kCancelled) return false;
  check(result, "cuStreamQuery");
  return true;
}

bool WorkStream::uses(const MemoryBlock& block) {
  const std::lock_guard lock(work_->mutex);
  return work_->uses.has(block);
}

void WorkStream::beginCapture() {
  Capture& capture = currentCapture();
  const std::lock_guard lock(capture.mutex);
  if (capture.stream)
    throw usage("a capture is already in progress", "End it first; graphs are captured one at a time.");
  const CurrentContext current(*context());
  // Relaxed: memory that is collected meanwhile may be freed without breaking the capture.
  P2P_CALL(cuStreamBeginCapture_v2, handle(), cu::kCaptureRelaxed);
  capture.stream = this;
  capture.uses = {};
}

std::shared_ptr<CapturedGraph> WorkStream::endCapture() {
  Uses uses;
  {
    Capture& capture = currentCapture();
    const std::lock_guard lock(capture.mutex);
    if (capture.stream != this) throw usage("this stream began no capture", "Begin one first.");
    capture.stream = nullptr;
    std::swap(uses, capture.uses);
  }
  const CurrentContext current(*context());
  cu::Graph graph = nullptr;
  P2P_CALL(cuStreamEndCapture, handle(), &graph);
  return std::make_shared<CapturedGraph>(context(), graph, std::move(uses));
}

}  // namespace p2p
