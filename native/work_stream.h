// A stream of ad hoc work. It remembers what the work in flight uses, so that nothing is freed under a
// kernel: memory that is closed meanwhile is freed once the stream was found done.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>

#include "captured_graph.h"
#include "device_code.h"
#include "host_wait.h"
#include "memory_block.h"
#include "objects.h"
#include "work_event.h"
#include "work_uses.h"

namespace p2p {

// The driver's stream and what its work needs; outlives the WorkStream when that is closed before the work is
// done.
struct StreamWork {
  explicit StreamWork(std::shared_ptr<DeviceContext> context) : stream(std::move(context)) {}

  // Result of cuStreamQuery; anything but kNotReady means that nothing runs any more, and lets go of `uses`.
  cu::Result query();

  Stream stream;
  std::mutex mutex;
  Uses uses;
};

// One thread submits; any thread may ask whether the work is done and wait for it.
class WorkStream {
 public:
  explicit WorkStream(std::shared_ptr<DeviceContext> context);
  // Work in flight goes on: what it uses is kept until it is done. See releaseFinishedWork().
  ~WorkStream();
  WorkStream(const WorkStream&) = delete;
  WorkStream& operator=(const WorkStream&) = delete;

  const std::shared_ptr<DeviceContext>& context() const { return work_->stream.context(); }
  int gpu() const { return context()->gpu(); }

  // Each submits and returns. Kernels, graphs and recorded events must be of this stream's GPU; stretches
  // must lie inside their blocks; a kernel's memory must be reachable from the GPU. Otherwise a kUsage
  // failure.
  void launch(const std::shared_ptr<DeviceKernel>& kernel, const LaunchShape& shape,
              KernelArguments& arguments, Uses uses);
  void launch(const std::shared_ptr<CapturedGraph>& graph);
  void copy(const Block& dst, std::uint64_t dstOffset, const Block& src, std::uint64_t srcOffset,
            std::uint64_t bytes);
  // Stores `value` in `count` elements of 1, 2 or 4 bytes from `offset` on, a multiple of that.
  void fill(const Block& dst, std::uint64_t offset, std::uint32_t value, unsigned width, std::uint64_t count);
  void record(const std::shared_ptr<WorkEvent>& event);
  void wait(const std::shared_ptr<WorkEvent>& event);

  // Whether everything submitted is done; what it used is let go then. Throws what the work ended with.
  bool query();
  // The same for callers that cannot throw: whether work is still running.
  bool busy() noexcept;
  // True when it is done; false when the wait was cancelled since cancels() was `before`. Throws kNotReady at
  // the deadline; the work goes on then.
  bool sync(double deadlineMs, unsigned before);
  void sync(double deadlineMs) { (void)sync(deadlineMs, cancels()); }
  void cancelWaits() { cancels_.fetch_add(1, std::memory_order_relaxed); }
  unsigned cancels() const { return cancels_.load(std::memory_order_relaxed); }
  // Whether work in flight uses a block.
  bool uses(const MemoryBlock& block);

  // Between the two, what is submitted becomes nodes of a graph instead of being done. A process captures one
  // stream at a time; others join by waiting for its events.
  void beginCapture();
  std::shared_ptr<CapturedGraph> endCapture();

  cu::Stream handle() const { return work_->stream.handle(); }

 private:
  bool capturing() const;
  void requireOutsideCapture() const;
  void requireOwnGpu(int gpu, const char* what) const;
  // Makes a submission, of whose needs nothing is let go before it is done.
  template <typename Submit>
  void submit(const Uses& uses, Submit call);

  std::unique_ptr<StreamWork> work_;
  CancelCount cancels_{0};
};

static_assert(!std::is_copy_constructible_v<WorkStream> && !std::is_move_constructible_v<WorkStream>);

// Lets go of what closed streams still used and is done now. True when nothing is left.
bool releaseFinishedWork();

// Throws a kUsage failure unless code on a GPU can reach the block.
void requireReachableFrom(int gpu, const MemoryBlock& block, const std::string& what);

}  // namespace p2p
