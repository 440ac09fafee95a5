#include "ipc_memory.h"

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

// Memory of another process, open for a scope.
class Opened {
 public:
  explicit Opened(const cu::IpcMemoryHandle& handle) {
    P2P_CALL(cuIpcOpenMemHandle_v2, &address_, handle, cu::kIpcLazyEnablePeerAccess);
  }
  ~Opened() { noteRelease(driver().cuIpcCloseMemHandle(address_)); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  cu::DevicePtr address() const { return address_; }

 private:
  cu::DevicePtr address_ = 0;
};

}  // namespace

ExportedMemory::ExportedMemory(int gpu, std::uint64_t bytes)
    : context_(DeviceContext::of(gpu)), bytes_(bytes) {
  memory_ = std::make_unique<DeviceMemory>(context_, bytes);
  const CurrentContext current(*context_);
  const Stream stream(context_);
  cu::DevicePtr data = memory_->address();
  std::uint64_t length = bytes;
  std::uint64_t seed = kSeed;
  std::uint64_t offset = 0;
  std::uint32_t complement = 0;
  void* arguments[] = {&data, &length, &seed, &offset, &complement};
  constexpr unsigned kThreads = 256;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(
      bytes / kThreads, 1, static_cast<std::uint64_t>(context_->multiprocessors()) * 8));
  P2P_CALL(cuLaunchKernel, context_->kernel(Kernel::kFill), blocks, 1, 1, kThreads, 1, 1, 0, stream.handle(),
           arguments, nullptr);
  waitFor(stream);
  P2P_CALL(cuIpcGetMemHandle, &handle_, memory_->address());
}

std::uint64_t wrongBytesOf(const cu::IpcMemoryHandle& handle, std::uint64_t bytes,
                           const std::shared_ptr<DeviceContext>& context) {
  const PinnedMemory piece(context, std::min<std::size_t>(bytes, kPieceBytes));
  const Stream stream(context);
  const Opened opened(handle);
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
    const std::size_t length = std::min<std::uint64_t>(kPieceBytes, bytes - at);
    P2P_CALL(cuMemcpyAsync, reinterpret_cast<cu::DevicePtr>(piece.data()), opened.address() + at, length,
             stream.handle());
    waitFor(stream);
    wrong += comparePattern(piece.data(), length, kSeed, at).wrong;
  }
  return wrong;
}

}  // namespace p2p
