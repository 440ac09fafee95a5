// Page-locked memory that outlives the program it was made for: making and freeing 512 MiB takes a quarter of
// a second, more than measuring a copy of them. The next program that wants a block of the same size gets it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "objects.h"

namespace p2p {

class KeptHostMemory {
 public:
  static KeptHostMemory& instance();

  // A kept block of exactly so many bytes beside the same NUMA node, with whatever it holds; else a new one.
  // Where there is no room for that, what is kept is freed first.
  std::unique_ptr<PinnedMemory> take(const std::shared_ptr<DeviceContext>& context, std::size_t bytes,
                                     int numaNode);
  // Keeps a block that no work in flight uses; small ones, which cost little, and what goes beyond 1 GiB are
  // freed, the oldest first.
  void give(std::unique_ptr<PinnedMemory> memory, int numaNode);
  // Frees all that is kept. Returns only when it is freed, also to a second caller: a process that ends must
  // not take the driver down beside it.
  void release();

 private:
  struct Kept {
    std::unique_ptr<PinnedMemory> memory;
    int numaNode;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;  // the oldest first
};

}  // namespace p2p
