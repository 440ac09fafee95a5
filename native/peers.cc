#include "peers.h"

#include <algorithm>
#include <string>

#include "context.h"
#include "driver_library.h"

namespace p2p {

Peers& Peers::instance() {
  static Peers& once = *new Peers();
  return once;
}

bool Peers::set(const PeerWish& wish) {
  const std::lock_guard lock(mutex_);
  requireNoChange();
  const bool changed = apply(wish, nullptr);
  // What was asked for by itself stays on: no run makes room by it.
  lent_.erase({wish.from->gpu(), wish.to->gpu()});
  return changed;
}

bool Peers::enabled(int from, int to) {
  const std::lock_guard lock(mutex_);
  const auto it = states_.find({from, to});
  return it != states_.end() && it->second == State::kOn;
}

Peers::InFlight Peers::hold(const std::vector<PeerWish>& wishes) {
  const std::lock_guard lock(mutex_);
  requireNoChange();
  for (const PeerWish& wish : wishes) apply(wish, &wishes);
  ++inFlight_;
  return InFlight(*this);
}

Peers::InFlight::~InFlight() {
  if (!peers_) return;
  const std::lock_guard lock(peers_->mutex_);
  --peers_->inFlight_;
}

bool Peers::apply(const PeerWish& wish, const std::vector<PeerWish>* program) {
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
  const auto ask = [&wish] {
    return wish.enabled ? driver().cuCtxEnablePeerAccess(wish.to->handle(), 0)
                        : driver().cuCtxDisablePeerAccess(wish.to->handle());
  };
  cu::Result result = ask();
  while (result == cu::kTooManyPeers && program && makeRoom(from, *program)) result = ask();
  // Another library of the process may have set it before us: as wanted, so no failure.
  const cu::Result already = wish.enabled ? cu::kPeerAccessAlreadyEnabled : cu::kPeerAccessNotEnabled;
  if (result != already) {
    if (result != cu::kSuccess) {
      throw cudaFailure(result, call,
                        "(GPU " + std::to_string(from) + " to the memory of GPU " + std::to_string(to) + ")");
    }
  }
  state = wanted;
  if (program && wish.enabled && result == cu::kSuccess) {
    lent_[{from, to}] = wish.to;
  } else if (!wish.enabled) {
    lent_.erase({from, to});
  }
  return result == cu::kSuccess;
}

bool Peers::makeRoom(int from, const std::vector<PeerWish>& program) {
  for (auto it = lent_.begin(); it != lent_.end(); ++it) {
    const auto [pair, other] = *it;
    const bool wanted = std::any_of(program.begin(), program.end(), [&pair](const PeerWish& wish) {
      return wish.enabled && pair == std::pair(wish.from->gpu(), wish.to->gpu());
    });
    const std::shared_ptr<DeviceContext> to = other.lock();
    if (pair.first != from || wanted || !to) continue;
    if (driver().cuCtxDisablePeerAccess(to->handle()) != cu::kSuccess) continue;
    states_[pair] = State::kOff;
    lent_.erase(it);
    return true;
  }
  return false;
}

void Peers::requireNoChange() const {
  if (changing_)
    throw usage("peer access is being turned on and off by a measurement",
                "Wait for it to end, or cancel it.");
}

Peers::Change::Change(Peers& peers, std::shared_ptr<DeviceContext> from, std::shared_ptr<DeviceContext> to)
    : peers_(peers), from_(std::move(from)), to_(std::move(to)) {
  const std::lock_guard lock(peers_.mutex_);
  peers_.requireNoChange();
  if (from_->gpu() == to_->gpu())
    throw usage("GPU " + std::to_string(from_->gpu()) + " is no peer of itself", "Name two different GPUs.");
  if (peers_.inFlight_ > 0)
    throw usage("peer access cannot change while a call is in flight",
                "Wait for the other run to end, or cancel it.");
  // Turned off to learn how it is: another library of the process may have turned it on.
  const CurrentContext current(*from_);
  const cu::Result result = disable();
  if (result != cu::kPeerAccessNotEnabled) check(result, "cuCtxDisablePeerAccess");
  wasOn_ = result == cu::kSuccess;
  peers_.changing_ = true;
}

Peers::Change::~Change() {
  const std::lock_guard lock(peers_.mutex_);
  const cu::EntryPoints& entries = driver();
  cu::Context popped = nullptr;
  noteRelease(entries.cuCtxPushCurrent_v2(from_->handle()));
  const cu::Result result = wasOn_ ? enable() : disable();
  noteRelease(entries.cuCtxPopCurrent_v2(&popped));
  const bool restored = result == cu::kSuccess ||
                        result == (wasOn_ ? cu::kPeerAccessAlreadyEnabled : cu::kPeerAccessNotEnabled);
  if (!restored) noteRelease(result);
  const State state = wasOn_ ? State::kOn : State::kOff;
  peers_.states_[{from_->gpu(), to_->gpu()}] = restored ? state : State::kUnknown;
  peers_.changing_ = false;
}

cu::Result Peers::Change::enable() const {
  return driver().cuCtxEnablePeerAccess(to_->handle(), 0);
}

cu::Result Peers::Change::disable() const {
  return driver().cuCtxDisablePeerAccess(to_->handle());
}

void Peers::forget(int gpu) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(states_,
                [gpu](const auto& entry) { return entry.first.first == gpu || entry.first.second == gpu; });
  std::erase_if(lent_,
                [gpu](const auto& entry) { return entry.first.first == gpu || entry.first.second == gpu; });
}

}  // namespace p2p
