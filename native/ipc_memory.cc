#include "ipc_memory.h"

#include <unistd.h>

#include <algorithm>

#include "clock.h"
#include "driver_library.h"
#include "verify.h"

namespace p2p {

namespace {

constexpr std::uint64_t kLimitNs = 10'000'000'000;
constexpr std::uint64_t kSeed = 0x1bc;
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

// Polls; what is not complete after 10 s throws kNotReady.
void waitFor(const Stream& stream) {
  check(stream.poll(nowNs() + kLimitNs), "cuStreamQuery");
}

void fill(cu::DevicePtr data, std::uint64_t length, const std::shared_ptr<DeviceContext>& context) {
  const CurrentContext current(*context);
  const Stream stream(context);
  std::uint64_t seed = kSeed;
  std::uint64_t offset = 0;
  std::uint32_t complement = 0;
  void* arguments[] = {&data, &length, &seed, &offset, &complement};
  constexpr unsigned kThreads = 256;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(
      length / kThreads, 1, static_cast<std::uint64_t>(context->multiprocessors()) * 8));
  P2P_CALL(cuLaunchKernel, context->kernel(Kernel::kFill), blocks, 1, 1, kThreads, 1, 1, 0, stream.handle(),
           arguments, nullptr);
  waitFor(stream);
}

}  // namespace

ExportedMemory::ExportedMemory(int gpu, std::uint64_t bytes, ExportKind kind)
    : context_(DeviceContext::of(gpu)), bytes_(bytes) {
  const CurrentContext current(*context_);
  if (kind == ExportKind::kIpc) {
    memory_ = std::make_unique<DeviceMemory>(context_, bytes);
  } else {
    physical_ = std::make_unique<PhysicalMemory>(context_, vmmSize(gpu, bytes), true);
    range_ = std::make_unique<AddressRange>(physical_->bytes());
    mapping_ = std::make_unique<MemoryMapping>(*range_, *physical_);
    mapping_->allow(gpu, true);
  }
  fill(address(), bytes, context_);
  if (kind == ExportKind::kIpc)
    P2P_CALL(cuIpcGetMemHandle, &handle_, address());
  else
    P2P_CALL(cuMemExportToShareableHandle, &file_, physical_->handle(), cu::kHandlePosixFile, 0);
}

ExportedMemory::~ExportedMemory() {
  if (file_ >= 0) close(file_);
}

std::uint64_t ExportedMemory::changedBytes() const {
  const CurrentContext current(*context_);
  return wrongBytesAt(address(), bytes_, context_);
}

OpenedMemory::OpenedMemory(std::shared_ptr<DeviceContext> context, const cu::IpcMemoryHandle& handle)
    : context_(std::move(context)) {
  const CurrentContext current(*context_);
  P2P_CALL(cuIpcOpenMemHandle_v2, &address_, handle, cu::kIpcLazyEnablePeerAccess);
}

OpenedMemory::~OpenedMemory() {
  const cu::EntryPoints& entries = driver();
  cu::Context popped = nullptr;
  noteRelease(entries.cuCtxPushCurrent_v2(context_->handle()));
  noteRelease(entries.cuIpcCloseMemHandle(address_));
  noteRelease(entries.cuCtxPopCurrent_v2(&popped));
}

std::uint64_t wrongBytesAt(cu::DevicePtr address, std::uint64_t bytes,
                           const std::shared_ptr<DeviceContext>& context) {
  const PinnedMemory piece(context, std::min<std::size_t>(bytes, kPieceBytes));
  const Stream stream(context);
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
    const std::size_t length = std::min<std::uint64_t>(kPieceBytes, bytes - at);
    P2P_CALL(cuMemcpyAsync, reinterpret_cast<cu::DevicePtr>(piece.data()), address + at, length,
             stream.handle());
    waitFor(stream);
    wrong += comparePattern(piece.data(), length, kSeed, at).wrong;
  }
  return wrong;
}

std::uint64_t wrongBytesOf(const cu::IpcMemoryHandle& handle, std::uint64_t bytes,
                           const std::shared_ptr<DeviceContext>& context) {
  const OpenedMemory opened(context, handle);
  return wrongBytesAt(opened.address(), bytes, context);
}

std::uint64_t wrongBytesOf(int file, std::uint64_t bytes, const std::shared_ptr<DeviceContext>& context,
                           int owner) {
  const auto physical = PhysicalMemory::imported(context, vmmSize(owner, bytes), file);
  const AddressRange range(physical->bytes());
  MemoryMapping mapping(range, *physical);
  mapping.allow(context->gpu(), true);
  if (owner != context->gpu()) mapping.allow(owner, true);
  return wrongBytesAt(range.address(), bytes, context);
}

}  // namespace p2p
