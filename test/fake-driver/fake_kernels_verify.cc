// The kernels that write and compare the pattern of a verification.
#include "../../native/pattern.h"
#include "fake_kernels.h"

using namespace fake;

namespace {

const Kernel kFill("p2p_fill", [](Launch& launch) {
  const auto bytes = launch.value<std::uint64_t>(1);
  const auto seed = launch.value<std::uint64_t>(2);
  const auto offset = launch.value<std::uint64_t>(3);
  const bool complement = launch.value<std::uint32_t>(4) != 0;
  std::vector<std::uint8_t> pattern(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i)
    pattern[i] = complement ? p2p::sentinelByte(seed, offset + i) : p2p::patternByte(seed, offset + i);
  launch.view(0, bytes).write(0, pattern.data(), bytes);
});

const Kernel kCheck("p2p_check", [](Launch& launch) {
  const auto bytes = launch.value<std::uint64_t>(1);
  const auto seed = launch.value<std::uint64_t>(2);
  const auto offset = launch.value<std::uint64_t>(3);
  std::vector<std::uint8_t> found(bytes);
  launch.view(0, bytes).read(0, found.data(), bytes);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) wrong += found[i] != p2p::patternByte(seed, offset + i);
  launch.view(4, sizeof wrong).add(wrong);
});

}  // namespace
