// Which of a GPU's two clocks to trust, and how many nanoseconds a report means. The global timer counts
// nanoseconds, but in steps of 32 ns on some GPUs and of 1 us on others; the clock of an SM counts cycles,
// whose length changes with its frequency. Intervals of at least a thousand steps are taken from the timer;
// shorter ones are cycles over the frequency that a spin of the same GPU had just before.
#pragma once

#include <cstdint>

#include "probe_resources.h"

namespace p2p {

struct ProbeTime {
  double ns;
  // Frequency of the SM meanwhile: measured over the interval itself where it is long enough.
  double ghz;
  bool byTimer;
};

class ProbeClock {
 public:
  // Reads the clocks of a GPU.
  static ProbeClock measure(const ProbeResources& resources, int gpu, std::uint64_t limitNs);
  // The same after spinning until the frequency has settled (an idle GPU runs slow), at most half a second.
  static ProbeClock wake(const ProbeResources& resources, int gpu, std::uint64_t limitNs);

  ProbeTime timeOf(const ProbeReport& report) const;

  double ghz() const { return ghz_; }
  // Smallest step of the global timer, and what readings cost: the floor of each clock.
  double timerStepNs() const { return timerStepNs_; }
  double timerCostNs() const { return timerCostNs_; }
  double smClockCostNs() const { return smClockCostNs_; }

 private:
  double ghz_ = 1;
  double timerStepNs_ = 1;
  double timerCostNs_ = 0;
  double smClockCostNs_ = 0;
};

}  // namespace p2p
