// What the stand-in driver tells the stand-in CUPTI.
#pragma once

#include <cstddef>
#include <cstdint>

struct FakeActivity {
  enum class What { kCall, kCopy, kKernel, kMemset };

  What what;
  std::uint32_t correlation;  // of the call that submitted it
  std::uint64_t startNs;      // CLOCK_MONOTONIC_RAW
  std::uint64_t endNs;
  std::uint32_t cbid = 0;  // CUPTI's number of the call
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint32_t srcDevice = 0;
  std::uint32_t dstDevice = 0;
  std::size_t bytes = 0;
  std::uint32_t value = 0;  // of a memory set
  bool unfinished = false;  // a poll that found work in flight
  std::uint8_t kind = 0;    // CUPTI's kind of the copy
  // Of a kernel; lives as long as its module.
  const char* name = nullptr;
  unsigned blocks = 0;
  unsigned threads = 0;
};

// Called by the thread that did it, before the work counts as complete.
using FakeTraceSink = void (*)(const FakeActivity& activity);
