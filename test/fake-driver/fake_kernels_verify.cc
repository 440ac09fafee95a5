// The kernels that write and compare the pattern of a verification.
#include <algorithm>

#include "../../native/pattern.h"
#include "fake_kernels.h"

using namespace fake;

namespace {

// Goes over so many bytes a piece at a time; the work has room for each.
template <typename Work>
void inPieces(std::uint64_t bytes, const Work& work) {
  constexpr std::uint64_t kPiece = 1 << 20;
  std::vector<std::uint8_t> piece;
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(std::min(kPiece, bytes - at));
    work(at, piece);
  }
}

const Kernel kFill("p2p_fill", [](Launch& launch) {
  const auto bytes = launch.value<std::uint64_t>(1);
  const auto seed = launch.value<std::uint64_t>(2);
  const auto offset = launch.value<std::uint64_t>(3);
  const bool complement = launch.value<std::uint32_t>(4) != 0;
  const View view = launch.view(0, bytes);
  inPieces(bytes, [&](std::uint64_t at, std::vector<std::uint8_t>& piece) {
    for (std::uint64_t i = 0; i < piece.size(); ++i) {
      const std::uint64_t index = offset + at + i;
      piece[i] = complement ? p2p::sentinelByte(seed, index) : p2p::patternByte(seed, index);
    }
    view.write(at, piece.data(), piece.size());
  });
});

const Kernel kCheck("p2p_check", [](Launch& launch) {
  const auto bytes = launch.value<std::uint64_t>(1);
  const auto seed = launch.value<std::uint64_t>(2);
  const auto offset = launch.value<std::uint64_t>(3);
  const View view = launch.view(0, bytes);
  std::uint64_t wrong = 0;
  inPieces(bytes, [&](std::uint64_t at, std::vector<std::uint8_t>& piece) {
    view.read(at, piece.data(), piece.size());
    for (std::uint64_t i = 0; i < piece.size(); ++i)
      wrong += piece[i] != p2p::patternByte(seed, offset + at + i);
  });
  launch.view(4, sizeof wrong).add(wrong);
});

}  // namespace
