// Memory of a GPU by the virtual memory functions (CUDA 10.2): physical memory, a range of addresses, one
// mapped into the other, and rights set for each GPU by itself; peer access of contexts has no say.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "context.h"
#include "cuda_api.h"

namespace p2p {

// Size that physical memory of a GPU comes in: `bytes` rounded up.
std::size_t vmmSize(int gpu, std::size_t bytes);

// The driver takes a file descriptor in the place of a pointer.
cu::MemoryHandle importMemory(int file);

// Physical memory without an address.
class PhysicalMemory {
 public:
  // `bytes` must be a size that vmmSize gives. `exportable`: a file descriptor can name it.
  PhysicalMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes, bool exportable = false);
  // Memory of another process that a file descriptor names; the descriptor stays the caller's.
  static std::unique_ptr<PhysicalMemory> imported(std::shared_ptr<DeviceContext> context, std::size_t bytes,
                                                  int file);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  cu::MemoryHandle handle() const { return handle_; }
  std::size_t bytes() const { return bytes_; }
  const std::shared_ptr<DeviceContext>& context() const { return context_; }

 private:
  PhysicalMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes, cu::MemoryHandle handle)
      : context_(std::move(context)), bytes_(bytes), handle_(handle) {}

  std::shared_ptr<DeviceContext> context_;
  std::size_t bytes_;
  cu::MemoryHandle handle_ = 0;
};

// Addresses without memory.
class AddressRange {
 public:
  explicit AddressRange(std::size_t bytes);
  ~AddressRange();
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  cu::DevicePtr address() const { return address_; }

 private:
  std::size_t bytes_;
  cu::DevicePtr address_ = 0;
};

// Physical memory at the addresses of a range; no GPU may access it until allow().
class MemoryMapping {
 public:
  MemoryMapping(const AddressRange& range, const PhysicalMemory& memory);
  ~MemoryMapping();
  MemoryMapping(const MemoryMapping&) = delete;
  MemoryMapping& operator=(const MemoryMapping&) = delete;

  void allow(int gpu, bool access);

 private:
  cu::DevicePtr address_;
  std::size_t bytes_;
};

class VmmMemory {
 public:
  // Its own GPU and `peers` may access it. Throws a kNotAvailable failure where driver or GPU lack the
  // functions.
  VmmMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes, std::span<const int> peers);

  cu::DevicePtr address() const { return range_.address(); }

 private:
  PhysicalMemory memory_;
  AddressRange range_;
  MemoryMapping mapping_;
};

}  // namespace p2p
