// A probe in plain C++: what the arrays of NativeProbeRows in kernel/lab/native.ts say, checked completely.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe_layout.h"
#include "program.h"

namespace p2p {

enum class ProbeKind { kLoad = 0, kPingPong = 1, kAtomic = 2, kFence = 3, kMessages = 4 };

struct ProbeRows {
  ProbeKind kind = ProbeKind::kLoad;
  // One buffer; ping-pong: the flags that side 0 and side 1 poll; message passing: data and flag.
  std::vector<BufferRow> buffers;
  // GPU of each kernel: one, or two for ping-pong and message passing.
  std::vector<int> gpus;
  std::vector<PeerRow> peers;

  // Accesses or rounds of one repetition.
  std::uint64_t accesses = 0;
  // load
  std::uint64_t footprint = 0;
  std::uint64_t stride = 0;
  bool random = false;
  bool cold = false;
  bool everySm = false;
  // ping-pong
  FlagStore store = FlagStore::kVolatile;
  // atomic
  AtomicOperation operation = AtomicOperation::kAdd;
  bool system = false;
  // fence, message passing
  FenceScope scope = FenceScope::kNone;
  // fence
  std::uint64_t stores = 0;

  std::uint64_t nodes() const { return footprint / stride; }
  // Bytes of each buffer that the probe touches.
  std::uint64_t touched() const;
  bool paired() const { return kind == ProbeKind::kPingPong || kind == ProbeKind::kMessages; }
};

// The arrays as they come from JavaScript.
struct ProbeArrays {
  double kind;
  std::span<const double> buffers;
  std::span<const std::int32_t> gpus;
  std::span<const std::int32_t> peers;
  std::span<const double> parameters;
};

// Reads the arrays. Throws a kUsage failure that names the field and what is wrong with it.
ProbeRows readProbe(const ProbeArrays& arrays);

}  // namespace p2p
