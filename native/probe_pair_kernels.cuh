// Two resident kernels that work together: flags that go to and fro, and message passing. Whatever waits for
// the other has a deadline by the global timer.
#pragma once

#include "probe_device.cuh"

namespace p2p {

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

}  // namespace p2p

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
