// Everything a program needs on the driver's side: contexts, buffers, streams and events, and what
// verification uses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "objects.h"
#include "program.h"

namespace p2p {

class Resources {
 public:
  explicit Resources(const ProgramRows& program);
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  // Address of a buffer in the unified address space.
  cu::DevicePtr address(int buffer) const { return addresses_[static_cast<std::size_t>(buffer)]; }
  // The buffer as host memory; only for host buffers.
  std::byte* host(int buffer) const { return reinterpret_cast<std::byte*>(address(buffer)); }
  const Stream& stream(int index) const { return *streams_[static_cast<std::size_t>(index)]; }
  // nullptr for an event that the program never records.
  const Event* event(int index) const { return events_[static_cast<std::size_t>(index)].get(); }
  const std::shared_ptr<DeviceContext>& context(int gpu) const { return contexts_.at(gpu); }

  // For verification: a stream and a counter on a GPU, and a pinned piece of host memory.
  const Stream& serviceStream(int gpu) const { return *service_.at(gpu)->stream; }
  cu::DevicePtr counter(int gpu) const { return service_.at(gpu)->counter->address(); }
  std::byte* piece() const { return piece_->data(); }
  std::size_t pieceBytes() const { return pieceBytes_; }

  // Polls all streams until their work is complete. kSuccess; kNotReady when `deadlineNs` passed first (0
  // polls once); or the error that a stream answers.
  cu::Result drain(std::uint64_t deadlineNs) const;

 private:
  struct Service {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<DeviceMemory> counter;
  };

  // Destroyed from the last to the first: contexts outlive all that lives in them.
  std::map<int, std::shared_ptr<DeviceContext>> contexts_;
  std::vector<std::unique_ptr<DeviceMemory>> deviceMemory_;
  std::vector<std::unique_ptr<PinnedMemory>> pinnedMemory_;
  std::vector<std::unique_ptr<PageableMemory>> pageableMemory_;
  std::unique_ptr<PinnedMemory> piece_;
  std::size_t pieceBytes_ = 0;
  std::vector<cu::DevicePtr> addresses_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::map<int, std::unique_ptr<Service>> service_;
};

}  // namespace p2p
