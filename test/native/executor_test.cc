// What the executor does beside copying and host syncs: every way to move bytes, to wait, to submit and to
// time, against the stand-in driver, under sanitizers. Runs the test named by its argument; the environment
// of the stand-in driver is set by executor.test.ts.
#include <algorithm>
#include <limits>
#include <vector>

#include "driver_library.h"
#include "executor.h"
#include "expect.h"

using namespace p2p;

namespace {

constexpr int kNone = -1;

OperationRow copyRow(int stream, int src, int dst, std::uint64_t bytes, CopyApi api,
                     std::uint64_t srcOffset = 0, std::uint64_t dstOffset = 0) {
  return {Opcode::kCopy, stream, src, dst, bytes, srcOffset, dstOffset, static_cast<int>(api), kNone};
}

OperationRow syncRow(int stream, SyncMethod method = SyncMethod::kSpin) {
  return {Opcode::kSync, stream, 0, 0, 0, 0, 0, static_cast<int>(method), kNone};
}

OperationRow putRow(int stream, int src, int window, std::uint64_t bytes, Protocol protocol,
                    int flag = kNone) {
  return {Opcode::kPut, stream, src, window, bytes, 0, 0, static_cast<int>(protocol), flag};
}

OperationRow receiveRow(int stream, int window, int dst, std::uint64_t bytes, Protocol protocol,
                        int flag = kNone) {
  return {Opcode::kReceive, stream, window, dst, bytes, 0, 0, static_cast<int>(protocol), flag};
}

OperationRow plainRow(Opcode code, int stream, int a = 0, std::uint64_t bytes = 0, std::uint64_t offset = 0) {
  return {code, stream, a, 0, bytes, 0, offset, 0, kNone};
}

ProgramRows between(bool peerAccess = true) {
  ProgramRows program;
  program.streams = {0, 1};
  program.peers = {{0, 1, peerAccess}, {1, 0, peerAccess}};
  return program;
}

std::vector<CheckResult> verified(Executor& executor, double deadlineMs = 5000) {
  const Executor::Call call = executor.begin();
  return executor.verify(call, deadlineMs);
}

void timed(Executor& executor, std::size_t iterations, double deadlineMs = 5000) {
  std::vector<double> total(iterations);
  std::vector<double> api(iterations);
  const Executor::Call call = executor.begin();
  EXPECT_EQ(executor.time(call, total, api, deadlineMs).done, iterations);
  for (std::size_t i = 0; i < iterations; ++i) EXPECT(api[i] > 0 && api[i] <= total[i]);
}

// Runs it, has its bytes checked before and after many iterations.
void delivers(const ProgramRows& program) {
  Executor executor(program);
  for (int round = 0; round < 2; ++round) {
    const std::vector<CheckResult> checks = verified(executor);
    EXPECT_EQ(checks.size(), program.checks.size());
    for (const CheckResult& check : checks) {
      EXPECT_EQ(check.wrongByOwner, 0u);
      EXPECT_EQ(check.wrongByReadBack, 0u);
    }
    timed(executor, 20);
  }
  executor.close();
}

void copies() {
  for (const CopyApi api : {CopyApi::kDefault, CopyApi::kBatch, CopyApi::kKernel}) {
    for (const std::uint64_t bytes : {1u, 7u, 8u, 100u, 4096u, 100'003u}) {
      for (const int stream : {0, 1}) {
        ProgramRows program = between();
        program.buffers = {{Place::kDevice, 0, bytes + 9}, {Place::kDevice, 1, bytes + 5}};
        program.operations = {copyRow(stream, 0, 1, bytes, api, 9, 3), syncRow(stream)};
        program.sources = {{0, 4}};
        program.checks = {{1, 3, bytes, 4, 9}};
        delivers(program);
      }
    }
    ProgramRows host = between();
    host.buffers = {{Place::kPinned, -1, 1000}, {Place::kDevice, 0, 1000}, {Place::kPinned, -1, 1000}};
    host.operations = {copyRow(0, 0, 1, 1000, api), copyRow(0, 1, 2, 1000, api), syncRow(0)};
    host.sources = {{0, 4}};
    host.checks = {{1, 0, 1000, 4, 0}, {2, 0, 1000, 4, 0}};
    delivers(host);
  }
}

// Three independent copies are one call; what depends on one of them begins another.
void batches() {
  ProgramRows program = between();
  for (int i = 0; i < 5; ++i) program.buffers.push_back({Place::kDevice, i % 2, 64});
  program.operations = {copyRow(0, 0, 1, 64, CopyApi::kBatch), copyRow(0, 0, 2, 64, CopyApi::kBatch),
                        copyRow(0, 0, 3, 64, CopyApi::kBatch), copyRow(0, 3, 4, 64, CopyApi::kBatch),
                        syncRow(0)};
  program.sources = {{0, 2}};
  for (int i = 1; i < 5; ++i) program.checks.push_back({i, 0, 64, 2, 0});
  Executor executor(program);
  EXPECT_EQ(verified(executor).at(3).wrongByOwner, 0u);
  timed(executor, 9);
}

void allocators() {
  for (const Allocator from : {Allocator::kMalloc, Allocator::kPool, Allocator::kVmm}) {
    for (const Allocator to : {Allocator::kMalloc, Allocator::kPool, Allocator::kVmm}) {
      for (const CopyApi api : {CopyApi::kDefault, CopyApi::kKernel}) {
        ProgramRows program = between();
        program.buffers = {{Place::kDevice, 0, 5000, from}, {Place::kDevice, 1, 5000, to}};
        program.operations = {copyRow(0, 0, 1, 5000, api), syncRow(0)};
        program.sources = {{0, 4}};
        program.checks = {{1, 0, 5000, 4, 0}};
        delivers(program);
      }
    }
  }
}

// Only GPUs that the program lets access memory of a pool or mapping can: a kernel that writes to it breaks
// its context otherwise.
// One allocator a process: the illegal address breaks the context for good.
void rights(Allocator allocator) {
  ProgramRows program = between(false);
  program.buffers = {{Place::kDevice, 0, 64}, {Place::kDevice, 1, 64, allocator}};
  program.operations = {copyRow(0, 0, 1, 64, CopyApi::kKernel), syncRow(0)};
  Executor executor(program);
  EXPECT_EQ(FAILURE((void)verified(executor)).result, static_cast<int>(cu::kIllegalAddress));
}

// The receiver is there first; payloads of less than a line, of whole lines, and of several blocks.
ProgramRows transfer(Protocol protocol, std::uint64_t bytes) {
  ProgramRows program = between();
  program.buffers = {{Place::kDevice, 0, bytes},
                     {Place::kDevice, 1, windowBytes(protocol, bytes)},
                     {Place::kDevice, 1, bytes},
                     {Place::kDevice, 1, 8}};
  const bool flag = protocol == Protocol::kFlag;
  program.operations = {receiveRow(1, 1, flag ? kNone : 2, bytes, protocol, flag ? 3 : kNone),
                        putRow(0, 0, 1, bytes, protocol, flag ? 3 : kNone), syncRow(1), syncRow(0)};
  program.sources = {{0, 6}};
  program.checks = {{flag ? 1 : 2, 0, bytes, 6, 0}};
  return program;
}

void transfers() {
  for (const Protocol protocol : {Protocol::kFlag, Protocol::kLl, Protocol::kLl128}) {
    for (const std::uint64_t bytes : {8u, 120u, 128u, 1000u, 9600u}) delivers(transfer(protocol, bytes));
  }
}

// Two puts of an iteration into one window: the second receive must not take the first for it.
void twice() {
  for (const Protocol protocol : {Protocol::kFlag, Protocol::kLl, Protocol::kLl128}) {
    ProgramRows program = transfer(protocol, 240);
    const bool flag = protocol == Protocol::kFlag;
    program.eventCount = 1;
    program.buffers.push_back({Place::kDevice, 1, 240});
    program.buffers.push_back({Place::kDevice, 0, 240});
    OperationRow second = program.operations[0];
    if (!flag) second.b = 4;
    OperationRow secondPut = program.operations[1];
    secondPut.a = 5;
    // The second put waits until the first has been taken out.
    program.operations = {program.operations[0],
                          program.operations[1],
                          plainRow(Opcode::kRecord, 1),
                          plainRow(Opcode::kWait, 0),
                          secondPut,
                          second,
                          syncRow(0),
                          syncRow(1)};
    program.sources.push_back({5, 9});
    if (flag)
      program.checks = {{1, 0, 240, 9, 0}};
    else
      program.checks.push_back({4, 0, 240, 9, 0});
    delivers(program);
  }
}

// A copy that a signal of the other GPU lets go.
ProgramRows signalled() {
  ProgramRows program = between();
  program.buffers = {
      {Place::kDevice, 0, 64}, {Place::kDevice, 1, 64}, {Place::kDevice, 0, 64}, {Place::kDevice, 0, 8}};
  program.operations = {plainRow(Opcode::kAwait, 0, 3, 0, 4),
                        copyRow(0, 1, 2, 64, CopyApi::kDefault),
                        copyRow(1, 0, 1, 64, CopyApi::kDefault),
                        plainRow(Opcode::kSignal, 1, 3, 0, 4),
                        syncRow(0),
                        syncRow(1)};
  program.sources = {{0, 6}};
  program.checks = {{2, 0, 64, 6, 0}};
  return program;
}

void signals() {
  delivers(signalled());
}

void syncs() {
  for (const SyncMethod method : {SyncMethod::kSpin, SyncMethod::kYield, SyncMethod::kBlock,
                                  SyncMethod::kPollEvent, SyncMethod::kPollFlag}) {
    for (const bool graph : {false, true}) {
      ProgramRows program = between();
      program.graph = graph;
      program.buffers = {{Place::kDevice, 0, 64}, {Place::kDevice, 1, 64}, {Place::kDevice, 0, 64}};
      program.operations = {copyRow(0, 0, 1, 64, CopyApi::kDefault), copyRow(1, 0, 2, 64, CopyApi::kDefault),
                            syncRow(0, method), syncRow(1, method)};
      program.sources = {{0, 6}};
      program.checks = {{1, 0, 64, 6, 0}, {2, 0, 64, 6, 0}};
      delivers(program);
    }
  }
}

void movesNothing() {
  ProgramRows program = between();
  program.operations = {plainRow(Opcode::kCompute, 0, 0, 100'000), plainRow(Opcode::kLaunch, 0), syncRow(0)};
  Executor executor(program);
  EXPECT(verified(executor).empty());
  std::vector<double> total(5);
  std::vector<double> api(5);
  const Executor::Call call = executor.begin();
  EXPECT_EQ(executor.time(call, total, api, 1000).done, 5u);
  for (const double ns : total) EXPECT(ns >= 100'000);
}

// Stores of kernels and streams through the window are lost: whoever waits for them gives up, says who waited
// for whom, and everything can be given back.
void lost() {
  for (const Protocol protocol : {Protocol::kFlag, Protocol::kLl, Protocol::kLl128}) {
    Executor executor(transfer(protocol, 960));
    for (int i = 0; i < 2; ++i) {
      const Failure failure = FAILURE((void)verified(executor, 100));
      EXPECT_EQ(failure.result, static_cast<int>(cu::kNotReady));
      EXPECT(failure.hint.find(
                 "Iteration 0, operation 0 (receive GPU 0 → GPU 1): nothing arrived within 75 ms") !=
             std::string::npos);
    }
    EXPECT_EQ(FAILURE(timed(executor, 3, 100)).result, static_cast<int>(cu::kNotReady));
    executor.close();
  }
  Executor executor(signalled());
  const Failure failure = FAILURE((void)verified(executor, 100));
  EXPECT_EQ(failure.result, static_cast<int>(cu::kNotReady));
  EXPECT(
      failure.hint.find("after await on GPU 0 of a signal to GPU 0, copy GPU 1 → GPU 0): not complete after "
                        "100 ms") != std::string::npos);
  EXPECT(failure.hint.find("memory is kept") == std::string::npos);
  EXPECT_EQ(FAILURE(timed(executor, 1, 100)).result, static_cast<int>(cu::kNotReady));
}

// A blocking sync cannot be given up, but the first iteration polls.
void blocked() {
  ProgramRows program = between();
  program.buffers = {{Place::kDevice, 0, 64}, {Place::kDevice, 1, 64}};
  program.operations = {copyRow(0, 0, 1, 64, CopyApi::kDefault), syncRow(0, SyncMethod::kBlock)};
  Executor executor(program);
  EXPECT_EQ(FAILURE(timed(executor, 1000, 50)).result, static_cast<int>(cu::kNotReady));
}

ProgramRows bothWays(CopyApi api = CopyApi::kDefault) {
  ProgramRows program = between();
  for (const int gpu : {0, 1, 0, 1}) program.buffers.push_back({Place::kDevice, gpu, 64});
  program.operations = {copyRow(0, 0, 1, 64, api), copyRow(1, 3, 2, 64, api), syncRow(0), syncRow(1)};
  program.sources = {{0, 6}, {3, 7}};
  program.checks = {{1, 0, 64, 6, 0}, {2, 0, 64, 7, 0}};
  return program;
}

BatchTiming batched(Executor& executor, const Executor::Batches& batches, std::size_t count,
                    std::vector<double>& total, std::vector<double>& streams) {
  total.assign(count, -1);
  std::vector<double> api(count, -1);
  const Executor::Call call = executor.begin();
  streams.assign(count * executor.timedStreams().size(), -1);
  return executor.throughput(call, batches, total, api, streams);
}

// Copies of 20 µs, ten a batch, on both streams at once; by calls and by graph, with a gate and without.
void throughput() {
  for (const bool graph : {false, true}) {
    for (const double gateMs : {0.0, 5000.0}) {
      ProgramRows program = bothWays();
      program.graph = graph;
      Executor executor(program);
      EXPECT_EQ(executor.timedStreams().size(), graph ? 1u : 2u);
      std::vector<double> total;
      std::vector<double> streams;
      const BatchTiming timing = batched(executor, {10, gateMs, 5000}, 4, total, streams);
      EXPECT_EQ(timing.done, 4u);
      EXPECT(!timing.cancelled && !timing.gateGaveUp);
      for (const double ns : total) EXPECT(ns >= 200'000);
      for (const double ns : streams) EXPECT(ns >= 200'000);
      const BatchTiming floor = batched(executor, {0, gateMs, 5000}, 3, total, streams);
      EXPECT_EQ(floor.done, 3u);
      for (const double ns : total) EXPECT(ns >= 0);
      EXPECT_EQ(verified(executor).at(1).wrongByOwner, 0u);
    }
  }
  ProgramRows program = bothWays();
  program.operations.insert(program.operations.begin() + 1, syncRow(0));
  Executor executor(program);
  std::vector<double> total;
  std::vector<double> streams;
  EXPECT(FAILURE(batched(executor, {1, 0, 1000}, 1, total, streams)).code == FailureCode::kUsage);
}

// A gate that opens by itself before the batch is submitted: nothing of that batch is told.
void gate() {
  ProgramRows program = bothWays();
  Executor executor(program);
  std::vector<double> total;
  std::vector<double> streams;
  const BatchTiming timing = batched(executor, {2000, 0.001, 5000}, 4, total, streams);
  // A gate that runs late finds its batch submitted already, and those batches count.
  EXPECT(timing.done < 4u);
  EXPECT(timing.gateGaveUp && !timing.cancelled);
  EXPECT_EQ(batched(executor, {1, 5000, 5000}, 2, total, streams).done, 2u);
}

void throughputHangs() {
  Executor executor(bothWays());
  std::vector<double> total;
  std::vector<double> streams;
  EXPECT_EQ(FAILURE(batched(executor, {3, 1000, 50}, 2, total, streams)).result,
            static_cast<int>(cu::kNotReady));
  executor.close();
}

// Two streams that an event joins, a kernel, a put and its receive: all in one graph.
void graphs() {
  ProgramRows program = transfer(Protocol::kLl128, 960);
  program.graph = true;
  program.eventCount = 1;
  program.buffers.push_back({Place::kDevice, 0, 960});
  program.operations = {program.operations[0],
                        program.operations[1],
                        plainRow(Opcode::kCompute, 0, 0, 1000),
                        plainRow(Opcode::kRecord, 1),
                        plainRow(Opcode::kWait, 0),
                        copyRow(0, 2, 4, 960, CopyApi::kKernel),
                        syncRow(0)};
  program.checks.push_back({4, 0, 960, 6, 0});
  delivers(program);
  Executor executor(program);
  const Executor::Call call = executor.begin();
  const GraphCosts costs = executor.graphCosts(call, 3, 1000);
  EXPECT_EQ(costs.nodes, 4u);
  EXPECT_EQ(costs.captureNs.size(), 3u);
  EXPECT_EQ(costs.instantiateNs.size(), 3u);
  EXPECT_EQ(costs.updateNs.size(), 3u);
  for (const double ns : costs.instantiateNs) EXPECT(ns > 0);
}

void notCaptured() {
  ProgramRows program = bothWays(CopyApi::kBatch);
  program.graph = true;
  const Failure failure = FAILURE(Executor executor(program));
  EXPECT(failure.code == FailureCode::kNotAvailable);
  EXPECT(std::string(failure.what())
             .starts_with("the driver does not capture operation 0 (cuMemcpyBatchAsync) into a graph"));
  program.graph = false;
  EXPECT_EQ(FAILURE({
              Executor executor(program);
              (void)verified(executor);
            }).result,
            900);
}

void noGraph() {
  Executor executor(bothWays());
  const Executor::Call call = executor.begin();
  EXPECT(FAILURE((void)executor.graphCosts(call, 3, 1000)).code == FailureCode::kUsage);
}

// Each call on the way to a result fails: nothing leaks and nothing crashes.
void failingCall() {
  const auto run = [](ProgramRows program) {
    program.buffers.push_back({Place::kDevice, 0, 64, Allocator::kPool});
    program.buffers.push_back({Place::kDevice, 0, 64, Allocator::kVmm});
    Executor executor(program);
    (void)verified(executor);
    timed(executor, 2);
    std::vector<double> total;
    std::vector<double> streams;
    (void)batched(executor, {3, 1000, 1000}, 2, total, streams);
    if (!program.graph) return;
    const Executor::Call call = executor.begin();
    (void)executor.graphCosts(call, 2, 1000);
  };
  try {
    ProgramRows program = signalled();
    program.operations[4].flag = static_cast<int>(SyncMethod::kPollEvent);
    program.operations[5].flag = static_cast<int>(SyncMethod::kPollFlag);
    program.operations[2].flag = static_cast<int>(CopyApi::kBatch);
    run(program);
    program = transfer(Protocol::kLl, 64);
    program.graph = true;
    run(program);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.result == 0 ? 801 : failure.result, 801);
    return;
  }
  fail(__FILE__, __LINE__, "nothing was thrown");
}

void refused() {
  const auto refuses = [](const char* what, std::vector<double> operations, bool graph = false) {
    const std::vector<double> buffers{0, 0, 256, 0, 1, 256, 2, -1, 256, 0, 1, 8};
    const std::vector<std::int32_t> streams{0, 1};
    for (const double cell : {4, 0, 0, 0, 0, 0, 0, 0}) operations.push_back(cell);
    const Failure failure = FAILURE((void)readProgram({buffers, streams, 0, operations, {}, {}, {}, graph}));
    EXPECT(failure.code == FailureCode::kUsage);
    EXPECT_TEXT(failure.what(), what);
  };
  refuses("operations, row 0: opcode is 11.000000, not a whole number from 1 to 10",
          {11, 0, 0, 0, 0, 0, 0, 0});
  refuses("operations, row 0: the source is pageable host memory, which a GPU cannot reach",
          {1, 0, 2, 0, 8, 0, 0, 3});
  refuses("operations, row 0: the word is not at a multiple of 4 bytes", {5, 0, 0, 0, 0, 0, 2, 0});
  refuses("operations, row 0: 4 bytes at offset 256 do not fit in the buffer of 256 bytes",
          {5, 0, 0, 0, 0, 0, 256, 0});
  refuses("buffer 0+4 is awaited but never signalled", {5, 0, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0, 0, 4, 0});
  refuses("operations, row 0: nanoseconds is 0.000000, not a whole number from 1 to 1000000000",
          {7, 0, 0, 0, 0, 0, 0, 0});
  refuses("operations, row 0: kernel is 1.000000, not a whole number from 0 to 0", {8, 0, 0, 0, 0, 0, 0, 1});
  refuses("operations, row 0: 272 bytes at offset 0 do not fit in the window of 256 bytes",
          {9, 0, 0, 1, 136, -1, 0, 1});
  refuses("operations, row 0: the payload is not a multiple of 8 bytes", {9, 0, 0, 1, 12, -1, 0, 1});
  refuses("operations, row 0: flag buffer is -1.000000, not a whole number from 0 to 3",
          {9, 0, 0, 1, 16, -1, 0, 0});
  refuses("operations, row 0: the flag lies in the buffer of the data", {9, 0, 0, 1, 16, 1, 0, 0});
  refuses("buffer 1 receives more often than is put into it in that way", {10, 1, 1, 0, 16, -1, 0, 1});
  refuses("buffer 3 holds the flag of two windows", {9, 0, 0, 1, 16, 3, 0, 0, 9, 1, 1, 0, 16, 3, 0, 0});
  refuses("a graph cannot count iterations", {5, 0, 0, 0, 0, 0, 0, 0}, true);
  refuses("a graph cannot hold a host sync", {4, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0}, true);
}

}  // namespace

int main(int argc, char** argv) {
  return runTest(
      {
          {"copies", copies},
          {"batches", batches},
          {"allocators", allocators},
          {"rights-pool", [] { rights(Allocator::kPool); }},
          {"rights-vmm", [] { rights(Allocator::kVmm); }},
          {"transfers", transfers},
          {"twice", twice},
          {"signals", signals},
          {"syncs", syncs},
          {"moves-nothing", movesNothing},
          {"lost", lost},
          {"blocked", blocked},
          {"throughput", throughput},
          {"gate", gate},
          {"throughput-hangs", throughputHangs},
          {"graphs", graphs},
          {"not-captured", notCaptured},
          {"no-graph", noGraph},
          {"failing-call", failingCall},
          {"refused", refused},
      },
      argc, argv);
}
