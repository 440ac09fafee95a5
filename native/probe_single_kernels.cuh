// Atomics and fences of one thread, each of which needs what the one before gave.
#pragma once

#include "probe_device.cuh"

namespace p2p {

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
