#include "fake_context.h"

#include <map>
#include <mutex>
#include <vector>

#include "fake_calls.h"
#include "fake_gpus.h"
#include "fake_settings.h"

using namespace p2p::cu;

namespace fake {

namespace {

struct Contexts {
  std::mutex mutex;
  std::map<int, CUctx_st> byGpu;

  Contexts() {
    countAlive("contexts", [this] {
      const std::lock_guard lock(mutex);
      std::size_t live = 0;
      for (const auto& [gpu, context] : byGpu) live += static_cast<std::size_t>(context.references);
      return live;
    });
  }
};

Contexts& contexts() {
  static Contexts& once = *new Contexts();
  return once;
}

thread_local std::vector<CUctx_st*> current;

}  // namespace

CUctx_st* currentContext() {
  return current.empty() ? nullptr : current.back();
}

Result currentState() {
  const CUctx_st* const own = currentContext();
  return own ? own->broken.load() : kInvalidContext;
}

bool peering(int from, int to) {
  const std::lock_guard lock(contexts().mutex);
  const auto it = contexts().byGpu.find(from);
  return it != contexts().byGpu.end() && it->second.peers.contains(to);
}

}  // namespace fake

using namespace fake;

extern "C" {

Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
  ENTER("cuDevicePrimaryCtxRetain");
  if (device < 0 || device >= deviceCount()) return kInvalidDevice;
  const std::lock_guard lock(contexts().mutex);
  CUctx_st& own = contexts().byGpu[device];
  own.gpu = device;
  ++own.references;
  *context = &own;
  return kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(Device device) {
  ENTER("cuDevicePrimaryCtxRelease_v2");
  const std::lock_guard lock(contexts().mutex);
  CUctx_st& own = contexts().byGpu[device];
  if (own.references <= 0) return kInvalidContext;
  // A context that broke stays so for the life of the process.
  if (--own.references == 0) own.peers.clear();
  return kSuccess;
}

Result cuCtxSetCurrent(Context context) {
  ENTER("cuCtxSetCurrent");
  if (!current.empty()) current.pop_back();
  if (context) current.push_back(context);
  return kSuccess;
}

Result cuCtxPushCurrent_v2(Context context) {
  ENTER("cuCtxPushCurrent_v2");
  current.push_back(context);
  return kSuccess;
}

Result cuCtxPopCurrent_v2(Context* context) {
  ENTER("cuCtxPopCurrent_v2");
  if (current.empty()) return kInvalidContext;
  *context = current.back();
  current.pop_back();
  return kSuccess;
}

Result cuCtxEnablePeerAccess(Context peer, unsigned) {
  ENTER("cuCtxEnablePeerAccess");
  if (const Result state = currentState()) return state;
  CUctx_st* const own = currentContext();
  if (own == peer || !peer) return kInvalidValue;
  if (faulty(Fault::kNoPeer, own->gpu, peer->gpu)) return kPeerAccessUnsupported;
  const std::lock_guard lock(contexts().mutex);
  if (own->peers.contains(peer->gpu)) return kPeerAccessAlreadyEnabled;
  if (static_cast<long>(own->peers.size()) >= number("P2PLAB_FAKE_MAX_PEERS", 8)) return kTooManyPeers;
  own->peers.insert(peer->gpu);
  return kSuccess;
}

Result cuCtxDisablePeerAccess(Context peer) {
  ENTER("cuCtxDisablePeerAccess");
  if (const Result state = currentState()) return state;
  const std::lock_guard lock(contexts().mutex);
  return currentContext()->peers.erase(peer->gpu) ? kSuccess : kPeerAccessNotEnabled;
}

}  // extern "C"
