// Set-up work on events, streams and modules.
#include "clock.h"
#include "driver_library.h"
#include "kernels_ptx.h"
#include "setup_costs.h"

namespace p2p {

namespace {

// event-create: cuEventCreate without timing. event-destroy: cuEventDestroy of an event that was never
// recorded.
double timeEvent(bool undo) {
  cu::Event event = nullptr;
  const std::uint64_t t0 = nowNs();
  const cu::Result made = driver().cuEventCreate(&event, cu::kEventDisableTiming);
  const std::uint64_t t1 = nowNs();
  check(made, "cuEventCreate");
  const std::uint64_t t2 = nowNs();
  const cu::Result unmade = driver().cuEventDestroy_v2(event);
  const std::uint64_t t3 = nowNs();
  check(unmade, "cuEventDestroy_v2");
  return static_cast<double>(undo ? t3 - t2 : t1 - t0);
}

// stream-create: cuStreamCreate, non-blocking. stream-destroy: cuStreamDestroy of a stream without work.
double timeStream(bool undo) {
  cu::Stream stream = nullptr;
  const std::uint64_t t0 = nowNs();
  const cu::Result made = driver().cuStreamCreate(&stream, cu::kStreamNonBlocking);
  const std::uint64_t t1 = nowNs();
  check(made, "cuStreamCreate");
  const std::uint64_t t2 = nowNs();
  const cu::Result unmade = driver().cuStreamDestroy_v2(stream);
  const std::uint64_t t3 = nowNs();
  check(unmade, "cuStreamDestroy_v2");
  return static_cast<double>(undo ? t3 - t2 : t1 - t0);
}

// module-load: cuModuleLoadDataEx of the addon's own PTX; the driver compiles it for the GPU, or finds it in
// its cache on disk, as it does from the second time on. module-unload: cuModuleUnload.
double timeModule(bool undo) {
  cu::Module module = nullptr;
  const std::uint64_t t0 = nowNs();
  const cu::Result made = driver().cuModuleLoadDataEx(&module, kKernelsPtx, 0, nullptr, nullptr);
  const std::uint64_t t1 = nowNs();
  check(made, "cuModuleLoadDataEx");
  const std::uint64_t t2 = nowNs();
  const cu::Result unmade = driver().cuModuleUnload(module);
  const std::uint64_t t3 = nowNs();
  check(unmade, "cuModuleUnload");
  return static_cast<double>(undo ? t3 - t2 : t1 - t0);
}

class ObjectWork : public SetupWork {
 public:
  explicit ObjectWork(SetupKind kind) : kind_(kind) {}

  double once() override {
    switch (kind_) {
      case SetupKind::kEventCreate:
      case SetupKind::kEventDestroy:
        return timeEvent(kind_ == SetupKind::kEventDestroy);
      case SetupKind::kStreamCreate:
      case SetupKind::kStreamDestroy:
        return timeStream(kind_ == SetupKind::kStreamDestroy);
      default:
        return timeModule(kind_ == SetupKind::kModuleUnload);
    }
  }

 private:
  SetupKind kind_;
};

}  // namespace

std::unique_ptr<SetupWork> setupOfObjects(const SetupRequest& request, const SetupContext&) {
  return std::make_unique<ObjectWork>(request.kind);
}

}  // namespace p2p
