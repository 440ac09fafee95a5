// What the probes share on the GPU: its two clocks, loads and stores of stated order, the report. Times are
// taken by the SM's clock and by the global timer; the host decides which to trust (probe_clock.h).
#pragma once

#include "probe_layout.h"

namespace p2p {

using Word = unsigned long long;

__device__ inline Word globalTimer() {
  Word now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

__device__ inline Word smClock() {
  Word now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}

// The SM's clock once `value` is there: instructions issue in order but do not wait for a load that nothing
// needs, so that the reading is made to need it. No value of a probe is all ones.
__device__ inline Word smClockAfter(Word value) {
  Word now;
  asm volatile(
      "{\n\t.reg .pred there;\n\tsetp.ne.u64 there, %1, -1;\n\tmov.u64 %0, 0;\n\t@there mov.u64 %0, "
      "%%clock64;\n\t}"
      : "=l"(now)
      : "l"(value)
      : "memory");
  return now;
}

__device__ inline unsigned smId() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// A relaxed load at system scope (what a volatile load is, said in the memory model's words): L1 is not
// coherent and may not serve it, so that it is answered by the L2 of the memory's owner or by what lies
// behind. A plain load would leave lines in L1 and time those.
__device__ inline Word loadRelaxed(Word address) {
  Word value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

__device__ inline void storeRelaxed(Word address, Word value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ inline Word loadAcquire(Word address) {
  Word value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

__device__ inline void storeRelease(Word address, Word value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

template <FlagStore kStore>
__device__ inline void storeFlag(Word address, Word value) {
  if (kStore == FlagStore::kVolatile) {
    asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
  } else if (kStore == FlagStore::kRelease) {
    storeRelease(address, value);
  } else {
    Word before;
    asm volatile("atom.relaxed.sys.global.exch.b64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(address), "l"(value)
                 : "memory");
  }
}

template <FlagStore kStore>
__device__ inline Word loadFlag(Word address) {
  if (kStore == FlagStore::kRelease) return loadAcquire(address);
  Word value;
  asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

__device__ inline void fence(FenceScope scope) {
  if (scope == FenceScope::kBlock) __threadfence_block();
  if (scope == FenceScope::kGpu) __threadfence();
  if (scope == FenceScope::kSystem) __threadfence_system();
}

// Begin and end of the timed part.
struct Stopwatch {
  Word timer;
  Word cycles;

  __device__ void start() {
    timer = globalTimer();
    cycles = smClock();
  }
  __device__ void stop(Word lastValue) {
    cycles = smClockAfter(lastValue) - cycles;
    timer = globalTimer() - timer;
  }
};

__device__ inline void writeReport(ProbeReport* report, ProbeState state, Word done, Stopwatch watch,
                                   Word value) {
  volatile ProbeReport* const out = report;
  out->done = done;
  out->cycles = watch.cycles;
  out->timerNs = watch.timer;
  out->value = value;
  out->sm = smId();
  out->state = static_cast<Word>(state);
}

// Accesses between two looks at the deadline.
constexpr Word kPiece = 4096;

}  // namespace p2p

// Spins for `spanNs` and reports the cycles of that time, the step of the global timer and what readings
// cost.
extern "C" __global__ void p2p_probe_clock(p2p::Word spanNs, p2p::ProbeReport* report) {
  using namespace p2p;
  constexpr int kReadings = 64;
  Word first = smClock();
  Word last = first;
  for (int i = 0; i < kReadings; ++i) last = smClock();
  const Word clockCycles = (last - first) / kReadings;
  first = smClock();
  for (int i = 0; i < kReadings; ++i) (void)globalTimer();
  const Word timerCycles = (smClock() - first) / kReadings;

  // From one step of the timer to another, so that its coarseness does not count. A timer that stands still
  // ends it by the clock.
  constexpr Word kMostCycles = 4'000'000'000;
  Word before = globalTimer();
  Word now = before;
  while (now == before && smClock() - first < kMostCycles) now = globalTimer();
  Stopwatch watch{now, smClock()};
  const Word begin = now;
  Word smallest = ~Word{0};
  while (now - begin < spanNs && smClock() - first < kMostCycles) {
    before = now;
    while (now == before && smClock() - first < kMostCycles) now = globalTimer();
    smallest = now - before < smallest ? now - before : smallest;
  }
  watch.cycles = smClock() - watch.cycles;
  watch.timer = now - begin;
  const bool stoodStill = watch.timer < spanNs;
  report->counts[kTimerStepNs] = smallest;
  report->counts[kClockCostCycles] = clockCycles;
  report->counts[kTimerCostCycles] = timerCycles;
  writeReport(report, stoodStill ? ProbeState::kExpired : ProbeState::kDone, 1, watch, 0);
}
