// The kernels of probes. The clock of an SM runs at 2 GHz here, so that cycles and nanoseconds cannot be
// confused.
#include <time.h>

#include <thread>

#include "../../native/probe_layout.h"
#include "fake_kernels.h"

using namespace fake;
using namespace p2p;

namespace {

using Word = std::uint64_t;

constexpr Word kCyclesPerNs = 2;

Word timerNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<Word>(time.tv_sec) * 1'000'000'000u + static_cast<Word>(time.tv_nsec);
}

Word loadAt(const Launch& launch, Word address) {
  Word value = 0;
  launch.at(address, sizeof value).read(0, &value, sizeof value);
  return value;
}

// Ends the timed part and writes what a kernel reports.
void report(const View& out, ProbeState state, Word done, Word beginNs, Word value,
            const Word* counts = nullptr) {
  ProbeReport report{};
  report.timerNs = timerNs() - beginNs;
  report.cycles = kCyclesPerNs * report.timerNs;
  report.done = done;
  report.value = value;
  report.sm = 3;
  for (int i = 0; counts && i < kProbeCounts; ++i) report.counts[i] = counts[i];
  report.state = static_cast<Word>(state);
  out.write(0, &report, sizeof report);
}

const Kernel kClock("p2p_probe_clock", [](Launch& launch) {
  const Word begin = timerNs();
  while (timerNs() - begin < launch.value<Word>(0)) std::this_thread::yield();
  Word counts[kProbeCounts] = {};
  counts[kTimerStepNs] = 32;
  counts[kClockCostCycles] = 20;
  counts[kTimerCostCycles] = 40;
  report(launch.view(1, sizeof(ProbeReport)), ProbeState::kDone, 1, begin, 0, counts);
});

Word nextNode(const Launch& launch, std::size_t table, Word node, Word nodes) {
  if (launch.value<Word>(table) == 0) return node + 1 == nodes ? 0 : node + 1;
  std::uint32_t next = 0;
  launch.at(launch.value<Word>(table) + node * sizeof next, sizeof next).read(0, &next, sizeof next);
  return next;
}

const Kernel kLink("p2p_probe_link", [](Launch& launch) {
  const auto base = launch.value<Word>(0);
  const auto stride = launch.value<Word>(1);
  const auto nodes = launch.value<Word>(2);
  for (Word i = 0; i < nodes; ++i) {
    const Word link = base + nextNode(launch, 3, i, nodes) * stride;
    launch.at(base + i * stride, sizeof link).write(0, &link, sizeof link);
  }
});

const Kernel kSurvey("p2p_probe_survey", [](Launch& launch) {
  const auto base = launch.value<Word>(0);
  const auto stride = launch.value<Word>(1);
  const auto nodes = launch.value<Word>(2);
  const bool exact = launch.value<std::uint32_t>(4) != 0;
  Word wrong = 0;
  Word sum = 0;
  for (Word i = 0; i < nodes; ++i) {
    const Word offset = loadAt(launch, base + i * stride) - base;
    const Word to = offset / stride;
    const bool inside = to < nodes && to * stride == offset;
    wrong += !inside || (exact && to != nextNode(launch, 3, i, nodes));
    sum += inside ? to : 0;
  }
  const View result = launch.view(5, 2 * sizeof(Word));
  result.add(wrong);
  result.add(sum, sizeof(Word));
});

const Kernel kTouch("p2p_probe_touch", [](Launch& launch) {
  // All of it must be there; only its ends are read.
  const auto stride = launch.value<Word>(1);
  const auto count = launch.value<Word>(2);
  const View memory = launch.view(0, (count - 1) * stride + sizeof(Word));
  (void)(memory.load<Word>() ^ memory.load<Word>((count - 1) * stride));
});

const Kernel kLoad("p2p_probe_load", [](Launch& launch) {
  auto node = launch.value<Word>(0);
  const auto accesses = launch.value<Word>(1);
  if (launch.value<std::uint32_t>(2) >= launch.blocks) throw Broken{Launch::kBadArguments};
  const Word begin = timerNs();
  const Word limit = begin + launch.value<Word>(3);
  Word done = 0;
  while (done < accesses && (done % 4096 != 0 || timerNs() <= limit)) {
    node = loadAt(launch, node);
    ++done;
  }
  report(launch.view(4, sizeof(ProbeReport)), done == accesses ? ProbeState::kDone : ProbeState::kExpired,
         done, begin, node);
});

// One of two kernels that work together, as in probe_pair_kernels.cuh.
struct Partner {
  View meeting;
  unsigned side;
  Word limit;
  ProbeState state = ProbeState::kDone;
  Spin spin{};

  static constexpr std::size_t kStop = offsetof(ProbeMeeting, stop);

  bool meet() {
    meeting.store<Word>(1, sizeof(Word) * side);
    for (spin = {}; meeting.load<Word>(sizeof(Word) * (1 - side)) == 0; spin.pause()) {
      if (timerNs() <= limit) continue;
      state = ProbeState::kAlone;
      meeting.store<Word>(1, kStop);
      return false;
    }
    return true;
  }

  bool await(const View& flag, Word wanted, Word& seen, Word ahead = 0) {
    for (spin = {}; (seen = flag.load<Word>()) - wanted > ahead; spin.pause()) {
      if (timerNs() > limit)
        state = ProbeState::kExpired;
      else if (meeting.load<Word>(kStop) != 0)
        state = ProbeState::kStopped;
      else
        continue;
      meeting.store<Word>(1, kStop);
      return false;
    }
    return true;
  }
};

const Kernel kPingPong("p2p_probe_ping_pong", [](Launch& launch) {
  const auto side = launch.value<std::uint32_t>(0);
  const auto store = static_cast<FlagStore>(launch.value<std::uint32_t>(1));
  const View mine = launch.view(2, sizeof(Word));
  const View theirs = launch.view(3, sizeof(Word));
  const auto from = launch.value<Word>(4);
  const auto warmup = launch.value<Word>(5);
  const auto rounds = launch.value<Word>(6);
  Partner partner{launch.view(8, sizeof(ProbeMeeting)), side, timerNs() + launch.value<Word>(7)};
  const auto send = [&](Word value) {
    if (store == FlagStore::kAtomic)
      (void)theirs.exchange(value);
    else
      theirs.store(value);
  };
  Word seen = 0;
  Word round = 0;
  Word begin = timerNs();
  if (partner.meet()) {
    while (round < warmup + rounds) {
      if (round == warmup) begin = timerNs();
      if (side == 0) send(from + round + 1);
      if (!partner.await(mine, from + round + 1, seen)) break;
      if (side == 1) send(from + round + 1);
      ++round;
    }
  }
  report(launch.view(9, sizeof(ProbeReport)), partner.state, round, begin, seen);
});

const Kernel kAtomic("p2p_probe_atomic", [](Launch& launch) {
  const View word = launch.view(0, sizeof(Word));
  const auto operation = static_cast<AtomicOperation>(launch.value<std::uint32_t>(1));
  Word last = launch.value<Word>(3) - 1;
  const auto accesses = launch.value<Word>(4);
  const Word begin = timerNs();
  for (Word i = 0; i < accesses; ++i) {
    if (operation == AtomicOperation::kAdd)
      last = word.add<Word>(1);
    else if (operation == AtomicOperation::kExchange)
      last = word.exchange<Word>(last + 2);
    else if (operation == AtomicOperation::kCompareAndSwap)
      last = word.compareAndSwap<Word>(last + 1, last + 2);
    else
      ++last;
  }
  report(launch.view(7, sizeof(ProbeReport)), ProbeState::kDone, accesses, begin, last);
});

const Kernel kFence("p2p_probe_fence", [](Launch& launch) {
  const auto stores = launch.value<Word>(2);
  const auto from = launch.value<Word>(3);
  const auto accesses = launch.value<Word>(4);
  const View words = launch.view(0, sizeof(Word) * std::max<Word>(stores, 1));
  const Word begin = timerNs();
  for (Word done = 0; done < accesses; ++done) {
    for (Word i = 0; i < stores; ++i) words.store<Word>(from + done + i, sizeof(Word) * i);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  report(launch.view(6, sizeof(ProbeReport)), ProbeState::kDone, accesses, begin, from + accesses - 1);
});

const Kernel kMessages("p2p_probe_messages", [](Launch& launch) {
  const auto side = launch.value<std::uint32_t>(0);
  const View data = launch.view(2, sizeof(Word));
  const View flag = launch.view(3, sizeof(Word));
  const View mine = launch.view(4, sizeof(Word));
  const View theirs = launch.view(5, sizeof(Word));
  const auto from = launch.value<Word>(6);
  const auto rounds = launch.value<Word>(7);
  Partner partner{launch.view(10, sizeof(ProbeMeeting)), side, timerNs() + launch.value<Word>(9)};
  Word counts[kProbeCounts] = {};
  Word seen = 0;
  Word round = 0;
  const Word begin = timerNs();
  if (partner.meet()) {
    while (round < rounds) {
      const Word number = from + round + 1;
      theirs.store(number);
      if (!partner.await(mine, number, seen, 1)) break;
      if (side == 0) {
        data.store(number);
        flag.store(number);
      } else {
        const auto flagSeen = flag.load<Word>();
        const auto dataSeen = data.load<Word>();
        const bool sane =
            (flagSeen == number || flagSeen == number - 1) && (dataSeen == number || dataSeen == number - 1);
        ++counts[sane ? 2 * (flagSeen == number) + (dataSeen == number) : kNeither];
      }
      ++round;
    }
  }
  report(launch.view(11, sizeof(ProbeReport)), partner.state, round, begin, seen, counts);
});

const Kernel kWords("p2p_probe_words", [](Launch& launch) {
  const auto address = launch.value<Word>(0);
  const auto count = launch.value<Word>(1);
  const auto first = launch.value<Word>(2);
  const View result = launch.view(3, 2 * sizeof(Word));
  for (Word i = 0; i < count; ++i) {
    const Word value = loadAt(launch, address + sizeof(Word) * i);
    if (value != first + i) result.add<Word>(1);
    if (i == 0) result.store<Word>(value, sizeof(Word));
  }
});

}  // namespace
