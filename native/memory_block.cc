#include "memory_block.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "clock.h"
#include "driver_library.h"
#include "peers.h"

namespace p2p {

namespace {

constexpr std::uint64_t kLimitNs = 10'000'000'000;
constexpr std::uint64_t kPieceBytes = std::uint64_t{4} << 20;

// What an unfinished copy may still touch.
struct Unfinished {
  Block dst;
  Block src;
  std::unique_ptr<Stream> stream;
};

void keep(Unfinished unfinished) {
  static auto& kept = *new std::vector<Unfinished>();
  static std::mutex& mutex = *new std::mutex();
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(unfinished));
}

void copyOnGpu(const std::shared_ptr<DeviceContext>& context, const Block& dst, std::uint64_t dstOffset,
               const Block& src, std::uint64_t srcOffset, std::uint64_t bytes) {
  const Peers::InFlight held = Peers::instance().hold({});
  const CurrentContext current(*context);
  auto stream = std::make_unique<Stream>(context);
  P2P_CALL(cuMemcpyAsync, dst->address() + dstOffset, src->address() + srcOffset, bytes, stream->handle());
  const cu::Result result = stream->poll(nowNs() + kLimitNs);
  if (result != cu::kNotReady) return check(result, "cuStreamQuery");
  keep({dst, src, std::move(stream)});
  throw cudaFailure(result, "cuStreamQuery", "The copy is not complete after 10 s; its buffers are kept.");
}

}  // namespace

void requireInside(const MemoryBlock& block, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > block.bytes() || bytes > block.bytes() - offset) {
    throw usage(std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                    " do not fit in a buffer of " + std::to_string(block.bytes()) + " bytes",
                "Stay inside the buffer.");
  }
}

std::shared_ptr<MemoryBlock> MemoryBlock::allocate(MemoryKind kind, int gpu, std::uint64_t bytes) {
  auto block = std::make_shared<MemoryBlock>();
  block->kind_ = kind;
  block->bytes_ = bytes;
  const auto onHost = [&](Place place, std::byte* data) {
    block->place_ = place;
    block->address_ = reinterpret_cast<cu::DevicePtr>(data);
  };
  if (kind != MemoryKind::kPageable)
    block->context_ = DeviceContext::of(kind == MemoryKind::kDevice ? gpu : 0);
  switch (kind) {
    case MemoryKind::kDevice:
      block->gpu_ = gpu;
      block->place_ = Place::kDevice;
      block->device_ = std::make_unique<DeviceMemory>(block->context_, bytes);
      block->address_ = block->device_->address();
      break;
    case MemoryKind::kPinned:
      block->pinned_ = std::make_unique<PinnedMemory>(block->context_, bytes);
      onHost(Place::kPinned, block->pinned_->data());
      break;
    case MemoryKind::kPageable:
      block->pageable_ = std::make_unique<PageableMemory>(bytes);
      onHost(Place::kPageable, block->pageable_->data());
      break;
    case MemoryKind::kRegistered:
      block->pageable_ = std::make_unique<PageableMemory>(bytes);
      block->registered_ =
          std::make_unique<RegisteredMemory>(block->context_, block->pageable_->data(), bytes);
      onHost(Place::kPinned, block->pageable_->data());
      break;
    case MemoryKind::kManaged:
      block->managed_ = std::make_unique<ManagedMemory>(block->context_, bytes);
      onHost(Place::kPinned, block->managed_->data());
      break;
  }
  return block;
}

void copyBlock(const Block& dst, std::uint64_t dstOffset, const Block& src, std::uint64_t srcOffset,
               std::uint64_t bytes) {
  requireInside(*dst, dstOffset, bytes);
  requireInside(*src, srcOffset, bytes);
  if (bytes == 0) return;
  if (src->place() == Place::kDevice) {
    copyOnGpu(src->context(), dst, dstOffset, src, srcOffset, bytes);
  } else if (dst->place() == Place::kDevice) {
    copyOnGpu(dst->context(), dst, dstOffset, src, srcOffset, bytes);
  } else {
    std::memmove(dst->host() + dstOffset, src->host() + srcOffset, bytes);
  }
}

// The caller's memory may go away after a time-out, so that device memory is reached through pinned pieces of
// our own.
void writeBlock(const Block& dst, std::uint64_t offset, const std::byte* data, std::size_t bytes) {
  requireInside(*dst, offset, bytes);
  if (dst->place() != Place::kDevice) {
    if (bytes > 0) std::memcpy(dst->host() + offset, data, bytes);
    return;
  }
  if (bytes == 0) return;
  const Block piece =
      MemoryBlock::allocate(MemoryKind::kPinned, -1, std::min<std::uint64_t>(bytes, kPieceBytes));
  for (std::size_t at = 0; at < bytes; at += piece->bytes()) {
    const std::size_t length = std::min<std::size_t>(piece->bytes(), bytes - at);
    std::memcpy(piece->host(), data + at, length);
    copyBlock(dst, offset + at, piece, 0, length);
  }
}

void readBlock(const Block& src, std::uint64_t offset, std::byte* data, std::size_t bytes) {
  requireInside(*src, offset, bytes);
  if (src->place() != Place::kDevice) {
    if (bytes > 0) std::memcpy(data, src->host() + offset, bytes);
    return;
  }
  if (bytes == 0) return;
  const Block piece =
      MemoryBlock::allocate(MemoryKind::kPinned, -1, std::min<std::uint64_t>(bytes, kPieceBytes));
  for (std::size_t at = 0; at < bytes; at += piece->bytes()) {
    const std::size_t length = std::min<std::size_t>(piece->bytes(), bytes - at);
    copyBlock(piece, 0, src, offset + at, length);
    std::memcpy(data + at, piece->host(), length);
  }
}

}  // namespace p2p
