// Everything a program needs on the driver's side: contexts, buffers, streams and events, and what
// verification uses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ipc_memory.h"
#include "objects.h"
#include "pool_memory.h"
#include "program.h"
#include "vmm_memory.h"

namespace p2p {

class Resources {
 public:
  // Host memory that is page-locked lies beside `numaNode`, where the calling thread must run: it touches it
  // first.
  Resources(const ProgramRows& program, int numaNode);
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  // Address of a buffer in the unified address space.
  cu::DevicePtr address(int buffer) const { return addresses_[static_cast<std::size_t>(buffer)]; }
  // The buffer as host memory; only for host buffers.
  std::byte* host(int buffer) const { return reinterpret_cast<std::byte*>(address(buffer)); }
  const Stream& stream(int index) const { return *streams_[static_cast<std::size_t>(index)]; }
  // nullptr for an event that the program never records.
  const Event* event(int index) const { return events_[static_cast<std::size_t>(index)].get(); }
  // For the sync at a row of the program: the event (poll-event) or the word of pinned memory (poll-flag) by
  // which it learns that its stream is complete.
  const Event& syncEvent(int operation) const { return *syncEvents_.at(operation); }
  std::uint32_t* syncWord(int operation) const { return syncWords_.at(operation); }
  const std::shared_ptr<DeviceContext>& context(int gpu) const { return contexts_.at(gpu); }
  const std::map<int, std::shared_ptr<DeviceContext>>& contexts() const { return contexts_; }
  // One to allocate page-locked memory in.
  const std::shared_ptr<DeviceContext>& anyContext() const { return any_; }

  // For verification: a stream and a counter on a GPU, and a pinned piece of host memory.
  const Stream& serviceStream(int gpu) const { return *service_.at(gpu)->stream; }
  cu::DevicePtr counter(int gpu) const { return service_.at(gpu)->counter->address(); }
  std::byte* piece() const { return piece_->data(); }
  std::size_t pieceBytes() const { return pieceBytes_; }

  // Polls the service stream of a GPU; throws what it answers, or kNotReady after `limitNs`, with what was
  // being done.
  void settle(int gpu, std::uint64_t limitNs, const char* doing) const;

  // Polls all streams until their work is complete. kSuccess; kNotReady when `deadlineNs` passed first (0
  // polls once); or the error that a stream answers.
  cu::Result drain(std::uint64_t deadlineNs) const;

  // Called last, when no work is in flight: leaves the page-locked memory to later programs.
  void keepHostMemory();

 private:
  struct Service {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<DeviceMemory> counter;
  };

  void addDeviceMemory(const ProgramRows& program, const BufferRow& buffer);
  void addSyncMarks(const ProgramRows& program);

  // Destroyed from the last to the first: contexts outlive all that lives in them.
  std::map<int, std::shared_ptr<DeviceContext>> contexts_;
  std::shared_ptr<DeviceContext> any_;
  int numaNode_;
  std::vector<std::unique_ptr<DeviceMemory>> deviceMemory_;
  std::vector<std::unique_ptr<PoolMemory>> poolMemory_;
  std::vector<std::unique_ptr<VmmMemory>> vmmMemory_;
  std::vector<std::unique_ptr<OpenedMemory>> openedMemory_;
  std::vector<std::unique_ptr<PinnedMemory>> pinnedMemory_;
  std::vector<std::unique_ptr<PageableMemory>> pageableMemory_;
  std::unique_ptr<PinnedMemory> piece_;
  std::size_t pieceBytes_ = 0;
  std::vector<cu::DevicePtr> addresses_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::map<int, std::unique_ptr<Event>> syncEvents_;
  std::unique_ptr<PinnedMemory> syncMemory_;
  std::map<int, std::uint32_t*> syncWords_;
  std::map<int, std::unique_ptr<Service>> service_;
};

}  // namespace p2p
