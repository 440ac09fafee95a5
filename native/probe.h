// A probe made ready: kernels that time themselves, run again and again. Each kind is a ProbeWork
// (probe_load, probe_pair, probe_single); what they share is here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "peers.h"
#include "probe_clock.h"
#include "probe_resources.h"
#include "probe_rows.h"

namespace p2p {

// How a kernel ended, as the host sees it: the states of ProbeState, or that what it found was not right.
struct ProbeSide {
  ProbeState state = ProbeState::kNeverRan;
  bool wrong = false;
  std::uint64_t done = 0;
  std::uint64_t value = 0;
  std::uint64_t expected = 0;

  bool ok() const { return state == ProbeState::kDone && !wrong; }
};

struct ProbeRepetition {
  ProbeTime time{};
  // Accesses or rounds in that time.
  std::uint64_t accesses = 0;
  unsigned sm = 0;
  std::vector<ProbeSide> sides;
  std::uint64_t counts[kProbeCounts] = {};

  bool ok() const {
    for (const ProbeSide& side : sides)
      if (!side.ok()) return false;
    return true;
  }
};

// What must stand in memory, seen by whom.
struct ProbeCheck {
  int buffer = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wrongByOwner = 0;
  // As the GPU of the probe's kernel sees it; 0 where it is not asked.
  std::uint64_t wrongByReader = 0;
  std::uint64_t wrongByReadBack = 0;
  // GPU that the driver says owns the address; -1 for host memory.
  int ownerGpu = -1;
  // The first word, read back by the host through the owner.
  std::uint64_t value = 0;
};

class ProbeWork {
 public:
  ProbeWork() = default;
  virtual ~ProbeWork() = default;
  ProbeWork(const ProbeWork&) = delete;
  ProbeWork& operator=(const ProbeWork&) = delete;

  // Puts memory into its first state.
  virtual void begin(std::uint64_t limitNs) = 0;
  // One repetition. `kernelLimitNs` is the deadline that kernels keep to, `limitNs` the host's, a little
  // later.
  virtual ProbeRepetition repeat(const ProbeClock& clock, std::uint64_t kernelLimitNs,
                                 std::uint64_t limitNs) = 0;
  // Whether memory holds what the repetitions so far must have left there.
  virtual std::vector<ProbeCheck> check(std::uint64_t kernelLimitNs, std::uint64_t limitNs) = 0;
  // Nanoseconds of the loop around an access, to be taken out of each; 0 where it hides behind the access.
  virtual double overheadNs(const ProbeClock&, std::uint64_t, std::uint64_t) { return 0; }
};

struct ProbeRun {
  std::size_t done = 0;
  bool cancelled = false;
  // Frequency of the SM and its number, one a repetition.
  std::vector<double> ghz;
  std::vector<int> sm;
  // Of the last repetition; one that failed ends the run.
  std::vector<ProbeSide> sides;
  std::uint64_t counts[kProbeCounts] = {};
  std::uint64_t accesses = 0;
  // Repetitions timed by the global timer; the others by cycles.
  std::size_t byTimer = 0;
  double overheadNs = 0;
  double timerStepNs = 0;
  double timerCostNs = 0;
  double smClockCostNs = 0;
};

class Probe {
 public:
  // Retains contexts, allocates, sets peer access. Throws what any of these throws, with nothing left behind.
  explicit Probe(ProbeRows rows);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

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
  Call enter();

  // Fills the span: nanoseconds an access, or one way of a ping-pong, one a repetition. Ends early when
  // cancelled, and after a repetition in which something was not as it must be (ProbeRun::sides says what).
  ProbeRun measure(const Call& call, std::span<double> ns, double deadlineMs);
  std::vector<ProbeCheck> check(const Call& call, double deadlineMs);

  // Ends the call in flight after its current repetition. May be called from any thread.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool busy() const { return busy_.load(std::memory_order_acquire); }

  // Frees everything; a second call does nothing. Throws a kUsage failure while a call is in flight. What a
  // kernel that never ended may still touch is not freed but left to the end of the process.
  void close();

 private:
  class Entered;
  struct Limits {
    std::uint64_t kernelNs;
    std::uint64_t hostNs;
  };

  void checkOpen() const;
  void letGo();
  static Limits limitsOf(double deadlineMs);
  // Runs work that uses the GPUs, and remembers when it left something running.
  template <typename Work>
  auto guarded(Work work);

  ProbeRows rows_;
  std::unique_ptr<ProbeResources> resources_;
  std::unique_ptr<ProbeWork> work_;
  std::vector<PeerWish> peers_;
  int numaNode_ = -1;
  bool begun_ = false;
  bool awake_ = false;
  bool stuck_ = false;
  std::atomic<bool> busy_{false};
  std::atomic<bool> cancelled_{false};
};

std::unique_ptr<ProbeWork> makeLoad(const ProbeRows& rows, const ProbeResources& resources);
std::unique_ptr<ProbeWork> makePair(const ProbeRows& rows, const ProbeResources& resources);
std::unique_ptr<ProbeWork> makeSingle(const ProbeRows& rows, const ProbeResources& resources);

// What the driver says of an address: the GPU that owns it, -1 for host memory.
int ownerOf(cu::DevicePtr address);

// Compares `count` words of a buffer, `first` and up by one, as the owner and as a read-back through it sees
// them.
ProbeCheck checkWords(const ProbeRows& rows, const ProbeResources& resources, std::size_t buffer,
                      std::size_t count, std::uint64_t first, std::uint64_t limitNs);

// What a kernel reported.
ProbeSide sideOf(const ProbeReport& report);

}  // namespace p2p
