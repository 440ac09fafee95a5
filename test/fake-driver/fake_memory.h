// Allocations, and who may reach them. View (fake_view.h) is how work on a GPU reads and writes them.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "../../native/cuda_api.h"

namespace fake {

// A stretch of addresses with memory behind it.
struct Allocation {
  // Where it comes from; each kind is counted, and taken back by its own calls.
  enum class Kind { kDevice, kPinned, kRegistered, kManaged, kPool, kMapping, kImported };

  const Kind kind;
  const p2p::cu::DevicePtr address;
  const std::size_t bytes;
  const int gpu;          // -1: host memory
  std::byte* const data;  // for the workers; the address itself is not to be touched
  // Of managed memory, which is host memory here: the GPU in whose context it was allocated.
  int madeOn = -1;
  // Whether work on a GPU may access it directly. Empty: memory of its own GPU and of peers, and host memory.
  std::function<bool(int gpu)> access;
  // Frees what is behind it, when neither a handle nor work in flight holds it any longer.
  std::function<void()> release;
  // What other GPUs see in its place, once they have written to it through a window that mirrors.
  std::mutex mutex;
  std::map<int, std::vector<std::byte>> mirrors;

  Allocation(Kind kind, p2p::cu::DevicePtr address, std::size_t bytes, int gpu, std::byte* data)
      : kind(kind), address(address), bytes(bytes), gpu(gpu), data(data) {}
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() {
    if (release) release();
  }

  bool reachableFrom(int from) const;
};

// Enters an allocation into the books; false when it overlaps another one.
bool enterAllocation(std::shared_ptr<Allocation> allocation);

// Takes the allocation of one of the kinds that begins at an address off the books; nullptr when there is
// none.
std::shared_ptr<Allocation> leaveAllocation(p2p::cu::DevicePtr address,
                                            std::initializer_list<Allocation::Kind> kinds);

// Takes bytes out of the memory of the GPUs, or answers CUDA_ERROR_OUT_OF_MEMORY (P2PLAB_FAKE_MEMORY,
// P2PLAB_FAKE_OOM); and gives them back.
p2p::cu::Result takeMemory(std::size_t bytes);
void giveMemory(std::size_t bytes);

// New device memory of a GPU, not entered yet; nullptr, with the reason, when there is none.
std::shared_ptr<Allocation> newDeviceMemory(Allocation::Kind kind, std::size_t bytes, int gpu,
                                            p2p::cu::Result& result);

// The allocation that holds an address; nullptr for pageable host memory and for addresses of nothing.
std::shared_ptr<Allocation> allocationAt(p2p::cu::DevicePtr address);

// Bytes of all GPUs together (P2PLAB_FAKE_MEMORY).
std::size_t memoryLimit();
std::size_t usedMemory();

}  // namespace fake
