// What the stand-in NVML knows: the GPUs of the machine, and the values and failures that the environment
// sets.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "../../native/nvml_api.h"

struct nvmlDevice_st {
  int gpu;
  bool slice;
};

namespace fake::nvml {

using namespace p2p::nvml;

struct Library {
  std::mutex mutex;
  std::vector<nvmlDevice_st> devices;
  // The instance of the first GPU, where that is split.
  nvmlDevice_st slice{0, true};

  Library();
};

Library& library();

// The value of a key as it now reads (P2PLAB_FAKE_NVML); of one of its links where that is not -1.
unsigned long long valueOf(int gpu, const std::string& key, int link = -1);
// The same with a usual value of the caller's own, for what depends on more than the key.
unsigned long long valueOr(int gpu, const std::string& key, unsigned long long usual, int link = -1);

// What a call is made to answer (P2PLAB_FAKE_NVML_FAIL).
Result failing(const std::string& name);

// First line of every function.
#define ENTER(name)                                          \
  const std::lock_guard lock(::fake::nvml::library().mutex); \
  if (const Result forced = ::fake::nvml::failing(name)) return forced

template <typename Raw>
Result give(Raw* receiver, Device device, const char* key, int link = -1) {
  *receiver = static_cast<Raw>(valueOf(device->gpu, key, link));
  return kSuccess;
}

// The address of what stands on a bus.
void address(PciInfo* pci, unsigned bus);
unsigned busOf(int gpu);

}  // namespace fake::nvml
