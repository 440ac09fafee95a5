// What the stand-in driver tells the stand-in CUPTI of each copy.
#pragma once

#include <cstddef>
#include <cstdint>

struct FakeCopy {
  std::uint32_t correlation;
  std::uint32_t cbid;
  std::uint64_t apiStartNs;
  std::uint64_t apiEndNs;
  std::uint64_t startNs;
  std::uint64_t endNs;
  std::size_t bytes;
  std::uint8_t kind;
  std::uint32_t device;
};

// Called by the thread that did the copy, before the copy counts as complete.
using FakeTraceSink = void (*)(const FakeCopy& copy);
