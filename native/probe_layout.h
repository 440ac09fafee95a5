// What the kernels of a probe and the host tell each other, the same for host code and for kernels.cu. All of
// it lies in page-locked host memory, which every GPU reaches whether or not peer access works.
#pragma once

#include <cstdint>

namespace p2p {

// How the one thread of a probe's kernel ended. Zero stands there before a kernel has run.
enum class ProbeState : std::uint64_t {
  kNeverRan = 0,
  kDone = 1,
  // The kernel on the other stream did not begin within the deadline.
  kAlone = 2,
  // The deadline passed while it waited for a flag, or in the middle of its accesses.
  kExpired = 3,
  // The other kernel gave up first.
  kStopped = 4,
};

inline constexpr int kProbeCounts = 5;

// Written by a kernel as its last act.
struct ProbeReport {
  std::uint64_t state;
  // Accesses or rounds completed, those of the warm-up among them.
  std::uint64_t done;
  // The timed part by the clock of the SM and by the global timer.
  std::uint64_t cycles;
  std::uint64_t timerNs;
  // Where a chase stands; what a flag or an atomic last gave.
  std::uint64_t value;
  std::uint64_t sm;
  std::uint64_t counts[kProbeCounts];
};

// Where two kernels that must be resident together meet.
struct ProbeMeeting {
  std::uint64_t arrived[2];
  std::uint64_t stop;
};

// How a flag is stored and polled; how a fence reaches; what an atomic does. The numbers are those of
// NativeProbe in kernel/lab/native.ts.
enum class FlagStore : std::uint32_t { kVolatile = 0, kRelease = 1, kAtomic = 2 };
enum class FenceScope : std::uint32_t { kNone = 0, kBlock = 1, kGpu = 2, kSystem = 3 };
enum class AtomicOperation : std::uint32_t { kAdd = 0, kExchange = 1, kCompareAndSwap = 2, kNone = 3 };

// Outcomes of a round of message passing, and what must not be there.
enum : int {
  kFlagOldDataOld = 0,
  kFlagOldDataNew = 1,
  kFlagNewDataOld = 2,
  kFlagNewDataNew = 3,
  kNeither = 4,  // a value of no round: corrupted
};

// What p2p_probe_clock counts.
enum : int {
  kTimerStepNs = 0,      // smallest step between two different readings of the global timer
  kClockCostCycles = 1,  // a reading of the SM's clock
  kTimerCostCycles = 2,  // a reading of the global timer
};

}  // namespace p2p
