// What the driver says of an address in the unified address space.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda_api.h"

namespace p2p {

// Each is empty where the driver does not answer: for an address that it does not know, all are.
struct PointerFacts {
  std::optional<unsigned> memoryType;  // cu::kMemoryTypeHost, kMemoryTypeDevice, …
  std::optional<int> gpu;              // whose context it was allocated in
  std::optional<bool> managed;
  std::optional<cu::DevicePtr> devicePointer;  // under which GPUs reach it
  std::optional<std::uint64_t> hostPointer;    // under which the host reaches it
  std::optional<cu::DevicePtr> rangeStart;
  std::optional<std::uint64_t> rangeBytes;
};

// Never throws for an address that nobody knows; throws where there is no driver.
PointerFacts pointerFacts(cu::DevicePtr address);

}  // namespace p2p
