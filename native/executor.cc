#include "executor.h"

#include <cmath>
#include <mutex>
#include <string>

#include "clock.h"
#include "devices.h"
#include "driver_library.h"
#include "host_thread.h"
#include "operation_text.h"

namespace p2p {

namespace {

constexpr double kMaxDeadlineMs = 24 * 3600 * 1e3;
// How long an iteration that failed may take to come to rest before its memory counts as in use.
constexpr std::uint64_t kGraceNs = 200'000'000;

// What executors made whose work never completed. Freeing it would let a late transfer write into memory that
// belongs to someone else by then; kept reachable, so that leak checkers see that it is on purpose.
template <typename Prepared>
void abandon(std::unique_ptr<Prepared> prepared) {
  static auto& kept = *new std::vector<std::unique_ptr<Prepared>>();
  static std::mutex& mutex = *new std::mutex();
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(prepared));
}

}  // namespace

void Executor::Prepared::build(const ProgramRows& program) {
  batched = buildSteps(program, resources, handshakes, Syncs::kLeftOut);
  if (program.graph) {
    graph = std::make_unique<GraphSubmission>(program, resources, std::move(batched));
    timed = buildGraphSteps(program, resources, graph->handle(), Syncs::kAsWritten);
    polled = buildGraphSteps(program, resources, graph->handle(), Syncs::kPolled);
    batched = buildGraphSteps(program, resources, graph->handle(), Syncs::kLeftOut);
  } else {
    timed = buildSteps(program, resources, handshakes, Syncs::kAsWritten);
    polled = buildSteps(program, resources, handshakes, Syncs::kPolled);
  }
}

Executor::Executor(ProgramRows program) : program_(std::move(program)) {
  numaNode_ = numaNodeOf(program_.streams.at(0));
  // Host memory is touched first, and so placed, by a thread near the GPU.
  const PinnedThread thread(numaNode_);
  prepared_ = std::make_unique<Prepared>(program_, numaNode_);
  for (const PeerRow& peer : program_.peers)
    peers_.push_back(
        {prepared_->resources.context(peer.from), prepared_->resources.context(peer.to), peer.enabled});
  const Peers::InFlight held = Peers::instance().hold(peers_);
  prepared_->build(program_);
}

Executor::~Executor() {
  release();
}

void Executor::release() {
  if (!prepared_) return;
  const cu::Result result = stuck_ ? prepared_->resources.drain(0) : cu::kSuccess;
  peers_.clear();
  if (result == cu::kNotReady) return abandon(std::move(prepared_));
  if (!broken_) prepared_->resources.keepHostMemory();
  prepared_.reset();
}

void Executor::checkOpen() const {
  if (!prepared_) throw usage("the executor is closed", "Prepare the program again.");
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
  release();
}

std::uint64_t Executor::deadlineNs(double deadlineMs) const {
  if (!(deadlineMs > 0 && deadlineMs <= kMaxDeadlineMs)) {
    throw usage("the deadline of an iteration is " + std::to_string(deadlineMs) + " ms",
                "Give a number of milliseconds above 0 and of at most a day.");
  }
  return static_cast<std::uint64_t>(deadlineMs * 1e6) + 1;
}

void Executor::makeReady(std::uint64_t limitNs, double deadlineMs) {
  if (stuck_) drainOrThrow(deadlineMs);
  if (broken_ || prepared_->handshakes.limitNs() != limitNs) resetHandshakes(limitNs);
}

void Executor::resetHandshakes(std::uint64_t limitNs) {
  broken_ = true;
  prepared_->handshakes.reset(number_, limitNs);
  broken_ = false;
}

void Executor::fail(const StepResult& failed, std::size_t iteration, double deadlineMs) {
  broken_ = true;
  const bool late = failed.result == cu::kNotReady;
  // A stream that waits for a signal which never came can be let go on; a copy or kernel that hangs cannot.
  bool released = false;
  try {
    if (late) released = prepared_->handshakes.releaseSignals(number_);
  } catch (const Failure&) {
    released = false;
  }
  stuck_ = prepared_->resources.drain(late && !released ? 0 : nowNs() + kGraceNs) == cu::kNotReady;
  std::string detail = "Iteration " + std::to_string(iteration);
  if (failed.step) detail += ", " + operationText(program_, failed.step->operation);
  if (late) {
    detail +=
        ": not complete after " + std::to_string(static_cast<long long>(std::ceil(deadlineMs))) + " ms.";
    if (stuck_) detail += " Its memory is kept until it completes, or until the process ends.";
  } else {
    detail += ".";
  }
  throw cudaFailure(failed.result, failed.step ? callName(failed.step->what) : "cuEventQuery", detail);
}

void Executor::checkArrivals(std::size_t iteration) {
  const Handshakes& handshakes = prepared_->handshakes;
  if (handshakes.allArrived()) [[likely]]
    return;
  const int operation = handshakes.expiredOperation();
  broken_ = true;
  stuck_ = prepared_->resources.drain(nowNs() + handshakes.limitNs() + kGraceNs) == cu::kNotReady;
  throw cudaFailure(cu::kNotReady, "receive",
                    "Iteration " + std::to_string(iteration) + ", " + operationText(program_, operation) +
                        ": nothing arrived within " + std::to_string(handshakes.limitNs() / 1'000'000) +
                        " ms.");
}

void Executor::drainOrThrow(double deadlineMs) {
  const cu::Result result = prepared_->resources.drain(nowNs() + deadlineNs(deadlineMs));
  if (result == cu::kSuccess) {
    stuck_ = false;
    return;
  }
  broken_ = true;
  stuck_ = result == cu::kNotReady;
  throw cudaFailure(result, "cuStreamQuery",
                    stuck_ ? "Earlier work of this program has still not completed." : "");
}

}  // namespace p2p
