#include "setup_costs.h"

#include "clock.h"
#include "devices.h"
#include "errors.h"
#include "host_thread.h"

namespace p2p {

namespace {

std::unique_ptr<SetupWork> workOf(const SetupRequest& request, const SetupContext& context) {
  switch (request.kind) {
    case SetupKind::kMalloc:
    case SetupKind::kFree:
    case SetupKind::kPoolMalloc:
    case SetupKind::kPoolFree:
    case SetupKind::kPoolAccess:
    case SetupKind::kHostMalloc:
    case SetupKind::kHostFree:
    case SetupKind::kHostRegister:
    case SetupKind::kHostUnregister:
      return setupOfMemory(request, context);
    case SetupKind::kVmmCreate:
    case SetupKind::kVmmMap:
    case SetupKind::kVmmAccess:
    case SetupKind::kVmmUnmap:
    case SetupKind::kVmmExport:
    case SetupKind::kVmmImport:
      return setupOfVmm(request, context);
    case SetupKind::kPeerEnable:
    case SetupKind::kPeerEnableAgain:
    case SetupKind::kPeerDisable:
    case SetupKind::kIpcExport:
    case SetupKind::kIpcOpen:
    case SetupKind::kIpcOpenAgain:
    case SetupKind::kIpcClose:
      return setupOfPeers(request, context);
    case SetupKind::kPeerQuery:
    case SetupKind::kPeerAttribute:
    case SetupKind::kPointerQuery:
      return setupOfQueries(request, context);
    case SetupKind::kGraphCapture:
    case SetupKind::kGraphInstantiate:
    case SetupKind::kGraphUpdate:
      return setupOfGraphs(request, context);
    case SetupKind::kEventCreate:
    case SetupKind::kEventDestroy:
    case SetupKind::kStreamCreate:
    case SetupKind::kStreamDestroy:
    case SetupKind::kModuleLoad:
    case SetupKind::kModuleUnload:
      return setupOfObjects(request, context);
  }
  throw usage("no such kind of set-up work", "Use a word of SETUP_KINDS.");
}

}  // namespace

std::string missingOf(const SetupRequest& request) {
  switch (request.kind) {
    case SetupKind::kPeerEnable:
    case SetupKind::kPeerEnableAgain:
    case SetupKind::kPeerDisable:
    case SetupKind::kPeerQuery:
    case SetupKind::kPeerAttribute:
      return request.peer < 0 ? "peer" : "";
    case SetupKind::kPoolAccess:
    case SetupKind::kVmmAccess:
      if (request.peer < 0) return "peer";
      return request.bytes == 0 ? "bytes" : "";
    case SetupKind::kGraphCapture:
    case SetupKind::kGraphInstantiate:
    case SetupKind::kGraphUpdate:
      return request.nodes == 0 ? "nodes" : "";
    case SetupKind::kPointerQuery:
    case SetupKind::kEventCreate:
    case SetupKind::kEventDestroy:
    case SetupKind::kStreamCreate:
    case SetupKind::kStreamDestroy:
    case SetupKind::kModuleLoad:
    case SetupKind::kModuleUnload:
      return "";
    default:
      return request.bytes == 0 ? "bytes" : "";
  }
}

SetupCosts::SetupCosts(const SetupRequest& request)
    : context_(DeviceContext::of(request.gpu)), numaNode_(numaNodeOf(request.gpu)) {
  const PinnedThread thread(numaNode_);
  const CurrentContext current(*context_);
  work_ = workOf(request, context_);
}

std::shared_ptr<void> SetupCosts::begin() {
  if (!work_) throw usage("the set-up work is closed", "Prepare it again.");
  if (busy_.exchange(true, std::memory_order_acquire))
    throw usage("another call of this set-up work is in flight", "Wait for it to end, or cancel it.");
  cancelled_.store(false, std::memory_order_relaxed);
  return {&busy_, [](std::atomic<bool>* busy) { busy->store(false, std::memory_order_release); }};
}

SetupCosts::Timing SetupCosts::time(const std::shared_ptr<void>&, std::size_t repetitions, double budgetMs) {
  struct Batch {
    SetupWork& work;
    explicit Batch(SetupWork& of) : work(of) { work.begin(); }
    ~Batch() { work.end(); }
  };
  Timing timing;
  timing.ns.reserve(repetitions);
  const PinnedThread thread(numaNode_);
  const CurrentContext current(*context_);
  const Batch batch(*work_);
  const std::uint64_t limit = nowNs() + static_cast<std::uint64_t>(budgetMs * 1e6);
  while (timing.ns.size() < repetitions && !cancelled_.load(std::memory_order_relaxed)) {
    timing.ns.push_back(work_->once());
    if (nowNs() >= limit) break;
  }
  timing.cancelled = cancelled_.load(std::memory_order_relaxed);
  return timing;
}

std::string SetupCosts::checked() const {
  return work_ ? work_->checked() : "";
}

void SetupCosts::close() {
  if (busy())
    throw usage("set-up work cannot be closed while a call is in flight", "Cancel the call and wait for it.");
  if (!work_) return;
  {
    const CurrentContext current(*context_);
    work_.reset();
  }
  // An object that JavaScript still knows when the process exits is never destroyed.
  context_.reset();
}

}  // namespace p2p
