#include "chain.h"

#include <numeric>

#include "pattern.h"

namespace p2p {

namespace {

// Uniform in [0, below): the 32 high bits of a 64-bit mix times the bound (Lemire 2019, without its
// rejection, which for such bounds would matter once in thousands of millions).
class Shuffle {
 public:
  std::uint64_t below(std::uint64_t bound) { return ((patternWord(kSeed, count_++) >> 32) * bound) >> 32; }

 private:
  static constexpr std::uint64_t kSeed = 20;
  std::uint64_t count_ = 0;
};

}  // namespace

Chain::Chain(std::uint64_t nodes, bool random) : nodes_(nodes) {
  if (!random) return;
  next_.resize(nodes);
  std::iota(next_.begin(), next_.end(), 0u);
  Shuffle shuffle;
  // Swapping with an earlier place, never with itself, is what makes it one cycle.
  for (std::uint64_t i = nodes - 1; i > 0; --i) std::swap(next_[i], next_[shuffle.below(i)]);
}

std::uint64_t Chain::walk(std::uint64_t node, std::uint64_t steps) const {
  if (next_.empty()) return (node + steps) % nodes_;
  for (steps %= nodes_; steps > 0; --steps) node = next_[node];
  return node;
}

bool flushLine([[maybe_unused]] const void* address) {
#if defined(__x86_64__)
  __builtin_ia32_clflush(address);
  return true;
#elif defined(__aarch64__)
  asm volatile("dc civac, %0" ::"r"(address) : "memory");
  return true;
#else
  return false;
#endif
}

}  // namespace p2p
