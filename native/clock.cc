#include "clock.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace p2p {

namespace {

// One moment on both clocks.
struct Moment {
  std::uint64_t ticks;
  std::uint64_t ns;
};

// The counter between two readings of the system clock; of many tries the one that took the least, since an
// interrupt between the readings would stand in the difference.
Moment momentNow() {
  constexpr int kTries = 64;
  Moment best{};
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = counterTicks();
    const std::uint64_t ns = systemNs();
    const std::uint64_t after = counterTicks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + (after - before) / 2, ns};
  }
  return best;
}

void passNs(std::uint64_t ns) {
  const timespec time{0, static_cast<long>(ns)};
  (void)nanosleep(&time, nullptr);
}

// Whether the counter runs at one rate on all processors, also while they sleep.
bool counterIsInvariant() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  return false;
#endif
}

CounterScale calibrated() {
  CounterScale scale;
  const char* wanted = std::getenv("P2PLAB_CLOCK");
  if (wanted && std::string_view(wanted) == "system") {
    scale.reason = "P2PLAB_CLOCK asks for the system's clock";
    return scale;
  }
  if (!counterIsInvariant()) {
    scale.reason = "the processor does not say that its time-stamp counter is invariant";
    return scale;
  }
  constexpr std::uint64_t kCalibrationNs = 20'000'000;
  constexpr std::uint64_t kCheckNs = 5'000'000;
  const Moment first = momentNow();
  passNs(kCalibrationNs);
  const Moment second = momentNow();
  passNs(kCheckNs);
  const Moment third = momentNow();
  const double rate =
      static_cast<double>(second.ns - first.ns) / static_cast<double>(second.ticks - first.ticks);
  const double foretoldNs = rate * static_cast<double>(third.ticks - first.ticks);
  const double offNs = std::abs(foretoldNs - static_cast<double>(third.ns - first.ns));
  // 0.1 ns to 10 ns a tick; a check that is off by 2 microseconds in 25 milliseconds is off by 80 ppm.
  if (second.ticks <= first.ticks || !(rate > 0.1 && rate < 10) || offNs > 2000) {
    scale.reason = "the time-stamp counter does not keep step with CLOCK_MONOTONIC_RAW";
    return scale;
  }
  scale.nsPerTick = static_cast<std::uint64_t>(rate * 4294967296.0);
  scale.firstTick = first.ticks;
  scale.firstNs = first.ns;
  return scale;
}

}  // namespace

const CounterScale& counterScale() {
  static const CounterScale& once = *new CounterScale(calibrated());
  return once;
}

ClockFacts measureClock() {
  constexpr int kReadings = 20'000;
  std::uint64_t smallest = UINT64_MAX;
  std::uint64_t last = nowNs();
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t now = nowNs();
    if (now != last) smallest = std::min(smallest, now - last);
    last = now;
  }
  // Batches, because one reading costs about as much as the clock can tell apart.
  constexpr int kBatches = 101;
  constexpr int kBatch = 200;
  std::array<double, kBatches> costs;
  for (double& cost : costs) {
    const std::uint64_t begin = nowNs();
    for (int i = 1; i < kBatch; ++i) (void)nowNs();
    cost = static_cast<double>(nowNs() - begin) / kBatch;
  }
  std::nth_element(costs.begin(), costs.begin() + kBatches / 2, costs.end());
  const char* name = counterScale().nsPerTick == 0 ? "CLOCK_MONOTONIC_RAW" : "time-stamp counter";
  return {name, smallest == UINT64_MAX ? 0.0 : static_cast<double>(smallest), costs[kBatches / 2]};
}

}  // namespace p2p
