#include "probe_rows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "errors.h"

namespace p2p {

namespace {

constexpr double kMaxSafeInteger = 9007199254740991.0;
constexpr double kMaxOrdinal = 1023;
constexpr std::size_t kMaxPeers = 4096;
constexpr double kMaxAccesses = 1e8;
constexpr double kMaxStores = 1024;
// The table of a random chain is shuffled on the host, 4 bytes a node.
constexpr double kMaxNodes = 64.0 * 1024 * 1024;

Failure wrong(const std::string& what) {
  return usage("probe: " + what, "Build programs with lab.program(), which checks them.");
}

double number(const std::string& name, double value, double low, double high) {
  if (value >= low && value <= high && value == std::floor(value)) return value;
  throw wrong(name + " is " + std::to_string(value) + ", not a whole number from " +
              std::to_string(static_cast<long long>(low)) + " to " +
              std::to_string(static_cast<long long>(high)));
}

// Parameters of a kind, in the order that native.ts gives.
class Parameters {
 public:
  Parameters(std::span<const double> cells, std::size_t count) : cells_(cells) {
    if (cells.size() != count)
      throw wrong("there are " + std::to_string(cells.size()) + " parameters, not " + std::to_string(count));
  }

  std::uint64_t next(const char* name, double low, double high) {
    return static_cast<std::uint64_t>(number(name, cells_[at_++], low, high));
  }
  bool flag(const char* name) { return next(name, 0, 1) == 1; }

 private:
  std::span<const double> cells_;
  std::size_t at_ = 0;
};

void readParameters(ProbeRows& probe, std::span<const double> cells) {
  switch (probe.kind) {
    case ProbeKind::kLoad: {
      Parameters parameters(cells, 6);
      probe.accesses = parameters.next("accesses", 1, kMaxAccesses);
      probe.footprint = parameters.next("footprint", 16, kMaxSafeInteger);
      probe.stride = parameters.next("stride", 8, kMaxSafeInteger);
      probe.random = parameters.flag("random");
      probe.cold = parameters.flag("cold");
      probe.everySm = parameters.flag("every SM");
      if (probe.stride % 8 != 0) throw wrong("the stride is not a multiple of 8");
      number("the number of nodes (footprint / stride)", static_cast<double>(probe.nodes()), 2, kMaxNodes);
      break;
    }
    case ProbeKind::kPingPong: {
      Parameters parameters(cells, 2);
      probe.accesses = parameters.next("rounds", 1, kMaxAccesses);
      probe.store = static_cast<FlagStore>(parameters.next("store", 0, 2));
      break;
    }
    case ProbeKind::kAtomic: {
      Parameters parameters(cells, 3);
      probe.accesses = parameters.next("accesses", 1, kMaxAccesses);
      probe.operation = static_cast<AtomicOperation>(parameters.next("operation", 0, 2));
      probe.system = parameters.flag("system scope");
      break;
    }
    case ProbeKind::kFence: {
      Parameters parameters(cells, 3);
      probe.accesses = parameters.next("accesses", 1, kMaxAccesses);
      probe.scope = static_cast<FenceScope>(parameters.next("scope", 1, 3));
      probe.stores = parameters.next("stores", 0, kMaxStores);
      break;
    }
    case ProbeKind::kMessages: {
      Parameters parameters(cells, 2);
      probe.accesses = parameters.next("rounds", 1, kMaxAccesses);
      const std::uint64_t scope = parameters.next("scope", 0, 3);
      if (scope == static_cast<std::uint64_t>(FenceScope::kBlock))
        throw wrong("a fence of one block orders nothing between two");
      probe.scope = static_cast<FenceScope>(scope);
      break;
    }
  }
}

void requireReachable(const ProbeRows& probe) {
  const auto enabled = [&](int from, int to) {
    return std::any_of(probe.peers.begin(), probe.peers.end(), [&](const PeerRow& peer) {
      return peer.from == from && peer.to == to && peer.enabled;
    });
  };
  for (const BufferRow& buffer : probe.buffers) {
    if (buffer.place != Place::kDevice) continue;
    for (const int gpu : probe.gpus) {
      if (gpu == buffer.gpu || enabled(gpu, buffer.gpu)) continue;
      throw wrong("a kernel on GPU " + std::to_string(gpu) + " uses memory of GPU " +
                  std::to_string(buffer.gpu) + ", but peer access is not enabled");
    }
  }
}

}  // namespace

std::uint64_t ProbeRows::touched() const {
  if (kind == ProbeKind::kLoad) return nodes() * stride;
  return kind == ProbeKind::kFence ? std::max<std::uint64_t>(8, stores * 8) : 8;
}

ProbeRows readProbe(const ProbeArrays& arrays) {
  ProbeRows probe;
  probe.kind = static_cast<ProbeKind>(static_cast<int>(number("kind", arrays.kind, 0, 4)));
  readParameters(probe, arrays.parameters);

  const std::size_t parts = probe.paired() ? 2 : 1;
  if (arrays.buffers.size() != 3 * parts)
    throw wrong("buffers has " + std::to_string(arrays.buffers.size()) + " elements, not " +
                std::to_string(parts) + " rows of 3");
  for (std::size_t i = 0; i < parts; ++i) {
    const std::span<const double> row = arrays.buffers.subspan(3 * i, 3);
    BufferRow buffer{};
    // As in a program: 0 cuMemAlloc, 1 pinned, 2 pageable, 3 pool, 4 virtual memory.
    const int place = static_cast<int>(number("place", row[0], 0, 4));
    if (place == 2) throw wrong("a kernel cannot reach pageable host memory");
    buffer.place = place == 1 ? Place::kPinned : Place::kDevice;
    buffer.allocator = place == 3 ? Allocator::kPool : place == 4 ? Allocator::kVmm : Allocator::kMalloc;
    buffer.gpu =
        buffer.place == Place::kDevice ? static_cast<int>(number("GPU", row[1], 0, kMaxOrdinal)) : -1;
    buffer.bytes = static_cast<std::uint64_t>(number("bytes", row[2], 8, kMaxSafeInteger));
    if (probe.touched() > buffer.bytes)
      throw wrong(std::to_string(probe.touched()) + " bytes do not fit in a buffer of " +
                  std::to_string(buffer.bytes));
    probe.buffers.push_back(buffer);
  }
  if (arrays.gpus.size() != parts)
    throw wrong("gpus has " + std::to_string(arrays.gpus.size()) + " elements, not " + std::to_string(parts));
  for (const std::int32_t gpu : arrays.gpus)
    probe.gpus.push_back(static_cast<int>(number("GPU of a kernel", gpu, 0, kMaxOrdinal)));
  if (arrays.peers.size() % 3 != 0 || arrays.peers.size() / 3 > kMaxPeers)
    throw wrong("peers has " + std::to_string(arrays.peers.size()) + " elements, not rows of 3");
  for (std::size_t i = 0; i < arrays.peers.size(); i += 3) {
    const PeerRow peer{static_cast<int>(number("accessing GPU", arrays.peers[i], 0, kMaxOrdinal)),
                       static_cast<int>(number("owning GPU", arrays.peers[i + 1], 0, kMaxOrdinal)),
                       number("enabled", arrays.peers[i + 2], 0, 1) == 1};
    if (peer.from == peer.to) throw wrong("a GPU is no peer of itself");
    probe.peers.push_back(peer);
  }
  requireReachable(probe);
  return probe;
}

}  // namespace p2p
