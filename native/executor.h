// Runs a program: one iteration at a time, timed by the host; batches, timed by the device; verified; or
// under the tracer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "graph_submission.h"
#include "handshakes.h"
#include "peers.h"
#include "program.h"
#include "resources.h"
#include "steps.h"
#include "throughput.h"
#include "tracer.h"
#include "verify.h"

namespace p2p {

struct Timing {
  std::size_t done;
  bool cancelled;
};

struct BatchTiming {
  std::size_t done;
  bool cancelled;
  // The gate gave up before the batch was submitted: that batch is not among those done, and none came after.
  bool gateGaveUp;
};

struct Trace {
  // Nanoseconds on the tracer's clock from the first iteration's t0.
  std::vector<double> t0;
  std::vector<double> apiEnd;
  std::vector<double> t4;
  std::vector<TraceRecord> records;  // ascending by start
  std::uint64_t dropped = 0;
  bool cancelled = false;
};

class Executor {
 public:
  // Retains contexts, allocates, sets peer access. Throws what any of these throws, with nothing left behind.
  explicit Executor(ProgramRows program);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // The right to make one call; a second begin() throws a kUsage failure until the first Call is gone.
  class Call {
   public:
    explicit Call(std::atomic<bool>& busy) : busy_(&busy) {}
    Call(Call&& other) noexcept : busy_(std::exchange(other.busy_, nullptr)) {}
    Call& operator=(Call&&) = delete;
    Call(const Call&) = delete;
    ~Call() { end(); }
    void end() {
      if (busy_) busy_->store(false, std::memory_order_release);
      busy_ = nullptr;
    }

   private:
    std::atomic<bool>* busy_;
  };
  Call begin();

  // Fills both spans, of equal length. `deadlineMs` bounds one iteration. Where the program syncs by
  // blocking, which no deadline can end, the first iteration polls in its place: what hangs from the start is
  // met by the deadline, what hangs later is not.
  Timing time(const Call& call, std::span<double> totalNs, std::span<double> apiNs, double deadlineMs);

  struct Batches {
    std::size_t iterations;  // of a batch; 0 measures the floor of the device's clock
    double gateMs;           // how long the gate waits for a batch to be submitted; 0: no gate
    double deadlineMs;       // of a batch
  };
  // Fills the spans batch by batch, not divided by their iterations: `totalNs` and `apiNs` of equal length,
  // and `streamNs` with one row a batch, one column for each of timedStreams(). Host syncs are left out; a
  // program that has one before its end is refused with a kUsage failure.
  BatchTiming throughput(const Call& call, const Batches& batches, std::span<double> totalNs,
                         std::span<double> apiNs, std::span<double> streamNs);
  // Streams of the program that batches are timed on.
  const std::vector<int>& timedStreams() const {
    checkOpen();
    return prepared_->batched.streams;
  }

  // What was made for the program, so that a hand-written loop can be measured on the same stream and memory.
  const Resources& resources() const {
    checkOpen();
    return prepared_->resources;
  }

  // Of a program that is submitted as a graph; a kUsage failure otherwise.
  GraphCosts graphCosts(const Call& call, std::size_t repetitions, double deadlineMs);

  // Records copies, and kernels where the program moves bytes or waits by them; when `full` all kernels,
  // memory sets, driver calls and synchronisation too.
  Trace trace(const Call& call, std::size_t iterations, bool full, double deadlineMs);
  std::vector<CheckResult> verify(const Call& call, double deadlineMs);

  // Ends the call in flight after its current iteration. May be called from any thread.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool busy() const { return busy_.load(std::memory_order_acquire); }

  // Frees everything; a second call does nothing. Throws a kUsage failure while a call is in flight. Memory
  // that a transfer which never completed may still write is not freed but left to the end of the process.
  void close();

 private:
  class Entered;

  // All that is made for the program, in the order that it may be taken down in from the end.
  struct Prepared {
    Prepared(const ProgramRows& program, int numaNode)
        : resources(program, numaNode), handshakes(program, resources) {}
    // With peer access as the program wants it.
    void build(const ProgramRows& program);

    Resources resources;
    Handshakes handshakes;
    std::unique_ptr<GraphSubmission> graph;
    StepTable timed;
    StepTable polled;  // with polls for blocking syncs
    StepTable batched;
    std::unique_ptr<Throughput> throughput;
  };

  void checkOpen() const;
  std::uint64_t deadlineNs(double deadlineMs) const;
  // What each call does first: earlier work is over, and flags stand at the beginning where they have to.
  void makeReady(std::uint64_t limitNs, double deadlineMs);
  void resetHandshakes(std::uint64_t limitNs);
  // One iteration, timed by `now`.
  template <typename Now>
  StepResult iterate(const StepTable& table, std::uint64_t limitNs, Now now, std::uint64_t (&stamps)[3]);
  [[noreturn]] void fail(const StepResult& failed, std::size_t iteration, double deadlineMs);
  void checkArrivals(std::size_t iteration);
  void drainOrThrow(double deadlineMs);
  void release();

  ProgramRows program_;
  std::unique_ptr<Prepared> prepared_;
  std::vector<PeerWish> peers_;
  int numaNode_ = -1;
  // Of the last iteration; grows over the life of the executor.
  std::uint32_t number_ = 0;
  // Flags and counters may have come apart: an iteration broke off.
  bool broken_ = true;
  std::atomic<bool> busy_{false};
  std::atomic<bool> cancelled_{false};
  // Work did not complete in time and may still be running.
  bool stuck_ = false;
};

}  // namespace p2p
