// Everything a probe needs on the driver's side, and the launches and waits that all kinds of probes share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "objects.h"
#include "pool_memory.h"
#include "probe_layout.h"
#include "probe_rows.h"
#include "vmm_memory.h"

namespace p2p {

class ProbeResources {
 public:
  explicit ProbeResources(const ProbeRows& probe);
  ProbeResources(const ProbeResources&) = delete;
  ProbeResources& operator=(const ProbeResources&) = delete;

  const std::shared_ptr<DeviceContext>& context(int gpu) const { return contexts_.at(gpu); }
  cu::DevicePtr address(std::size_t buffer) const { return addresses_[buffer]; }
  // The buffer as host memory; only for host buffers.
  std::byte* host(std::size_t buffer) const { return reinterpret_cast<std::byte*>(addresses_[buffer]); }
  // Stream of the probe's kernel of a side.
  const Stream& stream(std::size_t side) const { return *streams_[side]; }
  // For what goes on beside the probe's kernels.
  const Stream& service(int gpu) const { return *services_.at(gpu).stream; }
  // Two words of a GPU for what a kernel of its own counts.
  cu::DevicePtr words(int gpu) const { return services_.at(gpu).words->address(); }
  // A word of a GPU for a barrier of message passing.
  cu::DevicePtr barrier(int gpu, std::size_t side) const { return words(gpu) + 16 + 8 * side; }

  // In page-locked host memory.
  ProbeReport& report(std::size_t side) const { return shared().reports[side]; }
  ProbeMeeting& meeting() const { return shared().meeting; }
  std::uint64_t* hostBarrier(std::size_t side) const { return &shared().barriers[16 * side]; }
  // Clears reports and meeting before a launch.
  void reset() const;

  void launch(int gpu, const Stream& stream, Kernel kernel, unsigned blocks, unsigned threads,
              std::span<void*> arguments) const;
  // Enough blocks and threads for `count` pieces of work, at most what fills the GPU.
  void launchWide(int gpu, Kernel kernel, std::uint64_t count, std::span<void*> arguments) const;
  // Polls a stream until it is complete. Throws what the stream answers, or CUDA_ERROR_NOT_READY after the
  // deadline (nanoseconds from now).
  void wait(const Stream& stream, std::uint64_t limitNs, const char* what) const;

  // Puts a word into memory of any place, through its owner; and reads words back through it.
  void put(std::size_t buffer, std::uint64_t value, std::uint64_t limitNs) const;
  void putAt(int gpu, cu::DevicePtr address, std::uint64_t value, std::uint64_t limitNs) const;
  std::uint64_t readWord(int gpu, cu::DevicePtr address, std::uint64_t limitNs) const;
  std::vector<std::uint64_t> readBack(std::size_t buffer, std::size_t count, std::uint64_t limitNs) const;
  // The two result words of a GPU after a kernel that counts into them, which `launch` starts.
  template <typename Launch>
  std::pair<std::uint64_t, std::uint64_t> counted(int gpu, std::uint64_t limitNs, Launch launch) const {
    clearWords(gpu, limitNs);
    launch();
    return readWords(gpu, limitNs);
  }

  // Polls all streams; kSuccess, kNotReady when `deadlineNs` (of nowNs) passed first, or what a stream
  // answers.
  cu::Result drain(std::uint64_t deadlineNs) const;

 private:
  // How the kernels and the host share one piece of page-locked memory; a line of its own for each part.
  struct Shared {
    alignas(128) ProbeReport reports[2];
    alignas(128) ProbeMeeting meeting;
    alignas(128) std::uint64_t barriers[32];
    alignas(128) std::uint64_t words[1024];
  };
  struct Service {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<DeviceMemory> words;
  };

  void addDeviceMemory(const BufferRow& buffer);
  Shared& shared() const { return *reinterpret_cast<Shared*>(shared_->data()); }
  void clearWords(int gpu, std::uint64_t limitNs) const;
  std::pair<std::uint64_t, std::uint64_t> readWords(int gpu, std::uint64_t limitNs) const;

  const ProbeRows& probe_;
  // Destroyed from the last to the first: contexts outlive all that lives in them.
  std::map<int, std::shared_ptr<DeviceContext>> contexts_;
  std::vector<std::unique_ptr<DeviceMemory>> deviceMemory_;
  std::vector<std::unique_ptr<PoolMemory>> poolMemory_;
  std::vector<std::unique_ptr<VmmMemory>> vmmMemory_;
  std::vector<std::unique_ptr<PinnedMemory>> pinnedMemory_;
  std::unique_ptr<PinnedMemory> shared_;
  std::vector<cu::DevicePtr> addresses_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::map<int, Service> services_;
};

}  // namespace p2p
