// libcuda.so.1, opened and initialised on first use, and the table of its entry points.
#pragma once

#include <string>

#include "cuda_api.h"
#include "errors.h"

namespace p2p {

struct DriverState {
  bool available = false;
  // Why not, one sentence, and what to do; empty when available.
  std::string reason;
  std::string hint;
  // As cuDriverGetVersion gives it (13000 = CUDA 13.0); 0 when unknown.
  int version = 0;
  std::string path;
  int deviceCount = 0;
};

// Opens libcuda.so.1 (or the file that P2PLAB_LIBCUDA names), calls cuInit and counts devices; the answer is
// kept for the life of the process. Never throws.
const DriverState& driverState();

// The entry points. Throws a kNotAvailable failure when there is no usable driver.
const cu::EntryPoints& driver();

// Device handle of an ordinal. Throws when there is no driver or no such GPU.
cu::Device deviceOf(int gpu);

// Version line of /proc/driver/nvidia/version; empty where it cannot be read.
std::string kernelModuleVersion();

// CUDA release that brought an optional entry point, such as "12.8".
const char* sinceCuda(const char* function);

// The entry point, or a kNotAvailable failure that says which CUDA release brought it.
template <typename Function>
Function present(Function function, const char* name) {
  if (!function)
    throw notAvailable(
        std::string("this driver has no ") + name + " (it came with CUDA " + sinceCuda(name) + ")",
        "Install a newer NVIDIA driver, or leave this operation out.");
  return function;
}

}  // namespace p2p

// Calls an entry point of the driver and throws on any result but success.
#define P2P_CALL(function, ...) ::p2p::check(::p2p::driver().function(__VA_ARGS__), #function)

// An entry point that an older driver may lack, for calls that want their result: throws like
// P2P_CALL_OPTIONAL when it is missing.
#define P2P_PRESENT(function) ::p2p::present(::p2p::driver().function, #function)

// Calls an entry point that an older driver may lack: throws a kNotAvailable failure that names the CUDA
// release then.
#define P2P_CALL_OPTIONAL(function, ...) \
  ::p2p::check(::p2p::present(::p2p::driver().function, #function)(__VA_ARGS__), #function)
