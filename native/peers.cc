#include "peers.h"

#include "context.h"
#include "driver_library.h"

namespace p2p {

Peers& Peers::instance() {
  static Peers& once = *new Peers();
  return once;
}

bool Peers::set(const PeerWish& wish) {
  const std::lock_guard lock(mutex_);
  return apply(wish);
}

Peers::InFlight Peers::hold(const std::vector<PeerWish>& wishes) {
  const std::lock_guard lock(mutex_);
  for (const PeerWish& wish : wishes) apply(wish);
  ++inFlight_;
  return InFlight(*this);
}

Peers::InFlight::~InFlight() {
  if (!peers_) return;
  const std::lock_guard lock(peers_->mutex_);
  --peers_->inFlight_;
}

bool Peers::apply(const PeerWish& wish) {
  const int from = wish.from->gpu();
  const int to = wish.to->gpu();
  if (from == to)
    throw usage("GPU " + std::to_string(from) + " is no peer of itself", "Name two different GPUs.");
  State& state = states_[{from, to}];
  const State wanted = wish.enabled ? State::kOn : State::kOff;
  if (state == wanted) return false;
  if (inFlight_ > 0) {
    throw usage("peer access from GPU " + std::to_string(from) + " to GPU " + std::to_string(to) +
                    " cannot change while a call is in flight",
                "Wait for the other run to end, or cancel it.");
  }
  const CurrentContext current(*wish.from);
  const char* call = wish.enabled ? "cuCtxEnablePeerAccess" : "cuCtxDisablePeerAccess";
  const cu::Result result = wish.enabled ? driver().cuCtxEnablePeerAccess(wish.to->handle(), 0)
                                         : driver().cuCtxDisablePeerAccess(wish.to->handle());
  // Another library of the process may have set it before us: as wanted, so no failure.
  const cu::Result already = wish.enabled ? cu::kPeerAccessAlreadyEnabled : cu::kPeerAccessNotEnabled;
  if (result != already) {
    if (result != cu::kSuccess) {
      throw cudaFailure(result, call,
                        "(GPU " + std::to_string(from) + " to the memory of GPU " + std::to_string(to) + ")");
    }
  }
  state = wanted;
  return result == cu::kSuccess;
}

void Peers::forget(int gpu) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(states_,
                [gpu](const auto& entry) { return entry.first.first == gpu || entry.first.second == gpu; });
}

}  // namespace p2p
