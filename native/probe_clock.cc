#include "probe_clock.h"

#include <cmath>
#include <string>

#include "clock.h"
#include "errors.h"

namespace p2p {

namespace {

constexpr std::uint64_t kSpanNs = 300'000;
constexpr std::uint64_t kMostWakingNs = 500'000'000;
constexpr double kSettled = 0.003;
constexpr double kStepsEnough = 1000;

}  // namespace

ProbeClock ProbeClock::measure(const ProbeResources& resources, int gpu, std::uint64_t limitNs) {
  resources.reset();
  std::uint64_t span = kSpanNs;
  ProbeReport* report = &resources.report(0);
  void* arguments[] = {&span, &report};
  resources.launch(gpu, resources.service(gpu), Kernel::kProbeClock, 1, 1, arguments);
  resources.wait(resources.service(gpu), limitNs, "reading the clocks");
  if (report->state != static_cast<std::uint64_t>(ProbeState::kDone) || report->timerNs == 0)
    throw notAvailable("the global timer of GPU " + std::to_string(gpu) + " stands still",
                       "Probes need it; report the GPU and the driver.");
  ProbeClock clock;
  clock.ghz_ = static_cast<double>(report->cycles) / static_cast<double>(report->timerNs);
  clock.timerStepNs_ = static_cast<double>(report->counts[kTimerStepNs]);
  clock.timerCostNs_ = static_cast<double>(report->counts[kTimerCostCycles]) / clock.ghz_;
  clock.smClockCostNs_ = static_cast<double>(report->counts[kClockCostCycles]) / clock.ghz_;
  return clock;
}

ProbeClock ProbeClock::wake(const ProbeResources& resources, int gpu, std::uint64_t limitNs) {
  const std::uint64_t deadline = nowNs() + kMostWakingNs;
  ProbeClock before = measure(resources, gpu, limitNs);
  int settled = 0;
  for (;;) {
    const ProbeClock now = measure(resources, gpu, limitNs);
    settled = std::abs(now.ghz_ - before.ghz_) <= kSettled * before.ghz_ ? settled + 1 : 0;
    if (settled == 3 || nowNs() > deadline) return now;
    before = now;
  }
}

ProbeTime ProbeClock::timeOf(const ProbeReport& report) const {
  const auto timerNs = static_cast<double>(report.timerNs);
  const auto cycles = static_cast<double>(report.cycles);
  if (timerNs >= kStepsEnough * timerStepNs_) return {timerNs, cycles / timerNs, true};
  return {cycles / ghz_, ghz_, false};
}

}  // namespace p2p
