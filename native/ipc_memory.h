// Memory of a GPU that two processes use: one exports it, the other opens it.
#pragma once

#include <cstdint>
#include <memory>

#include "context.h"
#include "cuda_api.h"
#include "objects.h"

namespace p2p {

// Memory filled with a pattern, and the name by which another process opens it. It must not be freed while
// another process has it open.
class ExportedMemory {
 public:
  // Throws when it cannot be allocated, filled or exported.
  ExportedMemory(int gpu, std::uint64_t bytes);

  const cu::IpcMemoryHandle& handle() const { return handle_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  std::unique_ptr<DeviceMemory> memory_;
  std::uint64_t bytes_;
  cu::IpcMemoryHandle handle_{};
};

using Exported = std::shared_ptr<ExportedMemory>;

// Opens memory that another process exported as ExportedMemory does, compares all of it with the pattern
// through a host read-back, and closes it: the number of bytes that differ. `context` must be current.
std::uint64_t wrongBytesOf(const cu::IpcMemoryHandle& handle, std::uint64_t bytes,
                           const std::shared_ptr<DeviceContext>& context);

}  // namespace p2p
