// Probes of two kernels that are resident together: flag ping-pong and message passing.
//
// On two GPUs nothing stands between them. On one GPU both are resident because each is a single block of one
// warp, which leaves room for the other on any GPU; because they are launched into two non-blocking streams
// with nothing behind which either would have to wait; and because every kernel was loaded beforehand, so
// that no launch waits for the GPU. Where that does not hold (CUDA_LAUNCH_BLOCKING, a profiler that runs
// kernels one by one), the first one says after the deadline that it stayed alone.
#include <algorithm>
#include <string>

#include "driver_library.h"
#include "probe.h"

namespace p2p {

namespace {

// Rounds before the timed ones: the first ones meet cold translations and clocks.
constexpr std::uint64_t kWarmup = 16;
constexpr unsigned kWarp = 32;

class Pair final : public ProbeWork {
 public:
  Pair(const ProbeRows& rows, const ProbeResources& resources) : rows_(rows), resources_(resources) {}

  void begin(std::uint64_t limitNs) override {
    // A store of rounds that failed may still be under way: no number is used again.
    value_ += rows_.accesses + kWarmup + 1;
    for (std::size_t buffer = 0; buffer < 2; ++buffer) resources_.put(buffer, value_, limitNs);
    if (rows_.kind != ProbeKind::kMessages) return;
    for (std::size_t side = 0; side < 2; ++side) {
      *resources_.hostBarrier(side) = value_;
      resources_.putAt(rows_.gpus[side], resources_.barrier(rows_.gpus[side], side), value_, limitNs);
    }
  }

  ProbeRepetition repeat(const ProbeClock& clock, std::uint64_t kernelLimitNs,
                         std::uint64_t limitNs) override {
    resources_.reset();
    for (std::size_t side = 0; side < 2; ++side) {
      if (rows_.kind == ProbeKind::kMessages)
        launchMessages(static_cast<std::uint32_t>(side), kernelLimitNs);
      else
        launchPingPong(static_cast<std::uint32_t>(side), kernelLimitNs);
    }
    for (std::size_t side = 0; side < 2; ++side)
      resources_.wait(resources_.stream(side), limitNs, "waiting for two kernels");
    const std::uint64_t rounds = rows_.accesses + warmup();
    value_ += rounds;
    ProbeRepetition one;
    for (std::size_t side = 0; side < 2; ++side) {
      one.sides.push_back(sideOf(resources_.report(side)));
      one.sides.back().expected = value_;
      for (int i = 0; i < kProbeCounts; ++i) one.counts[i] += resources_.report(side).counts[i];
    }
    if (one.counts[kNeither] > 0) one.sides[1].wrong = true;
    one.time = clock.timeOf(resources_.report(0));
    one.accesses = rows_.accesses;
    one.sm = static_cast<unsigned>(resources_.report(0).sm);
    ++repetitions_;
    return one;
  }

  std::vector<ProbeCheck> check(std::uint64_t, std::uint64_t limitNs) override {
    return {checkWords(rows_, resources_, 0, 1, value_, limitNs),
            checkWords(rows_, resources_, 1, 1, value_, limitNs)};
  }

 private:
  std::uint64_t warmup() const { return rows_.kind == ProbeKind::kPingPong ? kWarmup : 0; }

  void launchPingPong(std::uint32_t side, std::uint64_t kernelLimitNs) const {
    auto store = static_cast<std::uint32_t>(rows_.store);
    cu::DevicePtr mine = resources_.address(side);
    cu::DevicePtr theirs = resources_.address(1 - side);
    std::uint64_t from = value_;
    std::uint64_t warmupRounds = kWarmup;
    std::uint64_t rounds = rows_.accesses;
    ProbeMeeting* meeting = &resources_.meeting();
    ProbeReport* report = &resources_.report(side);
    void* arguments[] = {&side,         &store,  &mine,          &theirs,  &from,
                         &warmupRounds, &rounds, &kernelLimitNs, &meeting, &report};
    resources_.launch(rows_.gpus[side], resources_.stream(side), Kernel::kProbePingPong, 1, kWarp, arguments);
  }

  void launchMessages(std::uint32_t side, std::uint64_t kernelLimitNs) const {
    auto scope = static_cast<std::uint32_t>(rows_.scope);
    cu::DevicePtr data = resources_.address(0);
    cu::DevicePtr flag = resources_.address(1);
    cu::DevicePtr mine = barrier(side);
    cu::DevicePtr theirs = barrier(1 - side);
    std::uint64_t from = value_;
    std::uint64_t rounds = rows_.accesses;
    // Not 0, which the generator of the kernel would stay at; another one in every repetition.
    std::uint32_t seed = 2 * (repetitions_ * 2 + side) * 2654435761u + 1;
    ProbeMeeting* meeting = &resources_.meeting();
    ProbeReport* report = &resources_.report(side);
    void* arguments[] = {&side, &scope,  &data, &flag,          &mine,    &theirs,
                         &from, &rounds, &seed, &kernelLimitNs, &meeting, &report};
    resources_.launch(rows_.gpus[side], resources_.stream(side), Kernel::kProbeMessages, 1, kWarp, arguments);
  }

  // In the memory of the GPU that polls it, if the other one reaches it; else in page-locked memory.
  cu::DevicePtr barrier(std::uint32_t side) const {
    const int own = rows_.gpus[side];
    const int other = rows_.gpus[1 - side];
    const bool near =
        own == other || std::any_of(rows_.peers.begin(), rows_.peers.end(), [&](const PeerRow& peer) {
          return peer.from == other && peer.to == own && peer.enabled;
        });
    return near ? resources_.barrier(own, side)
                : reinterpret_cast<cu::DevicePtr>(resources_.hostBarrier(side));
  }

  const ProbeRows& rows_;
  const ProbeResources& resources_;
  // What both flags hold before the next repetition.
  std::uint64_t value_ = 0;
  std::uint32_t repetitions_ = 0;
};

}  // namespace

std::unique_ptr<ProbeWork> makePair(const ProbeRows& rows, const ProbeResources& resources) {
  return std::make_unique<Pair>(rows, resources);
}

}  // namespace p2p
