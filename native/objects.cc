#include "objects.h"

#include <sched.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "clock.h"
#include "driver_library.h"

namespace p2p {

namespace {

constexpr std::size_t kPage = 4096;

Failure outOfMemory(cu::Result result, const char* call, std::size_t bytes) {
  return cudaFailure(result, call, "(" + std::to_string(bytes) + " bytes)");
}

}  // namespace

void requireHostMemory(std::size_t bytes, const char* kind) {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kib = 0;
    if (word != "MemAvailable:" || !(file >> kib)) continue;
    if (bytes / 1024 < kib) return;
    throw usage(std::to_string(bytes) + " bytes of " + kind + " memory are more than the " +
                    std::to_string(kib * 1024) + " bytes that the host has available",
                "Use smaller buffers, or close what is no longer needed.");
  }
}

DeviceMemory::DeviceMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes)
    : context_(std::move(context)) {
  const CurrentContext current(*context_);
  if (const cu::Result result = driver().cuMemAlloc_v2(&address_, bytes); result != cu::kSuccess)
    throw outOfMemory(result, "cuMemAlloc_v2", bytes);
}

DeviceMemory::~DeviceMemory() {
  const cu::EntryPoints& entries = driver();
  cu::Context popped = nullptr;
  noteRelease(entries.cuCtxPushCurrent_v2(context_->handle()));
  noteRelease(entries.cuMemFree_v2(address_));
  noteRelease(entries.cuCtxPopCurrent_v2(&popped));
}

PinnedMemory::PinnedMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes)
    : context_(std::move(context)), bytes_(bytes) {
  requireHostMemory(bytes, "pinned");
  const CurrentContext current(*context_);
  void* data = nullptr;
  if (const cu::Result result = driver().cuMemHostAlloc(&data, bytes, cu::kMemHostAllocPortable);
      result != cu::kSuccess)
    throw outOfMemory(result, "cuMemHostAlloc", bytes);
  data_ = static_cast<std::byte*>(data);
}

PinnedMemory::~PinnedMemory() {
  const cu::EntryPoints& entries = driver();
  cu::Context popped = nullptr;
  noteRelease(entries.cuCtxPushCurrent_v2(context_->handle()));
  noteRelease(entries.cuMemFreeHost(data_));
  noteRelease(entries.cuCtxPopCurrent_v2(&popped));
}

PageableMemory::PageableMemory(std::size_t bytes) {
  requireHostMemory(bytes, "pageable");
  // std::aligned_alloc wants a multiple of the alignment; the sum must not wrap.
  const bool fits = bytes <= SIZE_MAX - kPage;
  void* data = fits ? std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage) : nullptr;
  if (!data) {
    throw usage("the host has no " + std::to_string(bytes) + " bytes of pageable memory left",
                "Use smaller buffers, or close what is no longer needed.");
  }
  data_.reset(static_cast<std::byte*>(data));
  std::memset(data, 0, bytes);
}

RegisteredMemory::RegisteredMemory(std::shared_ptr<DeviceContext> context, std::byte* data, std::size_t bytes)
    : context_(std::move(context)), data_(data) {
  const CurrentContext current(*context_);
  if (const cu::Result result = driver().cuMemHostRegister_v2(data_, bytes, cu::kMemHostAllocPortable);
      result != cu::kSuccess)
    throw outOfMemory(result, "cuMemHostRegister_v2", bytes);
}

RegisteredMemory::~RegisteredMemory() {
  const cu::EntryPoints& entries = driver();
  cu::Context popped = nullptr;
  noteRelease(entries.cuCtxPushCurrent_v2(context_->handle()));
  noteRelease(entries.cuMemHostUnregister(data_));
  noteRelease(entries.cuCtxPopCurrent_v2(&popped));
}

ManagedMemory::ManagedMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes)
    : context_(std::move(context)) {
  int concurrent = 0;
  P2P_CALL(cuDeviceGetAttribute, &concurrent, cu::kAttributeConcurrentManagedAccess,
           deviceOf(context_->gpu()));
  if (!concurrent) {
    throw notAvailable("on this machine the host may not touch managed memory while a GPU works",
                       "Use device memory or page-locked memory: cuda.alloc(), cuda.hostAlloc().");
  }
  requireHostMemory(bytes, "managed");
  const CurrentContext current(*context_);
  if (const cu::Result result = driver().cuMemAllocManaged(&address_, bytes, cu::kAttachGlobal);
      result != cu::kSuccess)
    throw outOfMemory(result, "cuMemAllocManaged", bytes);
}

ManagedMemory::~ManagedMemory() {
  const cu::EntryPoints& entries = driver();
  cu::Context popped = nullptr;
  noteRelease(entries.cuCtxPushCurrent_v2(context_->handle()));
  noteRelease(entries.cuMemFree_v2(address_));
  noteRelease(entries.cuCtxPopCurrent_v2(&popped));
}

Stream::Stream(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {
  const CurrentContext current(*context_);
  P2P_CALL(cuStreamCreate, &handle_, cu::kStreamNonBlocking);
}

Stream::~Stream() {
  noteRelease(driver().cuStreamDestroy_v2(handle_));
}

cu::Result Stream::poll(std::uint64_t deadlineNs) const noexcept {
  for (;;) {
    const cu::Result result = driver().cuStreamQuery(handle_);
    if (result != cu::kNotReady || nowNs() >= deadlineNs) return result;
    sched_yield();
  }
}

Event::Event(std::shared_ptr<DeviceContext> context, bool timing) : context_(std::move(context)) {
  const CurrentContext current(*context_);
  P2P_CALL(cuEventCreate, &handle_, timing ? 0u : cu::kEventDisableTiming);
}

Event::~Event() {
  noteRelease(driver().cuEventDestroy_v2(handle_));
}

}  // namespace p2p
