// Set-up work on memory: of a GPU, of a pool, of the host.
#include "clock.h"
#include "driver_library.h"
#include "objects.h"
#include "setup_costs.h"

namespace p2p {

namespace {

constexpr std::uint64_t kLimitNs = 10'000'000'000;

// What the two halves of a repetition took.
struct Halves {
  double done;
  double undone;
};

// Times a call and what takes it back, one beside the other: both are needed in any case.
template <typename Do, typename Undo>
Halves timeBoth(Do work, const char* workName, Undo undo, const char* undoName) {
  const std::uint64_t t0 = nowNs();
  const cu::Result made = work();
  const std::uint64_t t1 = nowNs();
  check(made, workName);
  const std::uint64_t t2 = nowNs();
  const cu::Result unmade = undo();
  const std::uint64_t t3 = nowNs();
  check(unmade, undoName);
  return {static_cast<double>(t1 - t0), static_cast<double>(t3 - t2)};
}

// malloc: cuMemAlloc. free: cuMemFree of memory that no work uses.
class DeviceMalloc : public SetupWork {
 public:
  DeviceMalloc(std::uint64_t bytes, bool undo) : bytes_(bytes), undo_(undo) {}

  double once() override {
    cu::DevicePtr address = 0;
    const Halves halves = timeBoth([&] { return driver().cuMemAlloc_v2(&address, bytes_); }, "cuMemAlloc_v2",
                                   [&] { return driver().cuMemFree_v2(address); }, "cuMemFree_v2");
    return undo_ ? halves.undone : halves.done;
  }

 private:
  std::size_t bytes_;
  bool undo_;
};

// host-malloc: cuMemHostAlloc, portable. host-free: cuMemFreeHost.
class HostMalloc : public SetupWork {
 public:
  HostMalloc(std::uint64_t bytes, bool undo) : bytes_(bytes), undo_(undo) {
    requireHostMemory(bytes, "pinned");
  }

  double once() override {
    void* data = nullptr;
    const Halves halves =
        timeBoth([&] { return driver().cuMemHostAlloc(&data, bytes_, cu::kMemHostAllocPortable); },
                 "cuMemHostAlloc", [&] { return driver().cuMemFreeHost(data); }, "cuMemFreeHost");
    return undo_ ? halves.undone : halves.done;
  }

 private:
  std::size_t bytes_;
  bool undo_;
};

// host-register: cuMemHostRegister, portable, of pages that were touched. host-unregister:
// cuMemHostUnregister.
class HostRegister : public SetupWork {
 public:
  HostRegister(std::uint64_t bytes, bool undo) : memory_(bytes), bytes_(bytes), undo_(undo) {}

  double once() override {
    const Halves halves = timeBoth(
        [&] { return driver().cuMemHostRegister_v2(memory_.data(), bytes_, cu::kMemHostAllocPortable); },
        "cuMemHostRegister_v2", [&] { return driver().cuMemHostUnregister(memory_.data()); },
        "cuMemHostUnregister");
    return undo_ ? halves.undone : halves.done;
  }

 private:
  PageableMemory memory_;
  std::size_t bytes_;
  bool undo_;
};

// A pool of its own that keeps what is freed into it: what a program pays that allocates again and again.
class Pool {
 public:
  Pool(int gpu) {
    cu::MemoryPoolProps props{};
    props.allocType = cu::kAllocationPinned;
    props.location = {cu::kLocationDevice, gpu};
    P2P_CALL_OPTIONAL(cuMemPoolCreate, &handle_, &props);
    std::uint64_t keep = UINT64_MAX;
    const cu::Result kept = present(driver().cuMemPoolSetAttribute, "cuMemPoolSetAttribute")(
        handle_, cu::kPoolReleaseThreshold, &keep);
    if (kept == cu::kSuccess) return;
    noteRelease(driver().cuMemPoolDestroy(handle_));
    check(kept, "cuMemPoolSetAttribute");
  }
  ~Pool() { noteRelease(driver().cuMemPoolDestroy(handle_)); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  cu::MemoryPool handle() const { return handle_; }

 private:
  cu::MemoryPool handle_ = nullptr;
};

void waitFor(const Stream& stream) {
  check(stream.poll(nowNs() + kLimitNs), "cuStreamQuery");
}

// pool-malloc: cuMemAllocFromPoolAsync. pool-free: cuMemFreeAsync. The stream is idle before either and
// complete before the next, so that the pool has what it needs from the second repetition on.
class PoolMalloc : public SetupWork {
 public:
  PoolMalloc(const SetupContext& context, std::uint64_t bytes, bool undo)
      : pool_(context->gpu()), stream_(context), bytes_(bytes), undo_(undo) {
    (void)present(driver().cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync");
    (void)present(driver().cuMemFreeAsync, "cuMemFreeAsync");
  }

  double once() override {
    cu::DevicePtr address = 0;
    const Halves halves = timeBoth(
        [&] { return driver().cuMemAllocFromPoolAsync(&address, bytes_, pool_.handle(), stream_.handle()); },
        "cuMemAllocFromPoolAsync", [&] { return driver().cuMemFreeAsync(address, stream_.handle()); },
        "cuMemFreeAsync");
    waitFor(stream_);
    return undo_ ? halves.undone : halves.done;
  }

 private:
  Pool pool_;
  Stream stream_;
  std::size_t bytes_;
  bool undo_;
};

// pool-access: cuMemPoolSetAccess, read and write for this GPU, of a pool on the peer that holds one
// allocation. Taken back (no access) after each.
class PoolAccess : public SetupWork {
 public:
  PoolAccess(const SetupContext& context, int owner, std::uint64_t bytes)
      : gpu_(context->gpu()), owner_(DeviceContext::of(owner)), bytes_(bytes) {
    (void)present(driver().cuMemPoolSetAccess, "cuMemPoolSetAccess");
    (void)present(driver().cuMemFreeAsync, "cuMemFreeAsync");
    const CurrentContext current(*owner_);
    pool_ = std::make_unique<Pool>(owner);
    stream_ = std::make_unique<Stream>(owner_);
    P2P_CALL_OPTIONAL(cuMemAllocFromPoolAsync, &address_, bytes, pool_->handle(), stream_->handle());
    try {
      waitFor(*stream_);
    } catch (...) {
      noteRelease(driver().cuMemFreeAsync(address_, stream_->handle()));
      throw;
    }
  }

  ~PoolAccess() override {
    cu::Context popped = nullptr;
    noteRelease(driver().cuCtxPushCurrent_v2(owner_->handle()));
    noteRelease(driver().cuMemFreeAsync(address_, stream_->handle()));
    noteRelease(driver().cuStreamSynchronize(stream_->handle()));
    stream_.reset();
    pool_.reset();
    noteRelease(driver().cuCtxPopCurrent_v2(&popped));
  }

  double once() override {
    const cu::MemoryAccessDesc grant{{cu::kLocationDevice, gpu_}, cu::kAccessReadWrite};
    const cu::MemoryAccessDesc none{{cu::kLocationDevice, gpu_}, cu::kAccessNone};
    const std::uint64_t t0 = nowNs();
    const cu::Result granted = driver().cuMemPoolSetAccess(pool_->handle(), &grant, 1);
    const std::uint64_t t1 = nowNs();
    check(granted, "cuMemPoolSetAccess");
    P2P_CALL(cuMemPoolSetAccess, pool_->handle(), &none, 1);
    return static_cast<double>(t1 - t0);
  }

  std::string checked() const override {
    return "the pool on GPU " + std::to_string(owner_->gpu()) + " held " + std::to_string(bytes_) +
           " bytes; the access of GPU " + std::to_string(gpu_) + " was taken back after each grant";
  }

 private:
  int gpu_;
  SetupContext owner_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Stream> stream_;
  cu::DevicePtr address_ = 0;
  std::uint64_t bytes_;
};

}  // namespace

std::unique_ptr<SetupWork> setupOfMemory(const SetupRequest& request, const SetupContext& context) {
  const std::uint64_t bytes = request.bytes;
  switch (request.kind) {
    case SetupKind::kMalloc:
    case SetupKind::kFree:
      return std::make_unique<DeviceMalloc>(bytes, request.kind == SetupKind::kFree);
    case SetupKind::kPoolMalloc:
    case SetupKind::kPoolFree:
      return std::make_unique<PoolMalloc>(context, bytes, request.kind == SetupKind::kPoolFree);
    case SetupKind::kPoolAccess:
      return std::make_unique<PoolAccess>(context, request.peer, bytes);
    case SetupKind::kHostMalloc:
    case SetupKind::kHostFree:
      return std::make_unique<HostMalloc>(bytes, request.kind == SetupKind::kHostFree);
    default:
      return std::make_unique<HostRegister>(bytes, request.kind == SetupKind::kHostUnregister);
  }
}

}  // namespace p2p
