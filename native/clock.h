// The host clock that times iterations: the processor's time-stamp counter where it can be trusted, because a
// reading costs a third of a system clock's, and CLOCK_MONOTONIC_RAW elsewhere.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace p2p {

// Nanoseconds of CLOCK_MONOTONIC_RAW: not steered by NTP.
inline std::uint64_t systemNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

// How the counter translates to nanoseconds of CLOCK_MONOTONIC_RAW. `nsPerTick` is scaled by 2^32; 0 where
// the counter is not used.
struct CounterScale {
  std::uint64_t nsPerTick = 0;
  std::uint64_t firstTick = 0;
  std::uint64_t firstNs = 0;
  // Why the counter is not used; empty where it is.
  std::string reason;
};

// Decided and calibrated at the first call (about 25 ms), the same for the life of the process.
// P2PLAB_CLOCK=system keeps to CLOCK_MONOTONIC_RAW.
const CounterScale& counterScale();

// Ticks of the counter, not before what stands in front of it is done.
inline std::uint64_t counterTicks() {
#if defined(__x86_64__)
  _mm_lfence();
  return __rdtsc();
#else
  return 0;
#endif
}

// Ticks of the counter at about this place: the processor may read it some instructions earlier or later.
inline std::uint64_t passingTicks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

template <std::uint64_t (*Ticks)()>
inline std::uint64_t readNs() {
  static const CounterScale& scale = counterScale();
  if (scale.nsPerTick == 0) return systemNs();
  const auto ticks = static_cast<unsigned __int128>(Ticks() - scale.firstTick);
  return scale.firstNs + static_cast<std::uint64_t>((ticks * scale.nsPerTick) >> 32);
}

// Nanoseconds from an arbitrary zero that is the same for all readings of a process.
inline std::uint64_t nowNs() {
  return readNs<counterTicks>();
}

// The same without waiting for what stands in front of it, which costs a measured loop more than the reading:
// for stamps between calls that take thousands of instructions. Two such stamps close together may change
// places.
inline std::uint64_t passingNs() {
  return readNs<passingTicks>();
}

struct ClockFacts {
  const char* name;
  // Smallest step seen between two different readings.
  double resolutionNs;
  // Median cost of one reading.
  double costNs;
};

ClockFacts measureClock();

}  // namespace p2p
