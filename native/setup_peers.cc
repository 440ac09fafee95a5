// Set-up work by which one GPU or process gets at memory of another.
#include <memory>
#include <string>

#include "clock.h"
#include "driver_library.h"
#include "ipc_memory.h"
#include "objects.h"
#include "peers.h"
#include "setup_costs.h"

namespace p2p {

namespace {

// peer-enable: cuCtxEnablePeerAccess while access is off. peer-enable-again: the same while it is on (the
// driver answers CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED). peer-disable: cuCtxDisablePeerAccess while it is
// on.
class PeerAccess : public SetupWork {
 public:
  PeerAccess(const SetupRequest& request, const SetupContext& context)
      : kind_(request.kind), from_(context), to_(DeviceContext::of(request.peer)) {
    begin();
    end();
  }

  void begin() override { change_ = std::make_unique<Peers::Change>(Peers::instance(), from_, to_); }
  void end() noexcept override { change_.reset(); }

  double once() override {
    const std::uint64_t t0 = nowNs();
    const cu::Result enabled = change_->enable();
    const std::uint64_t t1 = nowNs();
    check(enabled, "cuCtxEnablePeerAccess");
    std::uint64_t t2 = 0;
    std::uint64_t t3 = 0;
    if (kind_ == SetupKind::kPeerEnableAgain) {
      t2 = nowNs();
      const cu::Result again = change_->enable();
      t3 = nowNs();
      if (again != cu::kPeerAccessAlreadyEnabled) check(again, "cuCtxEnablePeerAccess");
    }
    const std::uint64_t t4 = nowNs();
    const cu::Result disabled = change_->disable();
    const std::uint64_t t5 = nowNs();
    check(disabled, "cuCtxDisablePeerAccess");
    if (kind_ == SetupKind::kPeerEnable) return static_cast<double>(t1 - t0);
    if (kind_ == SetupKind::kPeerEnableAgain) return static_cast<double>(t3 - t2);
    return static_cast<double>(t5 - t4);
  }

  std::string checked() const override {
    return "access of GPU " + std::to_string(from_->gpu()) + " to the memory of GPU " +
           std::to_string(to_->gpu()) + " was off before each repetition, and is afterwards as it was";
  }

 private:
  SetupKind kind_;
  SetupContext from_;
  SetupContext to_;
  std::unique_ptr<Peers::Change> change_;
};

// ipc-export: cuIpcGetMemHandle of an allocation that was never exported before.
class IpcExport : public SetupWork {
 public:
  IpcExport(const SetupContext& context, std::uint64_t bytes) : context_(context), bytes_(bytes) {}

  double once() override {
    const DeviceMemory memory(context_, bytes_);
    cu::IpcMemoryHandle handle{};
    const std::uint64_t t0 = nowNs();
    const cu::Result exported = driver().cuIpcGetMemHandle(&handle, memory.address());
    const std::uint64_t t1 = nowNs();
    check(exported, "cuIpcGetMemHandle");
    return static_cast<double>(t1 - t0);
  }

 private:
  SetupContext context_;
  std::uint64_t bytes_;
};

// ipc-open: cuIpcOpenMemHandle of memory that another process exported. ipc-open-again: the same while it is
// open, of which the driver only keeps count. ipc-close: cuIpcCloseMemHandle of what was open once.
class IpcOpen : public SetupWork {
 public:
  IpcOpen(const SetupRequest& request, const SetupContext& context)
      : request_(request), wrong_(wrongBytesOf(request.handle, request.bytes, context)) {
    if (wrong_ == 0 && request.kind == SetupKind::kIpcOpenAgain)
      held_ = std::make_unique<OpenedMemory>(context, request.handle);
    if (wrong_ == 0) return;
    throw usage(
        std::to_string(wrong_) + " bytes of the memory that another process exported are wrong",
        "Opened memory must show what its owner wrote; look at the driver's version and the kernel log.");
  }

  double once() override {
    cu::DevicePtr address = 0;
    const std::uint64_t t0 = nowNs();
    const cu::Result opened =
        driver().cuIpcOpenMemHandle_v2(&address, request_.handle, cu::kIpcLazyEnablePeerAccess);
    const std::uint64_t t1 = nowNs();
    check(opened, "cuIpcOpenMemHandle_v2");
    const std::uint64_t t2 = nowNs();
    const cu::Result closed = driver().cuIpcCloseMemHandle(address);
    const std::uint64_t t3 = nowNs();
    check(closed, "cuIpcCloseMemHandle");
    return static_cast<double>(request_.kind == SetupKind::kIpcClose ? t3 - t2 : t1 - t0);
  }

  std::string checked() const override {
    return "another process opened the memory and read all " + std::to_string(request_.bytes) +
           " bytes as the owner wrote them";
  }

 private:
  SetupRequest request_;
  std::uint64_t wrong_;
  std::unique_ptr<OpenedMemory> held_;
};

}  // namespace

std::unique_ptr<SetupWork> setupOfPeers(const SetupRequest& request, const SetupContext& context) {
  switch (request.kind) {
    case SetupKind::kIpcExport:
      return std::make_unique<IpcExport>(context, request.bytes);
    case SetupKind::kIpcOpen:
    case SetupKind::kIpcOpenAgain:
    case SetupKind::kIpcClose:
      return std::make_unique<IpcOpen>(request, context);
    default:
      return std::make_unique<PeerAccess>(request, context);
  }
}

}  // namespace p2p
