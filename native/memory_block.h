// Memory of ad hoc work, and copies of it that are complete when they return.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "objects.h"
#include "program.h"

namespace p2p {

// How memory was made. Registered: ordinary memory that was page-locked afterwards. Managed: memory that the
// driver moves between host and GPUs.
enum class MemoryKind { kDevice, kPinned, kPageable, kRegistered, kManaged };

class MemoryBlock {
 public:
  // `gpu` is looked at for device memory only. Throws when there is no driver (pageable memory needs none) or
  // no room.
  static std::shared_ptr<MemoryBlock> allocate(MemoryKind kind, int gpu, std::uint64_t bytes);

  MemoryKind kind() const { return kind_; }
  // How it is reached: registered and managed memory as pinned memory is, by the host and every GPU.
  Place place() const { return place_; }
  int gpu() const { return gpu_; }  // -1 on the host
  std::uint64_t bytes() const { return bytes_; }
  cu::DevicePtr address() const { return address_; }
  std::byte* host() const { return reinterpret_cast<std::byte*>(address_); }
  // Context that copies of it run in; nullptr for pageable memory.
  const std::shared_ptr<DeviceContext>& context() const { return context_; }

 private:
  MemoryKind kind_ = MemoryKind::kPageable;
  Place place_ = Place::kPageable;
  int gpu_ = -1;
  std::uint64_t bytes_ = 0;
  cu::DevicePtr address_ = 0;
  std::shared_ptr<DeviceContext> context_;
  std::unique_ptr<DeviceMemory> device_;
  std::unique_ptr<PinnedMemory> pinned_;
  std::unique_ptr<PageableMemory> pageable_;
  // Taken back before the memory under it is freed.
  std::unique_ptr<RegisteredMemory> registered_;
  std::unique_ptr<ManagedMemory> managed_;
};

using Block = std::shared_ptr<MemoryBlock>;

// Throws a kUsage failure unless the stretch lies inside the block.
void requireInside(const MemoryBlock& block, std::uint64_t offset, std::uint64_t bytes);

// A copy that does not complete within 10 s throws kNotReady, and both blocks then stay allocated to the end
// of the process, because the transfer may still touch them. Stretches outside a block throw a kUsage
// failure.
void copyBlock(const Block& dst, std::uint64_t dstOffset, const Block& src, std::uint64_t srcOffset,
               std::uint64_t bytes);
void writeBlock(const Block& dst, std::uint64_t offset, const std::byte* data, std::size_t bytes);
void readBlock(const Block& src, std::uint64_t offset, std::byte* data, std::size_t bytes);

}  // namespace p2p
