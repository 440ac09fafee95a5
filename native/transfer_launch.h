// Launches of the transfer kernels with everything resolved: how many threads, and where their arguments
// stand.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include "context.h"
#include "cuda_api.h"
#include "handshakes.h"
#include "program.h"

namespace p2p {

// One launch, again and again; its arguments stay where they are.
class KernelLaunch {
 public:
  // `values` are the kernel's arguments, each of 64 bits.
  KernelLaunch(cu::Function function, unsigned blocks, unsigned threads,
               std::initializer_list<std::uint64_t> values);
  KernelLaunch(const KernelLaunch&) = delete;
  KernelLaunch& operator=(const KernelLaunch&) = delete;

  void set(std::size_t argument, std::uint64_t value) { values_.at(argument) = value; }

  cu::Result submit(const cu::EntryPoints& entries, cu::Stream stream) const noexcept {
    return entries.cuLaunchKernel(function_, blocks_, 1, 1, threads_, 1, 1, 0, stream, arguments_.data(),
                                  nullptr);
  }

 private:
  static constexpr std::size_t kMostArguments = 8;

  cu::Function function_;
  unsigned blocks_;
  unsigned threads_;
  std::array<std::uint64_t, kMostArguments> values_{};
  mutable std::array<void*, kMostArguments> arguments_{};
};

// The launch of a copy by kernel, compute, launch, put or receive, on the GPU of its stream.
std::unique_ptr<KernelLaunch> launchOf(const OperationRow& row, int index, const Resources& resources,
                                       const Handshakes& handshakes);

}  // namespace p2p
