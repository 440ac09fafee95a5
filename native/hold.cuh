// A kernel that keeps its stream busy for a while, so that what is submitted behind it is in the queue,
// whole, before the GPU comes to it.
#pragma once

#include <cstdint>

// Returns after `ns` nanoseconds of the GPU's global timer. Its own bound, should that timer stand still: a
// number of clock cycles that no GPU passes sooner.
extern "C" __global__ void p2p_hold(std::uint64_t ns) {
  std::uint64_t begin;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  const long long cycles = clock64();
  std::uint64_t now = begin;
  while (now - begin < ns && static_cast<std::uint64_t>(clock64() - cycles) < 4 * ns)
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
}
