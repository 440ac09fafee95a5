// Runs a program in latency mode: one iteration at a time, timed by the host, verified, or under the tracer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "peers.h"
#include "program.h"
#include "resources.h"
#include "steps.h"
#include "tracer.h"
#include "verify.h"

namespace p2p {

struct Timing {
  std::size_t done;
  bool cancelled;
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

  // Fills both spans, of equal length. `deadlineMs` bounds one iteration; a blocking sync cannot be ended by
  // it.
  Timing time(const Call& call, std::span<double> totalNs, std::span<double> apiNs, double deadlineMs);
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

  void checkOpen() const;
  std::uint64_t deadlineNs(double deadlineMs) const;
  [[noreturn]] void fail(const StepResult& failed, std::size_t iteration, double deadlineMs);
  void drainOrThrow(double deadlineMs);

  ProgramRows program_;
  std::unique_ptr<Resources> resources_;
  std::vector<PeerWish> peers_;
  StepTable timed_;
  StepTable bounded_;
  int numaNode_ = -1;
  std::atomic<bool> busy_{false};
  std::atomic<bool> cancelled_{false};
  // Work did not complete in time and may still be running.
  bool stuck_ = false;
};

}  // namespace p2p
