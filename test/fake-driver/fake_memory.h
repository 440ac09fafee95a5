// Allocations, and who may reach them. View (fake_view.h) is how work on a GPU reads and writes them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "../../native/cuda_api.h"

namespace fake {

struct Allocation {
  enum class Kind { kDevice, kPinned };

  Kind kind;
  p2p::cu::DevicePtr address;
  std::size_t bytes;
  int gpu;          // -1: host memory
  std::byte* data;  // for the workers; the address itself is not to be touched
  // What other GPUs see in its place, once they have written to it through a window that mirrors.
  std::mutex mutex;
  std::map<int, std::vector<std::byte>> mirrors;

  Allocation(Kind kind, p2p::cu::DevicePtr address, std::size_t bytes, int gpu, std::byte* data)
      : kind(kind), address(address), bytes(bytes), gpu(gpu), data(data) {}
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();

  // Whether work on that GPU may access it directly.
  bool reachableFrom(int from) const;
};

// The allocation that holds an address; nullptr for pageable host memory and for addresses of nothing.
std::shared_ptr<Allocation> allocationAt(p2p::cu::DevicePtr address);

// Bytes of all GPUs together (P2PLAB_FAKE_MEMORY).
std::size_t memoryLimit();

}  // namespace fake
