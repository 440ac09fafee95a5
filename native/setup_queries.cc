// Set-up work that asks the driver and changes nothing.
#include <string>

#include "clock.h"
#include "driver_library.h"
#include "objects.h"
#include "setup_costs.h"

namespace p2p {

namespace {

// peer-query: cuDeviceCanAccessPeer. peer-attribute: cuDeviceGetP2PAttribute, the performance rank.
class PeerQuery : public SetupWork {
 public:
  explicit PeerQuery(const SetupRequest& request)
      : kind_(request.kind), from_(deviceOf(request.gpu)), to_(deviceOf(request.peer)) {
    if (request.gpu == request.peer) throw usage("a GPU is no peer of itself", "Name two different GPUs.");
  }

  double once() override {
    const bool asksAccess = kind_ == SetupKind::kPeerQuery;
    const std::uint64_t t0 = nowNs();
    const cu::Result result =
        asksAccess ? driver().cuDeviceCanAccessPeer(&answer_, from_, to_)
                   : driver().cuDeviceGetP2PAttribute(&answer_, cu::kPeerPerformanceRank, from_, to_);
    const std::uint64_t t1 = nowNs();
    check(result, asksAccess ? "cuDeviceCanAccessPeer" : "cuDeviceGetP2PAttribute");
    return static_cast<double>(t1 - t0);
  }

  std::string checked() const override {
    return (kind_ == SetupKind::kPeerQuery ? "peer access possible: " : "performance rank: ") +
           std::to_string(answer_);
  }

 private:
  SetupKind kind_;
  cu::Device from_;
  cu::Device to_;
  int answer_ = 0;
};

// pointer-query: cuPointerGetAttribute of the GPU that owns an address of device memory.
class PointerQuery : public SetupWork {
 public:
  explicit PointerQuery(const SetupContext& context) : memory_(context, kBytes) {}

  double once() override {
    const std::uint64_t t0 = nowNs();
    const cu::Result result =
        driver().cuPointerGetAttribute(&owner_, cu::kPointerDeviceOrdinal, memory_.address());
    const std::uint64_t t1 = nowNs();
    check(result, "cuPointerGetAttribute");
    return static_cast<double>(t1 - t0);
  }

  std::string checked() const override { return "the address belongs to GPU " + std::to_string(owner_); }

 private:
  static constexpr std::size_t kBytes = 4096;
  DeviceMemory memory_;
  int owner_ = -1;
};

}  // namespace

std::unique_ptr<SetupWork> setupOfQueries(const SetupRequest& request, const SetupContext& context) {
  if (request.kind == SetupKind::kPointerQuery) return std::make_unique<PointerQuery>(context);
  return std::make_unique<PeerQuery>(request);
}

}  // namespace p2p
