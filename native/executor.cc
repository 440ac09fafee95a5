#include "executor.h"

#include <cmath>
#include <string>

#include "clock.h"
#include "devices.h"
#include "driver_library.h"
#include "host_thread.h"

namespace p2p {

namespace {

// Iterations under the tracer that are thrown away: the first ones pay for its set-up.
constexpr std::size_t kTraceWarmup = 20;
constexpr double kMaxDeadlineMs = 24 * 3600 * 1e3;
// How long an iteration that failed may take to come to rest before its memory counts as in use.
constexpr std::uint64_t kGraceNs = 200'000'000;

// Resources of executors whose work never completed. Freeing them would let a late transfer write into memory
// that belongs to someone else by then; kept reachable, so that leak checkers see that it is on purpose.
void abandon(std::unique_ptr<Resources> resources) {
  static auto& kept = *new std::vector<std::unique_ptr<Resources>>();
  static std::mutex& mutex = *new std::mutex();
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(resources));
}

}  // namespace

// What surrounds a call: peer access as the program asks, the thread near the GPU, its context current.
class Executor::Entered {
 public:
  explicit Entered(const Executor& executor)
      : peers_(Peers::instance().hold(executor.peers_)),
        thread_(executor.numaNode_),
        context_(*executor.timed_.first) {}

 private:
  Peers::InFlight peers_;
  PinnedThread thread_;
  CurrentContext context_;
};

Executor::Executor(ProgramRows program) : program_(std::move(program)) {
  numaNode_ = numaNodeOf(program_.streams.at(0));
  // Host memory is touched first, and so placed, by a thread near the GPU.
  const PinnedThread thread(numaNode_);
  resources_ = std::make_unique<Resources>(program_);
  for (const PeerRow& peer : program_.peers)
    peers_.push_back({resources_->context(peer.from), resources_->context(peer.to), peer.enabled});
  (void)Peers::instance().hold(peers_);
  timed_ = buildSteps(program_, *resources_, false);
  bounded_ = buildSteps(program_, *resources_, true);
}

Executor::~Executor() {
  if (!resources_) return;
  const cu::Result result = stuck_ ? resources_->drain(0) : cu::kSuccess;
  peers_.clear();
  if (result == cu::kNotReady) abandon(std::move(resources_));
}

void Executor::checkOpen() const {
  if (!resources_) throw usage("the executor is closed", "Prepare the program again.");
}

Executor::Call Executor::begin() {
  checkOpen();
  if (busy_.exchange(true, std::memory_order_acquire))
    throw usage("another call of this executor is in flight", "Wait for it to end, or cancel it.");
  cancelled_.store(false, std::memory_order_relaxed);
  return Call(busy_);
}

void Executor::close() {
  if (busy())
    throw usage("the executor cannot be closed while a call is in flight",
                "Cancel the call and wait for it.");
  if (!resources_) return;
  const cu::Result result = stuck_ ? resources_->drain(0) : cu::kSuccess;
  peers_.clear();
  if (result == cu::kNotReady)
    abandon(std::move(resources_));
  else
    resources_.reset();
}

std::uint64_t Executor::deadlineNs(double deadlineMs) const {
  if (!(deadlineMs > 0 && deadlineMs <= kMaxDeadlineMs)) {
    throw usage("the deadline of an iteration is " + std::to_string(deadlineMs) + " ms",
                "Give a number of milliseconds above 0 and of at most a day.");
  }
  return static_cast<std::uint64_t>(deadlineMs * 1e6) + 1;
}

void Executor::fail(const StepResult& failed, std::size_t iteration, double deadlineMs) {
  const bool late = failed.result == cu::kNotReady;
  stuck_ = resources_->drain(late ? 0 : nowNs() + kGraceNs) == cu::kNotReady;
  std::string detail =
      "Iteration " + std::to_string(iteration) + ", operation " + std::to_string(failed.step->operation);
  if (late) {
    detail +=
        ": not complete after " + std::to_string(static_cast<long long>(std::ceil(deadlineMs))) + " ms.";
    if (stuck_) detail += " Its memory is kept until it completes, or until the process ends.";
  } else {
    detail += ".";
  }
  throw cudaFailure(failed.result, callName(failed.step->what), detail);
}

void Executor::drainOrThrow(double deadlineMs) {
  const cu::Result result = resources_->drain(nowNs() + deadlineNs(deadlineMs));
  if (result == cu::kSuccess) {
    stuck_ = false;
    return;
  }
  stuck_ = result == cu::kNotReady;
  throw cudaFailure(result, "cuStreamQuery",
                    stuck_ ? "Earlier work of this program has still not completed." : "");
}

Timing Executor::time(const Call&, std::span<double> totalNs, std::span<double> apiNs, double deadlineMs) {
  checkOpen();
  const std::uint64_t limit = deadlineNs(deadlineMs);
  if (totalNs.size() != apiNs.size())
    throw usage("the arrays of a timing pass differ in length", "Give two arrays of the same length.");
  const Entered entered(*this);
  if (stuck_) drainOrThrow(deadlineMs);
  const cu::EntryPoints& entries = driver();
  const Step* const begin = timed_.steps.data();
  const Step* const split = begin + timed_.submitEnd;
  const Step* const end = begin + timed_.steps.size();
  std::size_t done = 0;
  for (; done < totalNs.size() && !cancelled_.load(std::memory_order_relaxed); ++done) {
    if (timed_.switches) P2P_CALL(cuCtxSetCurrent, timed_.first->handle());
    const std::uint64_t t0 = nowNs();
    const StepResult submitted = runSteps(entries, begin, split, t0 + limit);
    const std::uint64_t apiEnd = nowNs();
    if (submitted.result != cu::kSuccess) [[unlikely]]
      fail(submitted, done, deadlineMs);
    const StepResult waited = runSteps(entries, split, end, t0 + limit);
    const std::uint64_t t4 = nowNs();
    if (waited.result != cu::kSuccess) [[unlikely]]
      fail(waited, done, deadlineMs);
    totalNs[done] = static_cast<double>(t4 - t0);
    apiNs[done] = static_cast<double>(apiEnd - t0);
  }
  drainOrThrow(deadlineMs);
  return {done, done < totalNs.size()};
}

Trace Executor::trace(const Call&, std::size_t iterations, bool full, double deadlineMs) {
  checkOpen();
  const std::uint64_t limit = deadlineNs(deadlineMs);
  const Entered entered(*this);
  if (stuck_) drainOrThrow(deadlineMs);
  const cu::EntryPoints& entries = driver();
  const Step* const begin = timed_.steps.data();
  const Step* const split = begin + timed_.submitEnd;
  const Step* const end = begin + timed_.steps.size();
  std::vector<std::uint64_t> stamps(iterations * 3);

  Tracer tracer(full, (iterations + kTraceWarmup) * timed_.steps.size());
  std::size_t done = 0;
  try {
    for (std::size_t i = 0; i < kTraceWarmup + iterations && !cancelled_.load(std::memory_order_relaxed);
         ++i) {
      if (timed_.switches) P2P_CALL(cuCtxSetCurrent, timed_.first->handle());
      const std::uint64_t deadline = nowNs() + limit;
      const std::uint64_t t0 = tracer.now();
      const StepResult submitted = runSteps(entries, begin, split, deadline);
      const std::uint64_t apiEnd = tracer.now();
      if (submitted.result != cu::kSuccess) fail(submitted, i, deadlineMs);
      const StepResult waited = runSteps(entries, split, end, deadline);
      const std::uint64_t t4 = tracer.now();
      if (waited.result != cu::kSuccess) fail(waited, i, deadlineMs);
      if (i < kTraceWarmup) continue;
      stamps[done * 3] = t0;
      stamps[done * 3 + 1] = apiEnd;
      stamps[done * 3 + 2] = t4;
      ++done;
    }
    drainOrThrow(deadlineMs);
  } catch (...) {
    if (stuck_) tracer.abandon();
    throw;
  }

  Trace trace;
  const std::uint64_t zero = stamps.empty() ? 0 : stamps[0];
  trace.records = tracer.finish(zero);
  trace.dropped = tracer.dropped();
  trace.cancelled = done < iterations;
  for (std::size_t i = 0; i < done; ++i) {
    trace.t0.push_back(static_cast<double>(stamps[i * 3] - zero));
    trace.apiEnd.push_back(static_cast<double>(stamps[i * 3 + 1] - zero));
    trace.t4.push_back(static_cast<double>(stamps[i * 3 + 2] - zero));
  }
  return trace;
}

std::vector<CheckResult> Executor::verify(const Call&, double deadlineMs) {
  checkOpen();
  const std::uint64_t limit = deadlineNs(deadlineMs);
  const Entered entered(*this);
  if (stuck_) drainOrThrow(deadlineMs);
  try {
    const Verifier verifier(program_, *resources_, limit);
    verifier.fill();
    if (bounded_.switches) P2P_CALL(cuCtxSetCurrent, bounded_.first->handle());
    const Step* const begin = bounded_.steps.data();
    const StepResult ran = runSteps(driver(), begin, begin + bounded_.steps.size(), nowNs() + limit);
    if (ran.result != cu::kSuccess) fail(ran, 0, deadlineMs);
    drainOrThrow(deadlineMs);
    return verifier.compare();
  } catch (...) {
    stuck_ = resources_->drain(0) == cu::kNotReady;
    throw;
  }
}

}  // namespace p2p
