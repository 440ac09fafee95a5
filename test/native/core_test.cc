// The core of the addon without Node.js, against the stand-in driver, under sanitizers. Runs the test named
// by its argument; the environment of the stand-in driver is set by sanitized.test.ts. Exit code 0: passed.
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "clock.h"
#include "cupti_library.h"
#include "devices.h"
#include "driver_library.h"
#include "executor.h"
#include "expect.h"
#include "host_thread.h"
#include "memory_block.h"

using namespace p2p;

namespace {

constexpr std::uint64_t kBytes = 1000;

OperationRow copyRow(int stream, int src, int dst, std::uint64_t bytes = kBytes,
                     CopyApi api = CopyApi::kDefault) {
  return {Opcode::kCopy, stream, src, dst, bytes, 0, 0, static_cast<int>(api)};
}

OperationRow syncRow(int stream, SyncMethod method = SyncMethod::kSpin) {
  return {Opcode::kSync, stream, 0, 0, 0, 0, 0, static_cast<int>(method)};
}

// GPU 0 to GPU 1 directly, pushed by GPU 0.
ProgramRows push(bool peerAccess = true) {
  ProgramRows program;
  program.buffers = {{Place::kDevice, 0, kBytes}, {Place::kDevice, 1, kBytes}};
  program.streams = {0};
  program.operations = {copyRow(0, 0, 1), syncRow(0)};
  program.peers = {{0, 1, peerAccess}, {1, 0, peerAccess}};
  program.sources = {{0, 7}};
  program.checks = {{1, 0, kBytes, 7, 0}};
  return program;
}

// GPU 0 to GPU 1 through pinned and pageable memory, on streams of both, joined by an event.
ProgramRows staged() {
  ProgramRows program;
  program.buffers = {{Place::kDevice, 0, kBytes},
                     {Place::kPinned, -1, kBytes},
                     {Place::kPageable, -1, kBytes},
                     {Place::kDevice, 1, kBytes}};
  program.streams = {0, 1};
  program.eventCount = 1;
  program.operations = {copyRow(0, 0, 1),
                        copyRow(0, 1, 2),
                        {Opcode::kRecord, 0, 0, 0, 0, 0, 0, 0},
                        {Opcode::kWait, 1, 0, 0, 0, 0, 0, 0},
                        copyRow(1, 2, 3),
                        syncRow(1, SyncMethod::kYield),
                        syncRow(0, SyncMethod::kBlock)};
  program.sources = {{0, 3}};
  program.checks = {{1, 0, kBytes, 3, 0}, {2, 0, kBytes, 3, 0}, {3, 1, kBytes - 1, 3, 1}};
  return program;
}

std::vector<CheckResult> verified(Executor& executor, double deadlineMs = 1000) {
  const Executor::Call call = executor.begin();
  return executor.verify(call, deadlineMs);
}

Timing timed(Executor& executor, std::vector<double>& total, std::vector<double>& api,
             double deadlineMs = 1000) {
  const Executor::Call call = executor.begin();
  return executor.time(call, total, api, deadlineMs);
}

void noDriver() {
  EXPECT(!driverState().available);
  EXPECT(driverState().reason.find("cannot be opened") != std::string::npos);
  const Failure failure = FAILURE((void)driver());
  EXPECT(failure.code == FailureCode::kNotAvailable && !failure.hint.empty());
  EXPECT(FAILURE(Executor executor(push())).code == FailureCode::kNotAvailable);
  const Block block = MemoryBlock::allocate(MemoryKind::kPageable, -1, 64);
  EXPECT_EQ(block->bytes(), 64u);
}

// The reason that the environment makes, named by P2PLAB_TEST_EXPECT.
void unusableDriver() {
  const char* expected = std::getenv("P2PLAB_TEST_EXPECT");
  EXPECT(expected != nullptr);
  EXPECT(!driverState().available);
  if (driverState().reason.find(expected) == std::string::npos)
    fail(__FILE__, __LINE__, driverState().reason);
  EXPECT(!driverState().hint.empty());
}

void pattern() {
  std::vector<std::byte> whole(5000);
  fillPattern(whole.data(), whole.size(), 9, 0, false);
  for (const std::size_t offset : {0u, 1u, 7u, 8u, 13u}) {
    for (const std::size_t bytes : {1u, 2u, 8u, 9u, 100u, 4096u}) {
      std::vector<std::byte> piece(bytes);
      fillPattern(piece.data(), bytes, 9, offset, false);
      EXPECT(std::memcmp(piece.data(), whole.data() + offset, bytes) == 0);
      EXPECT_EQ(comparePattern(piece.data(), bytes, 9, offset).wrong, 0u);
      fillPattern(piece.data(), bytes, 9, offset, true);
      const Difference never = comparePattern(piece.data(), bytes, 9, offset);
      EXPECT_EQ(never.wrong, bytes);
      EXPECT_EQ(never.sentinel, bytes);
      EXPECT_EQ(never.firstWrong, 0);
    }
  }
  whole[1234] ^= std::byte{1};
  const Difference one = comparePattern(whole.data(), whole.size(), 9, 0);
  EXPECT_EQ(one.wrong, 1u);
  EXPECT_EQ(one.sentinel, 0u);
  EXPECT_EQ(one.firstWrong, 1234);
  // A piece that is shifted by one period of eight bytes is as wrong as noise: about one byte in 256 agrees.
  EXPECT(comparePattern(whole.data() + 8, 4096, 9, 0).wrong > 4000);

  // Long enough for several threads, beginning and ending within words.
  const std::size_t length = (std::size_t{9} << 20) + 5;
  std::vector<std::byte> large(length);
  fillPattern(large.data(), length, 9, 3, false);
  EXPECT(std::memcmp(large.data(), whole.data() + 3, 1000) == 0);
  EXPECT_EQ(comparePattern(large.data(), length, 9, 3).wrong, 0u);
  for (const std::size_t at : {length - 1, length / 2, std::size_t{5'000'000}}) large[at] ^= std::byte{1};
  const Difference three = comparePattern(large.data(), length, 9, 3);
  EXPECT_EQ(three.wrong, 3u);
  EXPECT_EQ(three.firstWrong, static_cast<std::int64_t>(length / 2));
}

void delivers() {
  for (ProgramRows program : {push(), staged()}) {
    Executor executor(program);
    for (const CheckResult& check : verified(executor)) {
      EXPECT_EQ(check.wrongByOwner, 0u);
      EXPECT_EQ(check.wrongByReadBack, 0u);
      EXPECT_EQ(check.sentinelBytes, 0u);
      EXPECT_EQ(check.firstWrong, -1);
    }
  }
  ProgramRows peer = push();
  peer.operations[0].flag = static_cast<int>(CopyApi::kPeer);
  Executor executor(peer);
  EXPECT_EQ(verified(executor).at(0).wrongByOwner, 0u);
}

// Mirrored or dropped writes: nothing reaches the owner, though every call succeeds.
void lost() {
  Executor direct(push());
  const CheckResult check = verified(direct).at(0);
  EXPECT_EQ(check.wrongByOwner, kBytes);
  EXPECT_EQ(check.wrongByReadBack, kBytes);
  EXPECT_EQ(check.sentinelBytes, kBytes);
  EXPECT_EQ(check.firstWrong, 0);
  direct.close();
  Executor through(push(false));
  EXPECT_EQ(verified(through).at(0).wrongByOwner, 0u);
}

void times() {
  Executor executor(staged());
  std::vector<double> total(200);
  std::vector<double> api(200);
  const Timing timing = timed(executor, total, api);
  EXPECT_EQ(timing.done, 200u);
  EXPECT(!timing.cancelled);
  for (std::size_t i = 0; i < total.size(); ++i) {
    EXPECT(api[i] > 0 && api[i] <= total[i]);
    // Three copies of 20 µs, one after the other.
    EXPECT(total[i] >= 60'000);
  }
  std::vector<double> none;
  EXPECT_EQ(timed(executor, none, none).done, 0u);
  EXPECT(FAILURE(timed(executor, total, none)).code == FailureCode::kUsage);
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1e300})
    EXPECT(FAILURE(timed(executor, total, api, bad)).code == FailureCode::kUsage);
}

void oneCallAtATime() {
  Executor executor(push());
  {
    const Executor::Call call = executor.begin();
    EXPECT(FAILURE((void)executor.begin()).code == FailureCode::kUsage);
    EXPECT(FAILURE(executor.close()).code == FailureCode::kUsage);
  }
  executor.close();
  executor.close();
  EXPECT(FAILURE((void)executor.begin()).code == FailureCode::kUsage);
}

void cancels() {
  Executor executor(push());
  std::vector<double> total(1'000'000);
  std::vector<double> api(total.size());
  const Executor::Call call = executor.begin();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    executor.cancel();
  });
  const Timing timing = executor.time(call, total, api, 1000);
  other.join();
  EXPECT(timing.cancelled && timing.done < total.size());
}

void peersTakeTurns() {
  Executor direct(push(true));
  Executor through(push(false));
  std::vector<double> samples(3);
  for (int i = 0; i < 3; ++i) {
    timed(direct, samples, samples);
    EXPECT(!Peers::instance().set({DeviceContext::of(0), DeviceContext::of(1), true}));
    timed(through, samples, samples);
    EXPECT(!Peers::instance().set({DeviceContext::of(0), DeviceContext::of(1), false}));
  }
  const PeerWish on{DeviceContext::of(0), DeviceContext::of(1), true};
  {
    const Peers::InFlight held = Peers::instance().hold({});
    EXPECT(FAILURE(Peers::instance().set(on)).code == FailureCode::kUsage);
  }
  EXPECT(Peers::instance().set(on));
  EXPECT(FAILURE(Peers::instance().set({on.from, on.from, true})).code == FailureCode::kUsage);
}

void tooManyPeers() {
  const Failure failure = FAILURE(Executor executor(push()));
  EXPECT_EQ(failure.result, static_cast<int>(cu::kTooManyPeers));
  EXPECT(failure.hint.find("at most 8 peers") != std::string::npos);
}

void noPeerAccess() {
  EXPECT(!peerFacts(0, 1).access);
  const Failure failure = FAILURE(Executor executor(push()));
  EXPECT_EQ(failure.result, static_cast<int>(cu::kPeerAccessUnsupported));
  Executor through(push(false));
  EXPECT_EQ(verified(through).at(0).wrongByOwner, 0u);
}

void outOfMemory() {
  ProgramRows program = push();
  program.buffers[1].bytes = std::uint64_t{1} << 40;
  const Failure device = FAILURE(Executor executor(program));
  EXPECT_EQ(device.result, static_cast<int>(cu::kOutOfMemory));
  EXPECT(device.hint.find("1099511627776 bytes") != std::string::npos);
  for (const Place place : {Place::kPinned, Place::kPageable}) {
    program = staged();
    program.buffers[1] = {place, -1, std::uint64_t{1} << 52};
    EXPECT(FAILURE(Executor executor(program)).code == FailureCode::kUsage);
  }
}

// Each call on the way to a result fails once: nothing leaks and nothing crashes.
void failingCall() {
  try {
    Executor executor(staged());
    (void)verified(executor);
    std::vector<double> samples(3);
    (void)timed(executor, samples, samples);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.result, 801);
    return;
  }
  fail(__FILE__, __LINE__, "nothing was thrown");
}

void hangs() {
  Executor executor(push());
  const Failure failure = FAILURE((void)verified(executor, 50));
  EXPECT_EQ(failure.result, static_cast<int>(cu::kNotReady));
  EXPECT(failure.hint.find("not complete after 50 ms") != std::string::npos);
  std::vector<double> samples(2);
  EXPECT_EQ(FAILURE(timed(executor, samples, samples, 20)).result, static_cast<int>(cu::kNotReady));
  executor.close();
  executor.close();
  // A dropped executor keeps its memory too.
  Executor dropped(push());
  EXPECT_EQ(FAILURE(timed(dropped, samples, samples, 20)).result, static_cast<int>(cu::kNotReady));
  const Block dst = MemoryBlock::allocate(MemoryKind::kDevice, 1, 8);
  EXPECT_EQ(verified(*std::make_unique<Executor>(push(false))).at(0).wrongByOwner, 0u);
}

// Every copy was submitted by a recorded call, and no poll of the spinning sync is among the records.
void expectArrows(const std::vector<TraceRecord>& records) {
  std::map<double, std::string> calls;
  for (const TraceRecord& record : records) {
    if (record.kind == TraceRecord::Kind::kApi) calls[record.correlation] = record.name;
  }
  for (const TraceRecord& record : records) {
    if (record.kind == TraceRecord::Kind::kCopy) EXPECT(calls[record.correlation].rfind("cuMemcpy", 0) == 0);
    EXPECT(record.kind != TraceRecord::Kind::kSync);
    EXPECT(record.name != "cuStreamQuery");
  }
}

void traces() {
  Executor executor(push());
  const Executor::Call call = executor.begin();
  for (const bool full : {false, true}) {
    const Trace trace = executor.trace(call, 50, full, 1000);
    EXPECT_EQ(trace.t0.size(), 50u);
    EXPECT_EQ(trace.t0[0], 0.0);
    EXPECT_EQ(trace.records.size(), full ? 100u : 50u);
    if (full) expectArrows(trace.records);
    EXPECT_EQ(trace.dropped, 0u);
    for (std::size_t i = 1; i < trace.records.size(); ++i)
      EXPECT(trace.records[i - 1].startNs <= trace.records[i].startNs);
    std::size_t copies = 0;
    for (const TraceRecord& record : trace.records) {
      if (record.kind != TraceRecord::Kind::kCopy) continue;
      EXPECT(record.name == "PtoP" && record.bytes == kBytes);
      EXPECT(record.startNs >= trace.t0[copies] && record.startNs <= trace.t4[copies]);
      ++copies;
    }
    EXPECT_EQ(copies, 50u);
  }
}

void tracerDrops() {
  Executor executor(push());
  const Executor::Call call = executor.begin();
  EXPECT_EQ(executor.trace(call, 5, false, 1000).dropped, 3u);
}

void tracerRefused() {
  Executor executor(push());
  const Executor::Call call = executor.begin();
  const Failure failure = FAILURE((void)executor.trace(call, 5, false, 1000));
  EXPECT(failure.code == FailureCode::kNotAvailable);
  EXPECT(std::string(failure.what()).find("MULTIPLE_SUBSCRIBERS") != std::string::npos);
  std::vector<double> samples(2);
  EXPECT_EQ(executor.time(call, samples, samples, 1000).done, 2u);
}

void noTracer() {
  EXPECT(!cuptiState().available && !cuptiState().reason.empty());
  Executor executor(push());
  const Executor::Call call = executor.begin();
  EXPECT(FAILURE((void)executor.trace(call, 5, false, 1000)).code == FailureCode::kNotAvailable);
}

void blocks() {
  const Block a = MemoryBlock::allocate(MemoryKind::kDevice, 0, 9'000'000);
  const Block b = MemoryBlock::allocate(MemoryKind::kPageable, -1, 9'000'000);
  std::vector<std::byte> data(9'000'000);
  fillPattern(data.data(), data.size(), 5, 0, false);
  writeBlock(a, 0, data.data(), data.size());
  copyBlock(b, 1, a, 0, data.size() - 1);
  std::vector<std::byte> back(100);
  readBlock(b, 1, back.data(), back.size());
  EXPECT_EQ(comparePattern(back.data(), back.size(), 5, 0).wrong, 0u);
  EXPECT(FAILURE(readBlock(a, 8'999'999, back.data(), 2)).code == FailureCode::kUsage);
  EXPECT(FAILURE(copyBlock(a, UINT64_MAX, b, 0, 8)).code == FailureCode::kUsage);
  EXPECT(FAILURE((void)MemoryBlock::allocate(MemoryKind::kDevice, 2, 8)).code == FailureCode::kUsage);
}

void cpuLists() {
  EXPECT(parseCpuList("0-3,8,10-11") == (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT(parseCpuList("5") == std::vector<int>{5});
  for (const char* bad : {"", "-", "3-1", "1,,2", "a", "1-", "0-99999999"}) EXPECT(parseCpuList(bad).empty());
}

// Arrays of noise: each is refused with a reason, or is a program that then runs.
void fuzz() {
  std::mt19937_64 random(1);
  const auto pick = [&](std::initializer_list<double> values) {
    return values.begin()[random() % values.size()];
  };
  const auto noise = [&] {
    return random() % 8
               ? pick({0, 1, 2, 3, 4, 8, 64, 100})
               : pick({-1, 0.5, 1e300, -1e300, 9007199254740992.0, 4294967296.0,
                       std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()});
  };
  int ran = 0;
  int refused = 0;
  for (int round = 0; round < 5'000; ++round) {
    std::vector<double> buffers{0, 0, 64, 0, 1, 64, 1, -1, 64, 2, -1, 64};
    std::vector<std::int32_t> streams{0, 1};
    std::vector<double> operations;
    for (std::size_t i = random() % 5; i > 0; --i) {
      for (const double cell : {pick({1, 1, 2, 3}), pick({0, 1}), pick({0, 1, 2, 3}), pick({0, 1, 2, 3}),
                                pick({1, 8, 64}), pick({0, 0, 8}), pick({0, 0, 8}), pick({0, 0, 1})})
        operations.push_back(random() % 40 ? cell : noise());
    }
    for (const double cell : {4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, pick({0, 1, 2})}) operations.push_back(cell);
    for (const double cell : {4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, pick({0, 1, 2})}) operations.push_back(cell);
    std::vector<std::int32_t> peers{0, 1, static_cast<int>(random() % 2)};
    std::vector<double> sources{pick({0, 1, 2, 3}), noise()};
    std::vector<double> checks{pick({0, 1, 2, 3}), pick({0, 1, 60}), pick({1, 4, 64}), 1, noise()};
    for (auto* array : {&buffers, &operations, &sources, &checks}) {
      if (random() % 10 == 0 && !array->empty()) (*array)[random() % array->size()] = noise();
      if (random() % 20 == 0 && !array->empty()) array->resize(random() % array->size());
    }
    if (random() % 20 == 0) streams[0] = static_cast<int>(random());
    if (random() % 20 == 0) peers[random() % 3] = static_cast<int>(random());
    try {
      const ProgramRows rows = readProgram(
          {buffers, streams, pick({0, 1, 2}), operations, peers, sources, checks, random() % 20 == 0});
      std::uint64_t bytes = 0;
      for (const BufferRow& buffer : rows.buffers) bytes = std::max(bytes, buffer.bytes);
      if (bytes > 4096 || rows.streams.empty()) continue;
      Executor executor(rows);
      (void)verified(executor);
      std::vector<double> samples(1);
      (void)timed(executor, samples, samples);
      ++ran;
    } catch (const Failure& failure) {
      if (failure.code != FailureCode::kUsage)
        fail(__FILE__, __LINE__, failure.what() + (" " + failure.hint));
      ++refused;
    }
  }
  EXPECT(ran > 200 && refused > 200);
}

// Threads made while a bound thread is let go may run wherever the process may, and the thread is bound
// again.
void threadsSpread() {
  const auto cpus = [] {
    cpu_set_t set;
    EXPECT(sched_getaffinity(0, sizeof set, &set) == 0);
    return CPU_COUNT(&set);
  };
  const int all = cpus();
  EXPECT_EQ(usableCpus(), static_cast<unsigned>(all));
  const PinnedThread pinned(-1);
  if (all < 2) return;
  EXPECT_EQ(cpus(), 1);
  {
    const UnpinnedThread unpinned;
    EXPECT_EQ(cpus(), all);
    int seen = 0;
    std::thread([&] { seen = cpus(); }).join();
    EXPECT_EQ(seen, all);
  }
  EXPECT_EQ(cpus(), 1);
  EXPECT_EQ(usableCpus(), static_cast<unsigned>(all));
}

// One moment on both clocks: of many tries the closest, for this thread may be interrupted between two
// readings.
struct Moment {
  std::uint64_t system;
  std::uint64_t own;
};

Moment momentNow() {
  Moment best{};
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t before = systemNs();
    const std::uint64_t own = nowNs();
    const std::uint64_t gap = systemNs() - before;
    if (gap >= least) continue;
    least = gap;
    best = {before + gap / 2, own};
  }
  return best;
}

// Both clocks over the same 50 ms differ by less than 200 ppm.
void clockKeepsStep() {
  const Moment first = momentNow();
  std::uint64_t last = first.own;
  while (systemNs() - first.system < 50'000'000) {
    const std::uint64_t now = nowNs();
    EXPECT(now >= last);
    last = now;
  }
  const Moment second = momentNow();
  const auto system = static_cast<double>(second.system - first.system);
  const double off = static_cast<double>(second.own - first.own) - system;
  EXPECT(off < 2e-4 * system && off > -2e-4 * system);
}

const std::map<std::string, std::function<void()>> kTests = {
    {"no-driver", noDriver},
    {"unusable-driver", unusableDriver},
    {"pattern", pattern},
    {"delivers", delivers},
    {"lost", lost},
    {"times", times},
    {"one-call-at-a-time", oneCallAtATime},
    {"cancels", cancels},
    {"peers-take-turns", peersTakeTurns},
    {"too-many-peers", tooManyPeers},
    {"no-peer-access", noPeerAccess},
    {"out-of-memory", outOfMemory},
    {"failing-call", failingCall},
    {"hangs", hangs},
    {"traces", traces},
    {"tracer-drops", tracerDrops},
    {"tracer-refused", tracerRefused},
    {"no-tracer", noTracer},
    {"blocks", blocks},
    {"cpu-lists", cpuLists},
    {"clock", clockKeepsStep},
    {"threads-spread", threadsSpread},
    {"fuzz", fuzz},
};

}  // namespace

int main(int argc, char** argv) {
  return runTest(kTests, argc, argv);
}
