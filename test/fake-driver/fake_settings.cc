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

// The ordered faults; one with a reason (no-peer:topology) stands there without it as well.
const std::set<std::string>& modes() {
  static const std::set<std::string>& once = *[] {
    auto* const all = new auto(words(setting("P2PLAB_FAKE_MODE")));
    for (const std::string& mode : std::set<std::string>(*all)) all->insert(mode.substr(0, mode.find(':')));
    return all;
  }();
  return once;
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
  return faultyInMachine(fault, placeOf(from), placeOf(to));
}

bool faultyInMachine(Fault fault, int from, int to) {
  static const std::set<std::string>& pairs = *new auto(words(setting("P2PLAB_FAKE_PAIRS")));
  if (!modes().contains(nameOf(fault))) return false;
  return pairs.empty() || pairs.contains(std::to_string(from) + ">" + std::to_string(to));
}

std::string noPeerReason() {
  const std::string head = std::string(nameOf(Fault::kNoPeer)) + ":";
  for (const std::string& mode : modes()) {
    if (mode.rfind(head, 0) == 0) return mode.substr(head.size());
  }
  return "";
}

std::size_t corruptOffset() {
  static const auto once = static_cast<std::size_t>(number("P2PLAB_FAKE_CORRUPT_AT", 0));
  return once;
}

std::uint64_t freeNs() {
  static const auto once = static_cast<std::uint64_t>(number("P2PLAB_FAKE_FREE_NS", 0));
  return once;
}

std::uint64_t copyNs() {
  static const auto once = static_cast<std::uint64_t>(number("P2PLAB_FAKE_DELAY_NS", 0));
  return once;
}

}  // namespace fake
