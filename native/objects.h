// Driver objects that release themselves. Each keeps its context alive; none can be copied.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <utility>

#include "context.h"
#include "cuda_api.h"

namespace p2p {

// Throws a kUsage failure when the host has not that much memory available. Linux grants more than it has and
// kills the process that touches it, so that one must ask before.
void requireHostMemory(std::size_t bytes, const char* kind);

// Memory of a GPU.
class DeviceMemory {
 public:
  DeviceMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  cu::DevicePtr address() const { return address_; }
  const std::shared_ptr<DeviceContext>& context() const { return context_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  cu::DevicePtr address_ = 0;
};

// Page-locked host memory, usable by all contexts.
class PinnedMemory {
 public:
  PinnedMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

// Ordinary host memory, page-aligned and touched, so that no page fault falls into a timed iteration.
class PageableMemory {
 public:
  explicit PageableMemory(std::size_t bytes);

  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

// Page-locks memory of somebody else for as long as it lives, for all contexts.
class RegisteredMemory {
 public:
  RegisteredMemory(std::shared_ptr<DeviceContext> context, std::byte* data, std::size_t bytes);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

 private:
  std::shared_ptr<DeviceContext> context_;
  std::byte* data_;
};

// Memory that the driver moves to whoever touches it; reached by all contexts and the host.
class ManagedMemory {
 public:
  ManagedMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes);
  ~ManagedMemory();
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }

 private:
  std::shared_ptr<DeviceContext> context_;
  cu::DevicePtr address_ = 0;
};

// A non-blocking stream: it never waits for the default stream.
class Stream {
 public:
  explicit Stream(std::shared_ptr<DeviceContext> context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cu::Stream handle() const { return handle_; }
  const std::shared_ptr<DeviceContext>& context() const { return context_; }

  // Asks until the stream is complete, giving way to other threads between: what cuStreamQuery answers, and
  // kNotReady when `deadlineNs` (of nowNs()) has passed first; 0 asks once.
  cu::Result poll(std::uint64_t deadlineNs) const noexcept;

 private:
  std::shared_ptr<DeviceContext> context_;
  cu::Stream handle_ = nullptr;
};

// An event; without timing it is the cheapest to record and wait for.
class Event {
 public:
  explicit Event(std::shared_ptr<DeviceContext> context, bool timing = false);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cu::Event handle() const { return handle_; }
  const std::shared_ptr<DeviceContext>& context() const { return context_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  cu::Event handle_ = nullptr;
};

static_assert(!std::is_copy_constructible_v<DeviceMemory> && !std::is_move_constructible_v<DeviceMemory>);
static_assert(!std::is_copy_constructible_v<PinnedMemory> && !std::is_move_constructible_v<PinnedMemory>);
static_assert(!std::is_copy_constructible_v<PageableMemory>);
static_assert(!std::is_copy_constructible_v<Stream> && !std::is_move_constructible_v<Stream>);
static_assert(!std::is_copy_constructible_v<Event> && !std::is_move_constructible_v<Event>);

}  // namespace p2p
