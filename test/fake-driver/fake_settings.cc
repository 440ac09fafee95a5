#include "fake_settings.h"

#include <time.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "fake_gpus.h"

namespace fake {

namespace {

std::set<std::string> words(const std::string& list) {
  std::set<std::string> all;
  std::stringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) all.insert(word);
  return all;
}

const char* nameOf(Fault fault) {
  switch (fault) {
    case Fault::kNoPeer:
      return "no-peer";
    case Fault::kMirror:
      return "mirror";
    case Fault::kZeroWrite:
      return "zero-write";
    case Fault::kHang:
      return "hang";
    case Fault::kLostFlag:
      return "lost-flag";
    case Fault::kCorrupt:
      return "corrupt";
  }
  return "?";
}

}  // namespace

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

long number(const char* name, long otherwise) {
  const std::string text = setting(name);
  return text.empty() ? otherwise : std::strtol(text.c_str(), nullptr, 10);
}

std::uint64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

bool faulty(Fault fault, int from, int to) {
  static const std::set<std::string>& modes = *new auto(words(setting("P2PLAB_FAKE_MODE")));
  static const std::set<std::string>& pairs = *new auto(words(setting("P2PLAB_FAKE_PAIRS")));
  if (!modes.contains(nameOf(fault))) return false;
  return pairs.empty() || pairs.contains(std::to_string(placeOf(from)) + ">" + std::to_string(placeOf(to)));
}

std::size_t corruptOffset() {
  static const auto once = static_cast<std::size_t>(number("P2PLAB_FAKE_CORRUPT_AT", 0));
  return once;
}

std::uint64_t copyNs() {
  static const auto once = static_cast<std::uint64_t>(number("P2PLAB_FAKE_DELAY_NS", 0));
  return once;
}

}  // namespace fake
