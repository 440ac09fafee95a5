#include "resources.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "clock.h"
#include "errors.h"
#include "kept_host_memory.h"

namespace p2p {

namespace {

// Page-locking takes time: no more than the checks need, and large ones are read back piece by piece, in
// pieces of one size, so that programs of several sizes can hand them on.
constexpr std::size_t kLeastPiece = 4096;
constexpr std::size_t kMostWhole = std::size_t{16} << 20;
constexpr std::size_t kLargePiece = std::size_t{64} << 20;

}  // namespace

Resources::Resources(const ProgramRows& program, int numaNode) : numaNode_(numaNode) {
  for (const int gpu : program.streams) contexts_[gpu];
  for (const BufferRow& buffer : program.buffers) {
    if (buffer.place == Place::kDevice) contexts_[buffer.gpu];
  }
  for (const PeerRow& peer : program.peers) {
    contexts_[peer.from];
    contexts_[peer.to];
  }
  DeviceContext::ofAll(contexts_);

  // Pinned memory needs some context; any will do, because it is allocated as portable.
  any_ = contexts_.empty() ? DeviceContext::of(0) : contexts_.begin()->second;
  for (const BufferRow& buffer : program.buffers) {
    switch (buffer.place) {
      case Place::kDevice:
        addDeviceMemory(program, buffer);
        break;
      case Place::kPinned:
        pinnedMemory_.push_back(KeptHostMemory::instance().take(any_, buffer.bytes, numaNode));
        addresses_.push_back(reinterpret_cast<cu::DevicePtr>(pinnedMemory_.back()->data()));
        break;
      case Place::kPageable:
        pageableMemory_.push_back(std::make_unique<PageableMemory>(buffer.bytes));
        addresses_.push_back(reinterpret_cast<cu::DevicePtr>(pageableMemory_.back()->data()));
        break;
    }
  }
  for (const int gpu : program.streams) streams_.push_back(std::make_unique<Stream>(contexts_.at(gpu)));
  events_.resize(static_cast<std::size_t>(program.eventCount));
  for (const OperationRow& operation : program.operations) {
    if (operation.code != Opcode::kRecord) continue;
    auto& event = events_[static_cast<std::size_t>(operation.a)];
    if (!event) event = std::make_unique<Event>(stream(operation.stream).context());
  }
  addSyncMarks(program);
  for (const auto& [gpu, context] : contexts_) {
    auto service = std::make_unique<Service>();
    service->stream = std::make_unique<Stream>(context);
    service->counter = std::make_unique<DeviceMemory>(context, sizeof(std::uint64_t));
    service_[gpu] = std::move(service);
  }
  for (const CheckRow& check : program.checks) pieceBytes_ = std::max<std::size_t>(pieceBytes_, check.bytes);
  pieceBytes_ = pieceBytes_ > kMostWhole ? kLargePiece : std::max(pieceBytes_, kLeastPiece);
  piece_ = KeptHostMemory::instance().take(any_, pieceBytes_, numaNode);
}

// Memory of pools and of the virtual memory functions is opened to exactly the GPUs that the program lets
// access it; for cuMemAlloc peer access between contexts does it.
void Resources::addDeviceMemory(const ProgramRows& program, const BufferRow& buffer) {
  const std::shared_ptr<DeviceContext>& context = contexts_.at(buffer.gpu);
  std::vector<int> peers;
  for (const PeerRow& peer : program.peers) {
    if (peer.to == buffer.gpu && peer.enabled) peers.push_back(peer.from);
  }
  switch (buffer.allocator) {
    case Allocator::kMalloc:
      deviceMemory_.push_back(std::make_unique<DeviceMemory>(context, buffer.bytes));
      addresses_.push_back(deviceMemory_.back()->address());
      break;
    case Allocator::kPool:
      poolMemory_.push_back(std::make_unique<PoolMemory>(context, buffer.bytes, peers));
      addresses_.push_back(poolMemory_.back()->address());
      break;
    case Allocator::kVmm:
      vmmMemory_.push_back(std::make_unique<VmmMemory>(context, buffer.bytes, peers));
      addresses_.push_back(vmmMemory_.back()->address());
      break;
    case Allocator::kIpc: {
      cu::IpcMemoryHandle handle{};
      std::memcpy(handle.reserved, buffer.handle.data(), sizeof handle.reserved);
      openedMemory_.push_back(std::make_unique<OpenedMemory>(context, handle));
      addresses_.push_back(openedMemory_.back()->address());
      break;
    }
  }
}

// Words that the host polls lie apart, so that no write of another stream takes the line away.
void Resources::addSyncMarks(const ProgramRows& program) {
  constexpr std::size_t kLine = 128;
  std::vector<int> polled;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const OperationRow& row = program.operations[i];
    if (row.code != Opcode::kSync) continue;
    if (row.flag == static_cast<int>(SyncMethod::kPollFlag)) polled.push_back(static_cast<int>(i));
    if (row.flag == static_cast<int>(SyncMethod::kPollEvent))
      syncEvents_[static_cast<int>(i)] = std::make_unique<Event>(stream(program.submitStream(row)).context());
  }
  if (polled.empty()) return;
  syncMemory_ = std::make_unique<PinnedMemory>(any_, polled.size() * kLine);
  std::memset(syncMemory_->data(), 0, polled.size() * kLine);
  for (std::size_t i = 0; i < polled.size(); ++i)
    syncWords_[polled[i]] = reinterpret_cast<std::uint32_t*>(syncMemory_->data() + i * kLine);
}

void Resources::settle(int gpu, std::uint64_t limitNs, const char* doing) const {
  const cu::Result result = serviceStream(gpu).poll(nowNs() + limitNs);
  if (result == cu::kSuccess) return;
  throw cudaFailure(result, "cuStreamQuery",
                    "(while " + std::string(doing) + " on GPU " + std::to_string(gpu) + ")");
}

cu::Result Resources::drain(std::uint64_t deadlineNs) const {
  for (const auto& stream : streams_) {
    if (const cu::Result result = stream->poll(deadlineNs); result != cu::kSuccess) return result;
  }
  for (const auto& [gpu, service] : service_) {
    if (const cu::Result result = service->stream->poll(deadlineNs); result != cu::kSuccess) return result;
  }
  return cu::kSuccess;
}

void Resources::keepHostMemory() {
  KeptHostMemory& kept = KeptHostMemory::instance();
  for (auto& memory : pinnedMemory_) kept.give(std::move(memory), numaNode_);
  pinnedMemory_.clear();
  kept.give(std::move(piece_), numaNode_);
}

}  // namespace p2p
