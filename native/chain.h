// The chain that a load probe follows, as the host knows it: which node each node leads to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace p2p {

class Chain {
 public:
  // In order, or in one random cycle through all nodes (S. Sattolo, Inf. Proc. Letters 22, 1986) of a fixed
  // seed: every node is visited exactly once a lap, and a prefetcher that knows strides has nothing to guess.
  Chain(std::uint64_t nodes, bool random);

  std::uint64_t nodes() const { return nodes_; }
  // Empty in order.
  const std::vector<std::uint32_t>& table() const { return next_; }
  // The node after so many steps from another.
  std::uint64_t walk(std::uint64_t node, std::uint64_t steps) const;
  std::uint64_t next(std::uint64_t node) const {
    return next_.empty() ? (node + 1 == nodes_ ? 0 : node + 1) : next_[node];
  }

 private:
  std::uint64_t nodes_;
  std::vector<std::uint32_t> next_;
};

// Writes the cache line of an address back to memory and drops it from the CPU's caches; false where this CPU
// has no instruction for that.
bool flushLine(const void* address);

}  // namespace p2p
