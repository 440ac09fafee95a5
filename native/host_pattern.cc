#include "host_pattern.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "host_thread.h"
#include "pattern.h"

namespace p2p {

static_assert(std::endian::native == std::endian::little, "whole words of the pattern are stored at once");

namespace {

// Below this a thread costs more than it saves.
constexpr std::size_t kLeastPart = std::size_t{1} << 20;
constexpr std::size_t kMostThreads = 16;

// Cuts a stretch into parts that begin at whole words of the pattern, and works on them side by side; where
// the host grants no more threads, on this one.
template <typename Work>
std::size_t inParts(std::size_t bytes, const Work& work) {
  // Of the process: what the library says of the hardware may be of this thread, which is bound to one CPU.
  const std::size_t most = std::min<std::size_t>(usableCpus(), kMostThreads);
  const std::size_t parts = std::clamp<std::size_t>(bytes / kLeastPart, 1, most);
  const std::size_t part = (bytes / parts) & ~std::size_t{7};
  const auto run = [&](std::size_t index) {
    const std::size_t from = index * part;
    work(index, from, index + 1 == parts ? bytes - from : part);
  };
  std::optional<UnpinnedThread> unpinned;
  if (parts > 1) unpinned.emplace();
  std::vector<std::thread> threads;
  std::size_t next = 1;
  try {
    for (; next < parts; ++next) threads.emplace_back([&run, next] { run(next); });
  } catch (const std::system_error&) {
    // The parts that found no thread are done below.
  }
  run(0);
  for (; next < parts; ++next) run(next);
  for (std::thread& thread : threads) thread.join();
  return parts;
}

void fillPart(std::byte* data, std::size_t bytes, std::uint64_t seed, std::uint64_t offset, bool complement) {
  std::size_t i = 0;
  while (i < bytes) {
    if (((offset + i) & 7) == 0 && bytes - i >= 8) {
      std::uint64_t word = patternWord(seed, (offset + i) >> 3);
      if (complement) word = ~word;
      std::memcpy(data + i, &word, 8);
      i += 8;
    } else {
      const std::uint8_t byte = complement ? sentinelByte(seed, offset + i) : patternByte(seed, offset + i);
      data[i++] = std::byte{byte};
    }
  }
}

Difference comparePart(const std::byte* data, std::size_t bytes, std::uint64_t seed, std::uint64_t offset) {
  Difference difference;
  std::size_t i = 0;
  while (i < bytes) {
    std::size_t length = 1;
    if (((offset + i) & 7) == 0 && bytes - i >= 8) {
      std::uint64_t word;
      std::memcpy(&word, data + i, 8);
      length = 8;
      if (word == patternWord(seed, (offset + i) >> 3)) {
        i += length;
        continue;
      }
    }
    for (const std::size_t end = i + length; i < end; ++i) {
      const auto byte = std::to_integer<std::uint8_t>(data[i]);
      if (byte == patternByte(seed, offset + i)) continue;
      if (difference.wrong++ == 0) difference.firstWrong = static_cast<std::int64_t>(i);
      if (byte == sentinelByte(seed, offset + i)) ++difference.sentinel;
    }
  }
  return difference;
}

}  // namespace

void fillPattern(std::byte* data, std::size_t bytes, std::uint64_t seed, std::uint64_t offset,
                 bool complement) {
  inParts(bytes, [&](std::size_t, std::size_t from, std::size_t length) {
    fillPart(data + from, length, seed, offset + from, complement);
  });
}

Difference comparePattern(const std::byte* data, std::size_t bytes, std::uint64_t seed,
                          std::uint64_t offset) {
  std::vector<Difference> found(kMostThreads);
  std::vector<std::size_t> starts(kMostThreads);
  const std::size_t parts = inParts(bytes, [&](std::size_t index, std::size_t from, std::size_t length) {
    starts[index] = from;
    found[index] = comparePart(data + from, length, seed, offset + from);
  });
  Difference total;
  for (std::size_t i = 0; i < parts; ++i) {
    total.wrong += found[i].wrong;
    total.sentinel += found[i].sentinel;
    if (total.firstWrong < 0 && found[i].firstWrong >= 0)
      total.firstWrong = static_cast<std::int64_t>(starts[i]) + found[i].firstWrong;
  }
  return total;
}

}  // namespace p2p
