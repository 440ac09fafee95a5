#include "clock.h"

#include <algorithm>
#include <array>

namespace p2p {

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
  return {smallest == UINT64_MAX ? 0.0 : static_cast<double>(smallest), costs[kBatches / 2]};
}

}  // namespace p2p
