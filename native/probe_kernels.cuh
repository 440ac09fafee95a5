// Kernels that time themselves: each does its work in one thread, so that what is timed is a chain of
// dependent accesses and not their overlap. Times are taken by the SM's clock and by the global timer; the
// host decides which to trust (probe_clock.h). Whatever waits for another has a deadline by the global timer.
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

// One of two kernels that work together: its deadline, and how it learns that the other gave up.
struct Partner {
  ProbeMeeting* meeting;
  unsigned side;
  Word limit;
  ProbeState state;

  __device__ Word word(const std::uint64_t& member) const { return reinterpret_cast<Word>(&member); }

  // Waits until both kernels are resident.
  __device__ bool meet() {
    storeRelease(word(meeting->arrived[side]), 1);
    while (loadAcquire(word(meeting->arrived[1 - side])) == 0) {
      if (globalTimer() > limit) {
        state = ProbeState::kAlone;
        storeRelease(word(meeting->stop), 1);
        return false;
      }
    }
    return true;
  }

  // Asked once in many polls, so that polling stays tight.
  __device__ bool givesUp() {
    if (globalTimer() > limit)
      state = ProbeState::kExpired;
    else if (loadAcquire(word(meeting->stop)) != 0)
      state = ProbeState::kStopped;
    else
      return false;
    storeRelease(word(meeting->stop), 1);
    return true;
  }

  // Of a barrier, one more than was waited for is right too: the other kernel may have gone through and come
  // to the next one before this one looked.
  template <FlagStore kStore>
  __device__ bool await(Word flag, Word wanted, Word& seen, Word ahead = 0) {
    for (unsigned polls = 1;; ++polls) {
      seen = loadFlag<kStore>(flag);
      if (seen - wanted <= ahead) return true;
      if ((polls & 1023) == 0 && givesUp()) return false;
    }
  }
};

// Side 0 sends and waits for the answer; side 1 waits and answers.
template <FlagStore kStore>
__device__ void pingPong(Partner& partner, Word mine, Word theirs, Word from, Word warmup, Word rounds,
                         ProbeReport* report) {
  Stopwatch watch{0, 0};
  Word seen = 0;
  Word round = 0;
  if (partner.meet()) {
    watch.start();
    while (round < warmup + rounds) {
      if (round == warmup) watch.start();
      if (partner.side == 0) storeFlag<kStore>(theirs, from + round + 1);
      if (!partner.await<kStore>(mine, from + round + 1, seen)) break;
      if (partner.side == 1) storeFlag<kStore>(theirs, from + round + 1);
      ++round;
    }
    watch.stop(seen);
  }
  writeReport(report, partner.state, round, watch, seen);
}

// A chain of atomics, each of which needs what the one before gave: the word counts up by one an access.
template <AtomicOperation kOperation, bool kSystem>
__device__ inline Word atomicStep(Word address, Word last, Word zero) {
  Word before = last + 1;
  if (kOperation == AtomicOperation::kAdd) {
    const Word one = 1 + (last & zero);
    if (kSystem)
      asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;"
                   : "=l"(before)
                   : "l"(address), "l"(one)
                   : "memory");
    else
      asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                   : "=l"(before)
                   : "l"(address), "l"(one)
                   : "memory");
  } else if (kOperation == AtomicOperation::kExchange) {
    if (kSystem)
      asm volatile("atom.relaxed.sys.global.exch.b64 %0, [%1], %2;"
                   : "=l"(before)
                   : "l"(address), "l"(last + 2)
                   : "memory");
    else
      asm volatile("atom.relaxed.gpu.global.exch.b64 %0, [%1], %2;"
                   : "=l"(before)
                   : "l"(address), "l"(last + 2)
                   : "memory");
  } else if (kOperation == AtomicOperation::kCompareAndSwap) {
    if (kSystem)
      asm volatile("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %3;"
                   : "=l"(before)
                   : "l"(address), "l"(last + 1), "l"(last + 2)
                   : "memory");
    else
      asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
                   : "=l"(before)
                   : "l"(address), "l"(last + 1), "l"(last + 2)
                   : "memory");
  } else {
    // The loop without its access, for the overhead: opaque, or the compiler would fold the sum.
    asm volatile("add.u64 %0, %1, 1;" : "=l"(before) : "l"(last));
  }
  return before;
}

__device__ inline Word nextNode(Word node, Word nodes, const std::uint32_t* table) {
  if (table) return table[node];
  return node + 1 == nodes ? 0 : node + 1;
}

// Accesses between two looks at the deadline.
constexpr Word kPiece = 4096;

template <AtomicOperation kOperation, bool kSystem>
__device__ void atomics(Word address, Word from, Word accesses, Word zero, Word limit, ProbeReport* report) {
  Word last = from - 1;
  Word left = accesses;
  ProbeState state = ProbeState::kDone;
  Stopwatch watch;
  watch.start();
  while (left > 0) {
    const Word piece = left < kPiece ? left : kPiece;
#pragma unroll 4
    for (Word i = 0; i < piece; ++i) last = atomicStep<kOperation, kSystem>(address, last, zero);
    left -= piece;
    if (left > 0 && globalTimer() > limit) {
      state = ProbeState::kExpired;
      break;
    }
  }
  watch.stop(last);
  writeReport(report, state, accesses - left, watch, last);
}

template <bool kSystem>
__device__ void atomicsOf(AtomicOperation operation, Word address, Word from, Word accesses, Word zero,
                          Word limit, ProbeReport* report) {
  if (operation == AtomicOperation::kAdd)
    atomics<AtomicOperation::kAdd, kSystem>(address, from, accesses, zero, limit, report);
  else if (operation == AtomicOperation::kExchange)
    atomics<AtomicOperation::kExchange, kSystem>(address, from, accesses, zero, limit, report);
  else if (operation == AtomicOperation::kCompareAndSwap)
    atomics<AtomicOperation::kCompareAndSwap, kSystem>(address, from, accesses, zero, limit, report);
  else
    atomics<AtomicOperation::kNone, kSystem>(address, from, accesses, zero, limit, report);
}

// Each access: `stores` stores to words beside each other, then one fence. Plain stores: what a fence orders.
template <FenceScope kScope>
__device__ void fences(Word address, Word stores, Word from, Word accesses, Word limit, ProbeReport* report) {
  ProbeState state = ProbeState::kDone;
  Word done = 0;
  Stopwatch watch;
  watch.start();
  while (done < accesses) {
    for (Word i = 0; i < stores; ++i)
      asm volatile("st.global.u64 [%0], %1;" ::"l"(address + 8 * i), "l"(from + done + i) : "memory");
    fence(kScope);
    ++done;
    if ((done & (kPiece - 1)) == 0 && globalTimer() > limit) {
      state = done < accesses ? ProbeState::kExpired : ProbeState::kDone;
      break;
    }
  }
  watch.stop(done);
  writeReport(report, state, done, watch, from + done - 1);
}

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

// Links nodes of a chain, `stride` bytes apart, by address: node i to node next[i], or to the one after it
// without a table.
extern "C" __global__ void p2p_probe_link(p2p::Word base, p2p::Word stride, p2p::Word nodes,
                                          const std::uint32_t* next) {
  const p2p::Word step = p2p::Word(gridDim.x) * blockDim.x;
  for (p2p::Word i = p2p::Word(blockIdx.x) * blockDim.x + threadIdx.x; i < nodes; i += step) {
    *reinterpret_cast<p2p::Word*>(base + i * stride) = base + p2p::nextNode(i, nodes, next) * stride;
  }
}

// How the GPU that runs it sees a chain. result[0]: links that lead out of the chain or, where `exact`, not
// where the table (without one: the order) says; result[1]: sum of the numbers of the nodes that are led to.
extern "C" __global__ void p2p_probe_survey(p2p::Word base, p2p::Word stride, p2p::Word nodes,
                                            const std::uint32_t* next, std::uint32_t exact,
                                            p2p::Word* result) {
  const p2p::Word step = p2p::Word(gridDim.x) * blockDim.x;
  p2p::Word wrong = 0;
  p2p::Word sum = 0;
  for (p2p::Word i = p2p::Word(blockIdx.x) * blockDim.x + threadIdx.x; i < nodes; i += step) {
    const p2p::Word offset = p2p::loadRelaxed(base + i * stride) - base;
    const p2p::Word to = offset / stride;
    const bool inside = to < nodes && to * stride == offset;
    wrong += !inside || (exact && to != p2p::nextNode(i, nodes, next));
    sum += inside ? to : 0;
  }
  if (wrong) atomicAdd(&result[0], wrong);
  atomicAdd(&result[1], sum);
}

// Reads a stretch of memory with all threads and keeps nothing: pushes everything else out of the L2, or,
// with a larger stride, brings a chain into it.
extern "C" __global__ void p2p_probe_touch(p2p::Word base, p2p::Word stride, p2p::Word count,
                                           p2p::Word* result) {
  const p2p::Word step = p2p::Word(gridDim.x) * blockDim.x;
  p2p::Word mixed = 0;
  for (p2p::Word i = p2p::Word(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    p2p::Word value;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(base + i * stride) : "memory");
    mixed ^= value;
  }
  // The loads need a use, and what they give is as good as never this.
  if (mixed == 0x5F3759DF5F3759DFull) atomicAdd(&result[1], 1);
}

// Follows a chain from the node at `start`. Of the grid only the block `block` works: the first blocks of a
// grid lie on different SMs, and the report says on which this one was.
extern "C" __global__ void p2p_probe_load(p2p::Word start, p2p::Word accesses, std::uint32_t block,
                                          p2p::Word limitNs, p2p::ProbeReport* report) {
  using namespace p2p;
  if (blockIdx.x != block || threadIdx.x != 0) return;
  const Word limit = globalTimer() + limitNs;
  ProbeState state = ProbeState::kDone;
  Word node = start;
  Word left = accesses;
  Stopwatch watch;
  watch.start();
  while (left > 0) {
    const Word piece = left < kPiece ? left : kPiece;
    // The address of a load is what the one before gave; counting goes on beside it and costs nothing.
#pragma unroll 16
    for (Word i = 0; i < piece; ++i) node = loadRelaxed(node);
    left -= piece;
    if (left > 0 && globalTimer() > limit) {
      state = ProbeState::kExpired;
      break;
    }
  }
  watch.stop(node);
  writeReport(report, state, accesses - left, watch, node);
}

extern "C" __global__ void p2p_probe_ping_pong(std::uint32_t side, std::uint32_t store, p2p::Word mine,
                                               p2p::Word theirs, p2p::Word from, p2p::Word warmup,
                                               p2p::Word rounds, p2p::Word limitNs,
                                               p2p::ProbeMeeting* meeting, p2p::ProbeReport* report) {
  using namespace p2p;
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  Partner partner{meeting, side, globalTimer() + limitNs, ProbeState::kDone};
  if (store == static_cast<std::uint32_t>(FlagStore::kVolatile))
    pingPong<FlagStore::kVolatile>(partner, mine, theirs, from, warmup, rounds, report);
  else if (store == static_cast<std::uint32_t>(FlagStore::kRelease))
    pingPong<FlagStore::kRelease>(partner, mine, theirs, from, warmup, rounds, report);
  else
    pingPong<FlagStore::kAtomic>(partner, mine, theirs, from, warmup, rounds, report);
}

// `zero` is 0; the compiler must not know.
extern "C" __global__ void p2p_probe_atomic(p2p::Word address, std::uint32_t operation, std::uint32_t system,
                                            p2p::Word from, p2p::Word accesses, p2p::Word zero,
                                            p2p::Word limitNs, p2p::ProbeReport* report) {
  using namespace p2p;
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  const Word limit = globalTimer() + limitNs;
  const auto what = static_cast<AtomicOperation>(operation);
  if (system)
    atomicsOf<true>(what, address, from, accesses, zero, limit, report);
  else
    atomicsOf<false>(what, address, from, accesses, zero, limit, report);
}

extern "C" __global__ void p2p_probe_fence(p2p::Word address, std::uint32_t scope, p2p::Word stores,
                                           p2p::Word from, p2p::Word accesses, p2p::Word limitNs,
                                           p2p::ProbeReport* report) {
  using namespace p2p;
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  const Word limit = globalTimer() + limitNs;
  if (scope == static_cast<std::uint32_t>(FenceScope::kBlock))
    fences<FenceScope::kBlock>(address, stores, from, accesses, limit, report);
  else if (scope == static_cast<std::uint32_t>(FenceScope::kGpu))
    fences<FenceScope::kGpu>(address, stores, from, accesses, limit, report);
  else if (scope == static_cast<std::uint32_t>(FenceScope::kSystem))
    fences<FenceScope::kSystem>(address, stores, from, accesses, limit, report);
  else
    fences<FenceScope::kNone>(address, stores, from, accesses, limit, report);
}

// Message passing. Each round begins with a barrier of the two kernels (words `mine` and `theirs`, release
// and acquire at system scope, so that the round before is visible) and a random delay; side 0 then stores
// the round's number into data and flag, side 1 loads flag and data once.
extern "C" __global__ void p2p_probe_messages(std::uint32_t side, std::uint32_t scope, p2p::Word data,
                                              p2p::Word flag, p2p::Word mine, p2p::Word theirs,
                                              p2p::Word from, p2p::Word rounds, std::uint32_t seed,
                                              p2p::Word limitNs, p2p::ProbeMeeting* meeting,
                                              p2p::ProbeReport* report) {
  using namespace p2p;
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  Partner partner{meeting, side, globalTimer() + limitNs, ProbeState::kDone};
  const auto fenceScope = static_cast<FenceScope>(scope);
  Word counts[kProbeCounts] = {};
  Word round = 0;
  Word seen = 0;
  Stopwatch watch{0, 0};
  std::uint32_t random = seed;
  if (partner.meet()) {
    watch.start();
    while (round < rounds) {
      const Word number = from + round + 1;
      storeRelease(theirs, number);
      if (!partner.await<FlagStore::kRelease>(mine, number, seen, 1)) break;
      // Marsaglia's xorshift32; delays of 0 to 63 up to 0 to 4095 cycles, each size as often.
      random ^= random << 13;
      random ^= random >> 17;
      random ^= random << 5;
      const Word delay = (random >> 8) & ((Word{64} << (random % 7)) - 1);
      for (const Word begin = smClock(); smClock() - begin < delay;) {
      }
      if (side == 0) {
        storeRelaxed(data, number);
        fence(fenceScope);
        storeRelaxed(flag, number);
      } else {
        const Word flagSeen = loadRelaxed(flag);
        fence(fenceScope);
        const Word dataSeen = loadRelaxed(data);
        const bool sane =
            (flagSeen == number || flagSeen == number - 1) && (dataSeen == number || dataSeen == number - 1);
        const int outcome = !sane ? kNeither : 2 * (flagSeen == number) + (dataSeen == number);
        for (int i = 0; i < kProbeCounts; ++i) counts[i] += i == outcome;
      }
      ++round;
    }
    // Nobody may look before the last round is visible.
    fence(FenceScope::kSystem);
    watch.stop(seen);
  }
  for (int i = 0; i < kProbeCounts; ++i) report->counts[i] = counts[i];
  writeReport(report, partner.state, round, watch, seen);
}

// As the GPU that runs it sees it: result[0] counts the words that are not `first` + i; result[1] is the
// first word.
extern "C" __global__ void p2p_probe_words(p2p::Word address, p2p::Word count, p2p::Word first,
                                           p2p::Word* result) {
  p2p::Word wrong = 0;
  for (p2p::Word i = threadIdx.x; i < count; i += blockDim.x) {
    const p2p::Word value = p2p::loadRelaxed(address + 8 * i);
    wrong += value != first + i;
    if (i == 0) result[1] = value;
  }
  if (wrong) atomicAdd(&result[0], wrong);
}
