// Peer access between primary contexts: one process-wide record of every ordered pair, so that programs that
// want it on and programs that want it off can take turns.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda_api.h"

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

  // Whether `from` may access the memory of `to` now, as far as it was set here.
  bool enabled(int from, int to);

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
  // dies. Where a GPU has all the peers that it can have, one that an earlier hold turned on makes room.
  InFlight hold(const std::vector<PeerWish>& wishes);

  // The right to turn access from one GPU to another on and off by hand, as measuring those calls does. While
  // it lives nothing can be held or set; when it dies access is as it was. Throws a kUsage failure while a
  // call is in flight.
  class Change {
   public:
    Change(Peers& peers, std::shared_ptr<DeviceContext> from, std::shared_ptr<DeviceContext> to);
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

    // The driver calls, with nothing around them; the context of `from` must be current. What the driver
    // answers is the caller's to judge.
    cu::Result enable() const;
    cu::Result disable() const;

   private:
    Peers& peers_;
    std::shared_ptr<DeviceContext> from_;
    std::shared_ptr<DeviceContext> to_;
    bool wasOn_ = false;
  };

  // A primary context was released: its peer access is gone with it.
  void forget(int gpu) noexcept;

 private:
  enum class State { kUnknown, kOff, kOn };

  // `program`: all wishes of a hold; null for one that was asked for by itself.
  bool apply(const PeerWish& wish, const std::vector<PeerWish>* program);
  // Turns off one pair from the GPU that no wish of the program needs; its context must be current.
  bool makeRoom(int from, const std::vector<PeerWish>& program);
  void requireNoChange() const;

  std::mutex mutex_;
  std::map<std::pair<int, int>, State> states_;
  // Pairs that holds turned on, and whose memory they reach.
  std::map<std::pair<int, int>, std::weak_ptr<DeviceContext>> lent_;
  int inFlight_ = 0;
  bool changing_ = false;
};

}  // namespace p2p
