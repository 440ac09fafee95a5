// The pattern of pattern.h written and compared on the host, by several threads where it is long.
#pragma once

#include <cstddef>
#include <cstdint>

namespace p2p {

// Host versions of p2p_fill and p2p_check.
void fillPattern(std::byte* data, std::size_t bytes, std::uint64_t seed, std::uint64_t offset,
                 bool complement);

struct Difference {
  std::uint64_t wrong = 0;
  std::uint64_t sentinel = 0;
  std::int64_t firstWrong = -1;
};
Difference comparePattern(const std::byte* data, std::size_t bytes, std::uint64_t seed, std::uint64_t offset);

}  // namespace p2p
