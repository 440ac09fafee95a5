// Peer access between primary contexts: one process-wide record of every ordered pair, so that programs that
// want it on and programs that want it off can take turns.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace p2p {

class DeviceContext;

// One wish: whether `from` may access the memory of `to`.
struct PeerWish {
  std::shared_ptr<DeviceContext> from;
  std::shared_ptr<DeviceContext> to;
  bool enabled;
};

class Peers {
 public:
  static Peers& instance();

  // Turns access on or off; true when it changed. Throws a kUsage failure while a call is in flight.
  bool set(const PeerWish& wish);

  // Work that relies on peer access staying as it is. Copyable tokens would be counted wrongly, so it only
  // moves.
  class InFlight {
   public:
    explicit InFlight(Peers& peers) : peers_(&peers) {}
    InFlight(InFlight&& other) noexcept : peers_(std::exchange(other.peers_, nullptr)) {}
    InFlight& operator=(InFlight&&) = delete;
    InFlight(const InFlight&) = delete;
    ~InFlight();

   private:
    Peers* peers_;
  };

  // Makes every wish true, changing pairs only when nothing else is in flight, and holds them until the token
  // dies.
  InFlight hold(const std::vector<PeerWish>& wishes);

  // A primary context was released: its peer access is gone with it.
  void forget(int gpu) noexcept;

 private:
  enum class State { kUnknown, kOff, kOn };

  bool apply(const PeerWish& wish);

  std::mutex mutex_;
  std::map<std::pair<int, int>, State> states_;
  int inFlight_ = 0;
};

}  // namespace p2p
