// Memory of a GPU from a stream-ordered pool (cuMemAllocFromPoolAsync, CUDA 11.2). Which GPUs may access it
// is a property of the pool, set apart from peer access of contexts: every buffer has a pool of its own, so
// that the rights are exactly those of its program.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "objects.h"

namespace p2p {

// A pool on a GPU. Throws a kNotAvailable failure where the driver or the GPU has none.
class MemoryPool {
 public:
  explicit MemoryPool(std::shared_ptr<DeviceContext> context);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Lets another GPU read and write all memory of the pool, or no longer.
  void allow(int gpu, bool access);

  cu::MemoryPool handle() const { return handle_; }
  const std::shared_ptr<DeviceContext>& context() const { return context_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  cu::MemoryPool handle_ = nullptr;
};

class PoolMemory {
 public:
  // Allocates from a pool of its own that `peers`, GPUs besides its own, may access. The memory is there when
  // the constructor returns: any stream may use it.
  PoolMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes, std::span<const int> peers);
  ~PoolMemory();
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

  cu::DevicePtr address() const { return address_; }

 private:
  MemoryPool pool_;
  Stream stream_;
  cu::DevicePtr address_ = 0;
};

}  // namespace p2p
