#include "throughput.h"

#include <sched.h>

#include <atomic>
#include <cstring>

#include "clock.h"
#include "driver_library.h"
#include "transfer_layout.h"

namespace p2p {

namespace {

// Flag and outcome lie in lines of their own: the GPU polls one, the host the other.
constexpr std::size_t kLine = 128;
// Arguments of the gate kernel.
constexpr std::size_t kNumber = 1;
constexpr std::size_t kLimit = 2;

}  // namespace

Throughput::Throughput(const Resources& resources, const StepTable& operations)
    : resources_(resources), operations_(operations) {
  words_ = std::make_unique<PinnedMemory>(resources.anyContext(), 2 * kLine);
  std::memset(words_->data(), 0, 2 * kLine);
  flag_ = reinterpret_cast<volatile std::uint32_t*>(words_->data());
  outcome_ = reinterpret_cast<volatile std::uint32_t*>(words_->data() + kLine);
  const DeviceContext& first = *operations.first;
  gate_ = std::make_unique<KernelLaunch>(
      first.kernel(Kernel::kGate), 1, 1,
      std::initializer_list<std::uint64_t>{reinterpret_cast<std::uint64_t>(words_->data()), 0, 0,
                                           reinterpret_cast<std::uint64_t>(words_->data() + kLine)});
  for (const int stream : operations.streams) {
    starts_.push_back(std::make_unique<Event>(resources.stream(stream).context(), true));
    ends_.push_back(std::make_unique<Event>(resources.stream(stream).context(), true));
  }
  allEnded_ = std::make_unique<Event>(operations.first, true);
}

// The first stream is held by the gate; the others wait for its start, so that the time between its start and
// the end of all holds everything that any of them does.
cu::Result Throughput::begin(std::uint64_t gateNs) {
  const cu::EntryPoints& entries = driver();
  const Stream& first = resources_.stream(operations_.streams.front());
  cu::Result result = entries.cuCtxSetCurrent(first.context()->handle());
  if (gateNs > 0 && result == cu::kSuccess) {
    *outcome_ = kGateWaiting;
    gate_->set(kNumber, ++opened_);
    gate_->set(kLimit, gateNs);
    result = gate_->submit(entries, first.handle());
  }
  if (result == cu::kSuccess) result = entries.cuEventRecord(starts_[0]->handle(), first.handle());
  for (std::size_t i = 1; i < starts_.size() && result == cu::kSuccess; ++i) {
    const Stream& stream = resources_.stream(operations_.streams[i]);
    result = entries.cuCtxSetCurrent(stream.context()->handle());
    if (result == cu::kSuccess) result = entries.cuStreamWaitEvent(stream.handle(), starts_[0]->handle(), 0);
    if (result == cu::kSuccess) result = entries.cuEventRecord(starts_[i]->handle(), stream.handle());
  }
  if (result == cu::kSuccess) result = entries.cuCtxSetCurrent(operations_.first->handle());
  return result;
}

cu::Result Throughput::end() {
  const cu::EntryPoints& entries = driver();
  cu::Result result = cu::kSuccess;
  for (std::size_t i = 0; i < ends_.size() && result == cu::kSuccess; ++i) {
    const Stream& stream = resources_.stream(operations_.streams[i]);
    result = entries.cuCtxSetCurrent(stream.context()->handle());
    if (result == cu::kSuccess) result = entries.cuEventRecord(ends_[i]->handle(), stream.handle());
  }
  const Stream& first = resources_.stream(operations_.streams.front());
  if (result == cu::kSuccess) result = entries.cuCtxSetCurrent(first.context()->handle());
  for (std::size_t i = 1; i < ends_.size() && result == cu::kSuccess; ++i)
    result = entries.cuStreamWaitEvent(first.handle(), ends_[i]->handle(), 0);
  if (result == cu::kSuccess) result = entries.cuEventRecord(allEnded_->handle(), first.handle());
  return result;
}

void Throughput::open() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *flag_ = opened_;
}

cu::Result Throughput::waitForEnd(std::uint64_t deadlineNs) const {
  for (;;) {
    const cu::Result result = driver().cuEventQuery(allEnded_->handle());
    if (result != cu::kNotReady || nowNs() >= deadlineNs) return result;
    sched_yield();
  }
}

cu::Result Throughput::elapsed(const Event& from, const Event& to, double& ns) const {
  float ms = 0;
  const cu::Result result = driver().cuEventElapsedTime(&ms, from.handle(), to.handle());
  ns = static_cast<double>(ms) * 1e6;
  return result;
}

BatchTimes Throughput::run(std::size_t iterations, const Limits& limits, std::uint32_t& number,
                           std::span<double> streamNs, StepResult& failed) {
  const cu::EntryPoints& entries = driver();
  BatchTimes times;
  failed = {begin(limits.gateNs), nullptr};
  const std::uint64_t t0 = nowNs();
  for (std::size_t i = 0; i < iterations && failed.result == cu::kSuccess; ++i) {
    if (operations_.switches) failed.result = entries.cuCtxSetCurrent(operations_.first->handle());
    if (failed.result != cu::kSuccess) break;
    failed = runSteps(entries, operations_.begin(), operations_.submitted(), 0, ++number);
  }
  times.apiNs = static_cast<double>(nowNs() - t0);
  if (failed.result == cu::kSuccess) failed.result = end();
  // Whatever failed: a gate that stays shut would keep all that was submitted.
  open();
  if (failed.result != cu::kSuccess) return times;
  failed.result = waitForEnd(nowNs() + limits.batchNs);
  if (failed.result != cu::kSuccess) return times;
  times.gateGaveUp = limits.gateNs > 0 && *outcome_ == kGateGaveUp;
  failed.result = elapsed(*starts_[0], *allEnded_, times.totalNs);
  for (std::size_t i = 0; i < ends_.size() && failed.result == cu::kSuccess; ++i)
    failed.result = elapsed(*starts_[i], *ends_[i], streamNs[i]);
  return times;
}

}  // namespace p2p
