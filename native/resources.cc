#include "resources.h"

#include <sched.h>

#include <algorithm>

#include "clock.h"
#include "driver_library.h"

namespace p2p {

namespace {

// Page-locking takes time: no more than the checks need, and large ones are read back piece by piece.
constexpr std::size_t kLeastPiece = 4096;
constexpr std::size_t kMostPiece = std::size_t{16} << 20;

}  // namespace

Resources::Resources(const ProgramRows& program) {
  for (const int gpu : program.streams) contexts_[gpu];
  for (const BufferRow& buffer : program.buffers) {
    if (buffer.place == Place::kDevice) contexts_[buffer.gpu];
  }
  for (const PeerRow& peer : program.peers) {
    contexts_[peer.from];
    contexts_[peer.to];
  }
  for (auto& [gpu, context] : contexts_) context = DeviceContext::of(gpu);

  // Pinned memory needs some context; any will do, because it is allocated as portable.
  const std::shared_ptr<DeviceContext> any =
      contexts_.empty() ? DeviceContext::of(0) : contexts_.begin()->second;
  for (const BufferRow& buffer : program.buffers) {
    switch (buffer.place) {
      case Place::kDevice:
        deviceMemory_.push_back(std::make_unique<DeviceMemory>(contexts_.at(buffer.gpu), buffer.bytes));
        addresses_.push_back(deviceMemory_.back()->address());
        break;
      case Place::kPinned:
        pinnedMemory_.push_back(std::make_unique<PinnedMemory>(any, buffer.bytes));
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
  for (const auto& [gpu, context] : contexts_) {
    auto service = std::make_unique<Service>();
    service->stream = std::make_unique<Stream>(context);
    service->counter = std::make_unique<DeviceMemory>(context, sizeof(std::uint64_t));
    service_[gpu] = std::move(service);
  }
  for (const CheckRow& check : program.checks) pieceBytes_ = std::max<std::size_t>(pieceBytes_, check.bytes);
  pieceBytes_ = std::clamp(pieceBytes_, kLeastPiece, kMostPiece);
  piece_ = std::make_unique<PinnedMemory>(any, pieceBytes_);
}

cu::Result Resources::drain(std::uint64_t deadlineNs) const {
  const auto poll = [&](const Stream& stream) {
    cu::Result result = driver().cuStreamQuery(stream.handle());
    while (result == cu::kNotReady && nowNs() < deadlineNs) {
      sched_yield();
      result = driver().cuStreamQuery(stream.handle());
    }
    return result;
  };
  for (const auto& stream : streams_) {
    if (const cu::Result result = poll(*stream); result != cu::kSuccess) return result;
  }
  for (const auto& [gpu, service] : service_) {
    if (const cu::Result result = poll(*service->stream); result != cu::kSuccess) return result;
  }
  return cu::kSuccess;
}

}  // namespace p2p
