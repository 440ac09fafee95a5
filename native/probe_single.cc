// Probes of one kernel on a few words: dependent atomics, and fences behind stores.
#include <algorithm>

#include "driver_library.h"
#include "probe.h"

namespace p2p {

namespace {

constexpr std::uint64_t kMostEmptyAccesses = 65'536;
constexpr std::uint64_t kLeastEmptyAccesses = 1'024;

class Single final : public ProbeWork {
 public:
  Single(const ProbeRows& rows, const ProbeResources& resources)
      : rows_(rows), resources_(resources), gpu_(rows.gpus.front()) {}

  void begin(std::uint64_t limitNs) override {
    value_ = 0;
    resources_.put(0, value_, limitNs);
    ran_ = false;
  }

  ProbeRepetition repeat(const ProbeClock& clock, std::uint64_t kernelLimitNs,
                         std::uint64_t limitNs) override {
    ProbeRepetition one;
    ProbeSide side = run(rows_.accesses, false, kernelLimitNs, limitNs);
    value_ += rows_.accesses;
    ran_ = true;
    side.expected = value_ - 1;
    side.wrong = side.state == ProbeState::kDone && side.value != side.expected;
    one.sides = {side};
    one.time = clock.timeOf(resources_.report(0));
    one.accesses = rows_.accesses;
    one.sm = static_cast<unsigned>(resources_.report(0).sm);
    return one;
  }

  std::vector<ProbeCheck> check(std::uint64_t, std::uint64_t limitNs) override {
    if (rows_.kind == ProbeKind::kAtomic) return {checkWords(rows_, resources_, 0, 1, value_, limitNs)};
    // The stores of the last access; nothing is left where there were none.
    const std::size_t count = ran_ ? static_cast<std::size_t>(rows_.stores) : 0;
    return {checkWords(rows_, resources_, 0, count, value_ - 1, limitNs)};
  }

  // The same loop without its atomic, or without stores and fence.
  double overheadNs(const ProbeClock& clock, std::uint64_t kernelLimitNs, std::uint64_t limitNs) override {
    const std::uint64_t accesses = std::clamp(rows_.accesses, kLeastEmptyAccesses, kMostEmptyAccesses);
    (void)run(accesses, true, kernelLimitNs, limitNs);
    return clock.timeOf(resources_.report(0)).ns / static_cast<double>(accesses);
  }

 private:
  ProbeSide run(std::uint64_t accesses, bool empty, std::uint64_t kernelLimitNs,
                std::uint64_t limitNs) const {
    resources_.reset();
    cu::DevicePtr address = resources_.address(0);
    std::uint64_t from = value_;
    ProbeReport* report = &resources_.report(0);
    if (rows_.kind == ProbeKind::kAtomic) {
      auto operation = static_cast<std::uint32_t>(empty ? AtomicOperation::kNone : rows_.operation);
      std::uint32_t system = rows_.system ? 1 : 0;
      std::uint64_t zero = 0;
      void* arguments[] = {&address, &operation, &system, &from, &accesses, &zero, &kernelLimitNs, &report};
      resources_.launch(gpu_, resources_.stream(0), Kernel::kProbeAtomic, 1, 1, arguments);
    } else {
      auto scope = static_cast<std::uint32_t>(empty ? FenceScope::kNone : rows_.scope);
      std::uint64_t stores = empty ? 0 : rows_.stores;
      void* arguments[] = {&address, &scope, &stores, &from, &accesses, &kernelLimitNs, &report};
      resources_.launch(gpu_, resources_.stream(0), Kernel::kProbeFence, 1, 1, arguments);
    }
    resources_.wait(resources_.stream(0), limitNs,
                    rows_.kind == ProbeKind::kAtomic ? "running atomics" : "running fences");
    return sideOf(*report);
  }

  const ProbeRows& rows_;
  const ProbeResources& resources_;
  const int gpu_;
  // Atomics: what the word holds. Fences: how many there were.
  std::uint64_t value_ = 0;
  bool ran_ = false;
};

}  // namespace

std::unique_ptr<ProbeWork> makeSingle(const ProbeRows& rows, const ProbeResources& resources) {
  return std::make_unique<Single>(rows, resources);
}

}  // namespace p2p
