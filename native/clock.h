// The host clock that times iterations.
#pragma once

#include <time.h>

#include <cstdint>

namespace p2p {

inline constexpr const char* kClockName = "CLOCK_MONOTONIC_RAW";

// Nanoseconds from an arbitrary zero; not steered by NTP.
inline std::uint64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

struct ClockFacts {
  // Smallest step seen between two different readings.
  double resolutionNs;
  // Median cost of one reading.
  double costNs;
};

ClockFacts measureClock();

}  // namespace p2p
