// Kernels of the stand-in: C++ functions by the name that stands in the PTX. A family of kernels has a file
// of its own, fake_kernels_FAMILY.cc, with one `const Kernel` for each:
//
//     const Kernel kCopy("p2p_copy", [](Launch& launch) {
//       const View dst = launch.view(0, launch.value<std::uint64_t>(2));
//       ...
//     });
//
// A loop that waits pauses by a Spin, so that it gives way when the process ends; %globaltimer is nowNs() of
// fake_settings.h. One call does the work of the whole grid, on the thread of the stream; kernels of other
// streams run beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fake_view.h"
#include "fake_worker.h"

namespace fake {

struct Launch {
  int gpu;
  unsigned blocks;
  unsigned threads;  // of a block
  // The bytes of each argument, as they were when the kernel was launched.
  std::vector<std::vector<std::byte>> arguments;

  template <typename Value>
  Value value(std::size_t index) const {
    Value value;
    if (index >= arguments.size() || arguments[index].size() != sizeof value) throw Broken{kBadArguments};
    std::memcpy(&value, arguments[index].data(), sizeof value);
    return value;
  }

  // The memory that a pointer argument names, as this GPU sees it; an illegal address where it may not.
  View view(std::size_t index, std::size_t bytes) const { return at(value<std::uint64_t>(index), bytes); }
  View at(p2p::cu::DevicePtr address, std::size_t bytes) const { return View(gpu, address, bytes); }

  // CUDA_ERROR_LAUNCH_FAILED: the kernel and its PTX have different parameters.
  static constexpr p2p::cu::Result kBadArguments = p2p::cu::kLaunchFailed;
};

using KernelBody = void (*)(Launch& launch);

struct Kernel {
  Kernel(const char* name, KernelBody body);
};

// nullptr: no such kernel here.
KernelBody kernelNamed(const char* name);

}  // namespace fake
