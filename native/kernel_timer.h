// How long a kernel takes on the GPU, by events around it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "work_stream.h"

namespace p2p {

struct KernelTimes {
  // Event to event with the kernel between them, one a repetition, nanoseconds.
  std::vector<double> kernelNs;
  // The same with nothing between them: what the events themselves take. Floor of the clock.
  std::vector<double> emptyNs;
  // Repetitions of which the host had not submitted everything when the GPU came to them: they hold the
  // host's time as well.
  std::size_t late = 0;
  bool cancelled = false;
};

struct KernelTimerOptions {
  std::size_t repetitions = 0;
  // Launches before the first that is timed.
  std::size_t warmup = 0;
  // For each wait.
  double deadlineMs = 0;
  // Cancelled once the stream's count is no longer this.
  unsigned cancels = 0;
};

// Times repetitions of one launch on a stream of their own. Before each, a kernel keeps the stream busy until
// the host has submitted both events and the launch; it is made to last longer while the host is found late.
KernelTimes timeKernel(WorkStream& stream, const std::shared_ptr<DeviceKernel>& kernel,
                       const LaunchShape& shape, KernelArguments& arguments, const Uses& uses,
                       const KernelTimerOptions& options);

}  // namespace p2p
