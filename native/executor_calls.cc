// The calls of an executor: time, throughput, trace, verify.
#include <algorithm>
#include <type_traits>

#include "clock.h"
#include "driver_library.h"
#include "executor.h"
#include "host_thread.h"
#include "named_range.h"
#include "operation_text.h"

namespace p2p {

namespace {

// Iterations under the tracer that are thrown away: the first ones pay for its set-up.
constexpr std::size_t kTraceWarmup = 20;

// How long a receive waits on the GPU: less than the host, so that it is the receive which is named.
std::uint64_t receiveLimitNs(std::uint64_t limitNs) {
  return limitNs - limitNs / 4;
}

bool syncsBeforeEnd(const ProgramRows& program) {
  const auto first = std::find_if(program.operations.begin(), program.operations.end(),
                                  [](const OperationRow& row) { return row.code == Opcode::kSync; });
  return std::any_of(first, program.operations.end(),
                     [](const OperationRow& row) { return row.code != Opcode::kSync; });
}

bool runsKernels(const ProgramRows& program) {
  return std::any_of(program.operations.begin(), program.operations.end(), [](const OperationRow& row) {
    return row.code == Opcode::kCompute || row.code == Opcode::kLaunch || row.code == Opcode::kPut ||
           row.code == Opcode::kReceive ||
           (row.code == Opcode::kCopy && row.flag == static_cast<int>(CopyApi::kKernel));
  });
}

// Only the last stamp of an iteration must wait until the sync has returned.
struct HostNow {
  std::uint64_t passing() const { return passingNs(); }
  std::uint64_t operator()() const { return nowNs(); }
};

struct TracerNow {
  const Tracer& tracer;
  std::uint64_t passing() const { return tracer.now(); }
  std::uint64_t operator()() const { return tracer.now(); }
};

bool blocks(const StepTable& table) {
  return std::any_of(table.begin(), table.end(),
                     [](const Step& step) { return step.what == Step::Do::kBlock; });
}

}  // namespace

// What surrounds a call: a range for profilers, peer access as the program asks, the thread near the GPU, its
// context current.
class Executor::Entered {
 public:
  Entered(const Executor& executor, const char* what)
      : range_(rangesWanted() ? std::string("p2plab ") + what + ": " + programText(executor.program_) : ""),
        peers_(Peers::instance().hold(executor.peers_)),
        thread_(executor.numaNode_),
        context_(*executor.prepared_->timed.first) {}

 private:
  NamedRange range_;
  Peers::InFlight peers_;
  PinnedThread thread_;
  CurrentContext context_;
};

// Stamps: first submit call entered, last submit call returned, last sync returned. `stamps` come with those
// of the iteration before, or zeros: where nothing lies between, this one begins where that one ended, which
// saves a reading of the clock.
template <typename Now>
inline StepResult Executor::iterate(const StepTable& table, std::uint64_t limitNs, Now now,
                                    std::uint64_t (&stamps)[3]) {
  const cu::EntryPoints& entries = driver();
  const std::uint32_t number = ++number_;
  if (table.switches) P2P_CALL(cuCtxSetCurrent, table.first->handle());
  stamps[0] = stamps[2] != 0 && !table.switches ? stamps[2] : now.passing();
  // Deadlines are the host clock's: it is not read a second time where the stamps are its own.
  std::uint64_t deadline = stamps[0] + limitNs;
  if constexpr (!std::is_same_v<Now, HostNow>) deadline = nowNs() + limitNs;
  const StepResult submitted = runSteps(entries, table.begin(), table.submitted(), deadline, number);
  stamps[1] = std::max(stamps[0], now.passing());
  if (submitted.result != cu::kSuccess) [[unlikely]]
    return submitted;
  const StepResult waited = runSteps(entries, table.submitted(), table.end(), deadline, number);
  stamps[2] = now();
  return waited;
}

Timing Executor::time(const Call&, std::span<double> totalNs, std::span<double> apiNs, double deadlineMs) {
  checkOpen();
  const std::uint64_t limit = deadlineNs(deadlineMs);
  if (totalNs.size() != apiNs.size())
    throw usage("the arrays of a timing pass differ in length", "Give two arrays of the same length.");
  const Entered entered(*this, "time");
  makeReady(receiveLimitNs(limit), deadlineMs);
  const StepTable* table = blocks(prepared_->timed) ? &prepared_->polled : &prepared_->timed;
  std::uint64_t stamps[3] = {};
  std::size_t done = 0;
  for (; done < totalNs.size() && !cancelled_.load(std::memory_order_relaxed); ++done) {
    const StepResult ran = iterate(*table, limit, HostNow{}, stamps);
    if (ran.result != cu::kSuccess) [[unlikely]]
      fail(ran, done, deadlineMs);
    totalNs[done] = static_cast<double>(stamps[2] - stamps[0]);
    apiNs[done] = static_cast<double>(stamps[1] - stamps[0]);
    checkArrivals(done);
    table = &prepared_->timed;
  }
  drainOrThrow(deadlineMs);
  return {done, done < totalNs.size()};
}

BatchTiming Executor::throughput(const Call&, const Batches& batches, std::span<double> totalNs,
                                 std::span<double> apiNs, std::span<double> streamNs) {
  checkOpen();
  const std::uint64_t limit = deadlineNs(batches.deadlineMs);
  const std::uint64_t gateNs = batches.gateMs > 0 ? deadlineNs(batches.gateMs) : 0;
  const std::size_t columns = timedStreams().size();
  if (totalNs.size() != apiNs.size() || streamNs.size() != totalNs.size() * columns)
    throw usage("the arrays of a throughput pass do not fit each other",
                "Give one element a batch, and one a batch and stream.");
  if (syncsBeforeEnd(program_))
    throw usage("a batch cannot hold a host sync within an iteration",
                "Move the syncs to the end, or measure in latency mode.");
  const Entered entered(*this, "throughput");
  makeReady(receiveLimitNs(limit), batches.deadlineMs);
  if (!prepared_->throughput)
    prepared_->throughput = std::make_unique<Throughput>(prepared_->resources, prepared_->batched);
  BatchTiming timing{};
  for (; timing.done < totalNs.size() && !timing.gateGaveUp && !timing.cancelled; ++timing.done) {
    StepResult failed;
    const BatchTimes times =
        prepared_->throughput->run(batches.iterations, {gateNs, limit}, number_,
                                   streamNs.subspan(timing.done * columns, columns), failed);
    if (failed.result != cu::kSuccess) fail(failed, timing.done, batches.deadlineMs);
    checkArrivals(timing.done);
    if (times.gateGaveUp) {
      timing.gateGaveUp = true;
      break;
    }
    totalNs[timing.done] = times.totalNs;
    apiNs[timing.done] = times.apiNs;
    timing.cancelled = cancelled_.load(std::memory_order_relaxed);
  }
  drainOrThrow(batches.deadlineMs);
  timing.cancelled = timing.cancelled && timing.done < totalNs.size();
  return timing;
}

GraphCosts Executor::graphCosts(const Call&, std::size_t repetitions, double deadlineMs) {
  checkOpen();
  (void)deadlineNs(deadlineMs);
  if (!prepared_->graph)
    throw usage("the program is not submitted as a graph", "Submit it by graph to ask for its costs.");
  const Entered entered(*this, "graph costs");
  if (stuck_) drainOrThrow(deadlineMs);
  return prepared_->graph->costs(repetitions);
}

Trace Executor::trace(const Call&, std::size_t iterations, bool full, double deadlineMs) {
  checkOpen();
  const std::uint64_t limit = deadlineNs(deadlineMs);
  const Entered entered(*this, "trace");
  makeReady(receiveLimitNs(limit), deadlineMs);
  std::vector<std::uint64_t> stamps(iterations * 3);
  const StepTable* table = blocks(prepared_->timed) ? &prepared_->polled : &prepared_->timed;
  const std::size_t steps = prepared_->timed.steps.size() + (program_.graph ? program_.operations.size() : 0);

  Tracer tracer({full || runsKernels(program_), full}, (iterations + kTraceWarmup) * steps);
  std::size_t done = 0;
  try {
    for (std::size_t i = 0; i < kTraceWarmup + iterations && !cancelled_.load(std::memory_order_relaxed);
         ++i) {
      std::uint64_t own[3] = {};
      const StepResult ran = iterate(*table, limit, TracerNow{tracer}, own);
      if (ran.result != cu::kSuccess) fail(ran, i, deadlineMs);
      checkArrivals(i);
      table = &prepared_->timed;
      if (i < kTraceWarmup) continue;
      std::copy_n(own, 3, stamps.begin() + static_cast<std::ptrdiff_t>(done * 3));
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
  const Entered entered(*this, "verify");
  if (stuck_) drainOrThrow(deadlineMs);
  try {
    const Verifier verifier(program_, prepared_->resources, limit);
    broken_ = true;  // sentinels stand in flags and windows too, until they are cleared
    verifier.fill();
    resetHandshakes(receiveLimitNs(limit));
    std::uint64_t stamps[3] = {};
    const StepResult ran = iterate(prepared_->polled, limit, HostNow{}, stamps);
    if (ran.result != cu::kSuccess) fail(ran, 0, deadlineMs);
    checkArrivals(0);
    drainOrThrow(deadlineMs);
    return verifier.compare();
  } catch (...) {
    stuck_ = prepared_->resources.drain(0) == cu::kNotReady;
    throw;
  }
}

}  // namespace p2p
