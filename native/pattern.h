// The bytes that verification sends, the same for host code and for kernels.cu: byte i of seed s is byte (i
// mod 8) of a 64-bit mix of s and (i div 8), so that a shifted, swapped or repeated piece is as wrong as a
// missing one.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define P2P_HOST_DEVICE __host__ __device__
#else
#define P2P_HOST_DEVICE
#endif

namespace p2p {

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) over a Weyl sequence that the seed sets
// apart.
P2P_HOST_DEVICE inline std::uint64_t patternWord(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = (seed * 0xD1342543DE82EF95u) ^ ((index + 1) * 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

P2P_HOST_DEVICE inline std::uint8_t patternByte(std::uint64_t seed, std::uint64_t offset) {
  return static_cast<std::uint8_t>(patternWord(seed, offset >> 3) >> (8 * (offset & 7)));
}

// What stands in a destination beforehand: the complement of what should arrive, so that no byte that was not
// written can pass for one that was.
P2P_HOST_DEVICE inline std::uint8_t sentinelByte(std::uint64_t seed, std::uint64_t offset) {
  return static_cast<std::uint8_t>(~patternByte(seed, offset));
}

}  // namespace p2p
