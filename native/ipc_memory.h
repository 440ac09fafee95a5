// Memory of a GPU that two processes use: one exports it, the other opens it.
#pragma once

#include <cstdint>
#include <memory>

#include "context.h"
#include "cuda_api.h"
#include "objects.h"
#include "vmm_memory.h"

namespace p2p {

// How another process gets at memory: by 64 bytes that the driver made (CUDA IPC), or by a file descriptor
// (virtual memory functions).
enum class ExportKind { kIpc, kFile };

// Memory filled with a pattern, and the name by which another process opens it. It must not be freed while
// another process has it open.
class ExportedMemory {
 public:
  // Throws when it cannot be allocated, filled or exported.
  ExportedMemory(int gpu, std::uint64_t bytes, ExportKind kind = ExportKind::kIpc);
  ~ExportedMemory();
  ExportedMemory(const ExportedMemory&) = delete;
  ExportedMemory& operator=(const ExportedMemory&) = delete;

  // Of kIpc.
  const cu::IpcMemoryHandle& handle() const { return handle_; }
  // Of kFile, closed with it; -1 otherwise.
  int file() const { return file_; }
  std::uint64_t bytes() const { return bytes_; }
  // How many bytes differ from the pattern now, as their owner sees them: what others have written.
  std::uint64_t changedBytes() const;

 private:
  cu::DevicePtr address() const { return memory_ ? memory_->address() : range_->address(); }

  std::shared_ptr<DeviceContext> context_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<PhysicalMemory> physical_;
  std::unique_ptr<AddressRange> range_;
  std::unique_ptr<MemoryMapping> mapping_;
  std::uint64_t bytes_;
  cu::IpcMemoryHandle handle_{};
  int file_ = -1;
};

using Exported = std::shared_ptr<ExportedMemory>;

// Memory that another process exported, opened in a context of ours; closed with it.
class OpenedMemory {
 public:
  OpenedMemory(std::shared_ptr<DeviceContext> context, const cu::IpcMemoryHandle& handle);
  ~OpenedMemory();
  OpenedMemory(const OpenedMemory&) = delete;
  OpenedMemory& operator=(const OpenedMemory&) = delete;

  cu::DevicePtr address() const { return address_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  cu::DevicePtr address_ = 0;
};

// Bytes of memory filled as ExportedMemory does that differ from the pattern, by a host read-back. `context`
// must be current.
std::uint64_t wrongBytesAt(cu::DevicePtr address, std::uint64_t bytes,
                           const std::shared_ptr<DeviceContext>& context);

// The same of memory of another process, opened for it; a file descriptor does not tell whose memory it
// names.
std::uint64_t wrongBytesOf(const cu::IpcMemoryHandle& handle, std::uint64_t bytes,
                           const std::shared_ptr<DeviceContext>& context);
std::uint64_t wrongBytesOf(int file, std::uint64_t bytes, const std::shared_ptr<DeviceContext>& context,
                           int owner);

}  // namespace p2p
