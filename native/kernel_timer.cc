#include "kernel_timer.h"

#include <algorithm>

#include "driver_library.h"

namespace p2p {

namespace {

constexpr std::uint64_t kFirstHoldNs = 20'000;
constexpr std::uint64_t kLongestHoldNs = 2'000'000;
// How often one repetition is done again with a longer hold.
constexpr int kAttempts = 8;

class Interval {
 public:
  Interval(WorkStream& stream, const KernelTimerOptions& options)
      : stream_(stream),
        options_(options),
        begin_(std::make_shared<WorkEvent>(stream.context(), true)),
        end_(std::make_shared<WorkEvent>(stream.context(), true)) {}

  // Nanoseconds from event to event around `submit`; false when it was cancelled.
  template <typename Submit>
  bool measure(Submit submit, double& ns, bool& late) {
    for (int attempt = 1;; ++attempt) {
      hold();
      stream_.record(begin_);
      submit();
      stream_.record(end_);
      // Not passed yet: everything stood in the queue before the GPU came to it.
      late = begin_->query();
      if (!stream_.sync(options_.deadlineMs, options_.cancels)) return false;
      if (!late || attempt == kAttempts || holdNs_ >= kLongestHoldNs) break;
      holdNs_ = std::min(holdNs_ * 2, kLongestHoldNs);
    }
    ns = end_->elapsedNs(*begin_);
    return true;
  }

 private:
  void hold() {
    void* arguments[] = {&holdNs_};
    const CurrentContext current(*stream_.context());
    P2P_CALL(cuLaunchKernel, stream_.context()->kernel(Kernel::kCompute), 1, 1, 1, 1, 1, 1, 0,
             stream_.handle(), arguments, nullptr);
  }

  WorkStream& stream_;
  const KernelTimerOptions& options_;
  std::shared_ptr<WorkEvent> begin_;
  std::shared_ptr<WorkEvent> end_;
  std::uint64_t holdNs_ = kFirstHoldNs;
};

}  // namespace

KernelTimes timeKernel(WorkStream& stream, const std::shared_ptr<DeviceKernel>& kernel,
                       const LaunchShape& shape, KernelArguments& arguments, const Uses& uses,
                       const KernelTimerOptions& options) {
  KernelTimes times;
  times.kernelNs.reserve(options.repetitions);
  times.emptyNs.reserve(options.repetitions);
  Interval interval(stream, options);
  double ns = 0;
  bool late = false;
  const auto launch = [&] { stream.launch(kernel, shape, arguments, uses); };
  for (std::size_t i = 0; i < options.warmup + options.repetitions; ++i) {
    const bool timed = i >= options.warmup;
    if (!interval.measure([] {}, ns, late)) break;
    const double emptyNs = ns;
    bool lateKernel = false;
    if (!interval.measure(launch, ns, lateKernel)) break;
    if (!timed) continue;
    times.emptyNs.push_back(emptyNs);
    times.kernelNs.push_back(ns);
    times.late += late || lateKernel ? 1 : 0;
  }
  times.cancelled = times.kernelNs.size() < options.repetitions;
  return times;
}

}  // namespace p2p
