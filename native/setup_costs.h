// What making and unmaking driver objects costs the host: one kind of work, done and undone again and again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "context.h"
#include "cuda_api.h"

namespace p2p {

// X(enumerator, word of SETUP_KINDS in kernel/lab/operations.ts). The driver calls inside a sample stand at
// the class that does the work.
#define P2P_SETUP_KINDS(X)                  \
  X(kMalloc, "malloc")                      \
  X(kFree, "free")                          \
  X(kPoolMalloc, "pool-malloc")             \
  X(kPoolFree, "pool-free")                 \
  X(kPoolAccess, "pool-access")             \
  X(kVmmCreate, "vmm-create")               \
  X(kVmmMap, "vmm-map")                     \
  X(kVmmAccess, "vmm-access")               \
  X(kVmmUnmap, "vmm-unmap")                 \
  X(kVmmExport, "vmm-export")               \
  X(kVmmImport, "vmm-import")               \
  X(kHostMalloc, "host-malloc")             \
  X(kHostFree, "host-free")                 \
  X(kHostRegister, "host-register")         \
  X(kHostUnregister, "host-unregister")     \
  X(kPeerEnable, "peer-enable")             \
  X(kPeerEnableAgain, "peer-enable-again")  \
  X(kPeerDisable, "peer-disable")           \
  X(kPeerQuery, "peer-query")               \
  X(kPeerAttribute, "peer-attribute")       \
  X(kPointerQuery, "pointer-query")         \
  X(kIpcExport, "ipc-export")               \
  X(kIpcOpen, "ipc-open")                   \
  X(kIpcOpenAgain, "ipc-open-again")        \
  X(kIpcClose, "ipc-close")                 \
  X(kEventCreate, "event-create")           \
  X(kEventDestroy, "event-destroy")         \
  X(kStreamCreate, "stream-create")         \
  X(kStreamDestroy, "stream-destroy")       \
  X(kGraphCapture, "graph-capture")         \
  X(kGraphInstantiate, "graph-instantiate") \
  X(kGraphUpdate, "graph-update")           \
  X(kModuleLoad, "module-load")             \
  X(kModuleUnload, "module-unload")

enum class SetupKind {
#define P2P_ENUMERATOR(enumerator, word) enumerator,
  P2P_SETUP_KINDS(P2P_ENUMERATOR)
#undef P2P_ENUMERATOR
};

struct SetupRequest {
  SetupKind kind = SetupKind::kMalloc;
  // Where the work is done.
  int gpu = 0;
  // Peer access and its queries, pool and VMM access: the GPU that owns the memory; -1 for the other kinds.
  int peer = -1;
  std::uint64_t bytes = 0;
  unsigned nodes = 0;
  // ipc-open, ipc-open-again and ipc-close: what another process exported, `bytes` of it.
  cu::IpcMemoryHandle handle{};
  // vmm-import: the same as a file descriptor, which stays the caller's; `peer` owns the memory.
  int file = -1;
};

// What a request lacks that its kind needs, such as "bytes"; empty when it is whole.
std::string missingOf(const SetupRequest& request);

// One kind of work, made ready. Its calls run with the context of `gpu` current.
class SetupWork {
 public:
  virtual ~SetupWork() = default;

  // Around a batch of repetitions.
  virtual void begin() {}
  virtual void end() noexcept {}
  // Does the work once and undoes it; nanoseconds of the host in the calls that the kind names. Throws with
  // everything undone that can be.
  virtual double once() = 0;
  // What is known beside the results of the calls: sizes, and what was looked at.
  virtual std::string checked() const { return ""; }
};

using SetupContext = std::shared_ptr<DeviceContext>;
std::unique_ptr<SetupWork> setupOfMemory(const SetupRequest& request, const SetupContext& context);
std::unique_ptr<SetupWork> setupOfVmm(const SetupRequest& request, const SetupContext& context);
std::unique_ptr<SetupWork> setupOfPeers(const SetupRequest& request, const SetupContext& context);
std::unique_ptr<SetupWork> setupOfQueries(const SetupRequest& request, const SetupContext& context);
std::unique_ptr<SetupWork> setupOfObjects(const SetupRequest& request, const SetupContext& context);
std::unique_ptr<SetupWork> setupOfGraphs(const SetupRequest& request, const SetupContext& context);

class SetupCosts {
 public:
  // Retains the context and makes the work ready. Throws with nothing left behind.
  explicit SetupCosts(const SetupRequest& request);
  SetupCosts(const SetupCosts&) = delete;
  SetupCosts& operator=(const SetupCosts&) = delete;

  // The right to make one call, kept while the pointer lives; a second one throws a kUsage failure.
  std::shared_ptr<void> begin();

  struct Timing {
    std::vector<double> ns;
    bool cancelled = false;
  };
  // Repeats the work until `repetitions` are done, `budgetMs` have passed (after at least one), or cancel().
  Timing time(const std::shared_ptr<void>& right, std::size_t repetitions, double budgetMs);

  // Ends the call in flight after its current repetition. May be called from any thread.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool busy() const { return busy_.load(std::memory_order_acquire); }
  std::string checked() const;

  // Frees what the work holds; a second call does nothing. Throws a kUsage failure while a call is in flight.
  void close();

 private:
  SetupContext context_;
  std::unique_ptr<SetupWork> work_;
  int numaNode_ = -1;
  std::atomic<bool> busy_{false};
  std::atomic<bool> cancelled_{false};
};

}  // namespace p2p
