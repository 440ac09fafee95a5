// Probes without Node.js, against the stand-in driver, under sanitizers. Runs the test named by its argument;
// probe.test.ts sets the environment.
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <thread>

#include "chain.h"
#include "expect.h"
#include "probe.h"

using namespace p2p;

namespace {

constexpr std::uint64_t kBytes = 64 * 1024;
constexpr double kDeadlineMs = 20'000;

ProbeRows base(ProbeKind kind, std::vector<BufferRow> buffers, std::vector<int> gpus) {
  ProbeRows rows;
  rows.kind = kind;
  rows.buffers = std::move(buffers);
  rows.gpus = std::move(gpus);
  rows.peers = {{0, 1, true}, {1, 0, true}};
  return rows;
}

ProbeRows load(BufferRow buffer, bool random = true) {
  ProbeRows rows = base(ProbeKind::kLoad, {buffer}, {0});
  rows.accesses = 1000;
  rows.footprint = kBytes;
  rows.stride = 128;
  rows.random = random;
  return rows;
}

ProbeRows pingPong(int a, int b, FlagStore store = FlagStore::kRelease) {
  ProbeRows rows = base(ProbeKind::kPingPong, {{Place::kDevice, a, 8}, {Place::kDevice, b, 8}}, {a, b});
  rows.accesses = 20;
  rows.store = store;
  return rows;
}

ProbeRows messages(int a, int b, FenceScope scope = FenceScope::kSystem) {
  ProbeRows rows = base(ProbeKind::kMessages, {{Place::kDevice, b, 8}, {Place::kDevice, a, 8}}, {a, b});
  rows.accesses = 50;
  rows.scope = scope;
  return rows;
}

ProbeRows atomic(BufferRow buffer, AtomicOperation operation = AtomicOperation::kAdd) {
  ProbeRows rows = base(ProbeKind::kAtomic, {buffer}, {0});
  rows.accesses = 300;
  rows.operation = operation;
  rows.system = true;
  return rows;
}

ProbeRows fences(BufferRow buffer, std::uint64_t stores) {
  ProbeRows rows = base(ProbeKind::kFence, {buffer}, {0});
  rows.accesses = 300;
  rows.scope = FenceScope::kSystem;
  rows.stores = stores;
  return rows;
}

std::vector<ProbeCheck> checked(Probe& probe) {
  const Probe::Call call = probe.enter();
  return probe.check(call, kDeadlineMs);
}

ProbeRun measured(Probe& probe, std::vector<double>& ns, double deadlineMs = kDeadlineMs) {
  const Probe::Call call = probe.enter();
  return probe.measure(call, ns, deadlineMs);
}

void expectRight(const std::vector<ProbeCheck>& checks, std::vector<int> owners) {
  EXPECT_EQ(checks.size(), owners.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    EXPECT_EQ(checks[i].wrongByOwner, 0u);
    EXPECT_EQ(checks[i].wrongByReader, 0u);
    EXPECT_EQ(checks[i].wrongByReadBack, 0u);
    EXPECT_EQ(checks[i].ownerGpu, owners[i]);
  }
}

void expectRuns(ProbeRows rows, std::vector<int> owners) {
  Probe probe(std::move(rows));
  std::vector<double> ns(5, -1);
  const ProbeRun run = measured(probe, ns);
  EXPECT_EQ(run.done, 5u);
  EXPECT(!run.cancelled);
  for (const ProbeSide& side : run.sides) EXPECT(side.ok());
  EXPECT_EQ(run.ghz.size(), 5u);
  for (const double ghz : run.ghz) EXPECT(std::abs(ghz - 2) < 0.01);
  EXPECT_EQ(run.timerStepNs, 32.0);
  EXPECT_EQ(run.timerCostNs, 20.0);
  EXPECT_EQ(run.smClockCostNs, 10.0);
  expectRight(checked(probe), owners);
  // A second call goes on from where the first one ended.
  EXPECT_EQ(measured(probe, ns).done, 5u);
  expectRight(checked(probe), owners);
  probe.close();
  probe.close();
  EXPECT(FAILURE((void)probe.enter()).code == FailureCode::kUsage);
}

// Every node exactly once a lap, for every small size and for some large ones; and the order is not the
// linear one.
void chainIsOneCycle() {
  for (std::uint64_t nodes = 2; nodes < 400; ++nodes) {
    const Chain chain(nodes, true);
    std::set<std::uint64_t> seen;
    std::uint64_t node = 0;
    for (std::uint64_t i = 0; i < nodes; ++i) {
      EXPECT(seen.insert(node).second);
      EXPECT(chain.next(node) != node);
      node = chain.next(node);
    }
    EXPECT_EQ(node, 0u);
    EXPECT_EQ(chain.walk(0, nodes), 0u);
    EXPECT_EQ(chain.walk(1, 3 * nodes + 1), chain.next(1));
  }
  const std::uint64_t many = 100'003;
  const Chain chain(many, true);
  std::vector<bool> seen(many);
  std::uint64_t node = 7;
  std::uint64_t inOrder = 0;
  for (std::uint64_t i = 0; i < many; ++i) {
    EXPECT(!seen[node]);
    seen[node] = true;
    inOrder += chain.next(node) == node + 1;
    node = chain.next(node);
  }
  EXPECT_EQ(node, 7u);
  EXPECT(inOrder < 20);
  const Chain again(many, true);
  EXPECT(again.table() == chain.table());
  const Chain line(5, false);
  EXPECT(line.table().empty());
  EXPECT_EQ(line.walk(3, 4), 2u);
  EXPECT_EQ(line.next(4), 0u);
}

void loads() {
  for (const bool random : {false, true}) {
    expectRuns(load({Place::kDevice, 0, kBytes}, random), {0});
    expectRuns(load({Place::kDevice, 1, kBytes}, random), {1});
    expectRuns(load({Place::kPinned, -1, kBytes}, random), {-1});
  }
  ProbeRows each = load({Place::kDevice, 1, kBytes});
  each.everySm = true;
  expectRuns(each, {1});
  for (const Allocator allocator : {Allocator::kPool, Allocator::kVmm})
    expectRuns(load({Place::kDevice, 1, kBytes, allocator}), {1});
  // The footprint need not be a multiple of the stride.
  ProbeRows odd = load({Place::kDevice, 1, kBytes});
  odd.footprint = 1000;
  odd.stride = 24;
  expectRuns(odd, {1});
}

// A cold chain is never walked twice in a repetition.
void coldLoads() {
  for (const BufferRow& buffer :
       {BufferRow{Place::kDevice, 0, kBytes}, {Place::kDevice, 1, kBytes}, {Place::kPinned, -1, kBytes}}) {
    ProbeRows rows = load(buffer);
    rows.cold = true;
    expectRuns(rows, {buffer.gpu});
    Probe probe(rows);
    std::vector<double> ns(2);
    EXPECT_EQ(measured(probe, ns).accesses, kBytes / 128);
  }
}

void pairs() {
  for (const FlagStore store : {FlagStore::kVolatile, FlagStore::kRelease, FlagStore::kAtomic}) {
    expectRuns(pingPong(0, 1, store), {0, 1});
    expectRuns(pingPong(0, 0, store), {0, 0});
  }
  for (const FenceScope scope : {FenceScope::kNone, FenceScope::kGpu, FenceScope::kSystem}) {
    expectRuns(messages(0, 1, scope), {1, 0});
    expectRuns(messages(1, 1, scope), {1, 1});
  }
  Probe probe(messages(0, 1));
  std::vector<double> ns(3);
  const ProbeRun run = measured(probe, ns);
  std::uint64_t rounds = 0;
  for (const std::uint64_t count : run.counts) rounds += count;
  EXPECT_EQ(rounds, 150u);
  EXPECT_EQ(run.counts[kNeither], 0u);
  EXPECT_EQ(run.counts[kFlagNewDataOld], 0u);
}

void singles() {
  for (const BufferRow& buffer :
       {BufferRow{Place::kDevice, 0, 8}, {Place::kDevice, 1, 8}, {Place::kPinned, -1, 8}}) {
    for (const AtomicOperation operation :
         {AtomicOperation::kAdd, AtomicOperation::kExchange, AtomicOperation::kCompareAndSwap}) {
      expectRuns(atomic(buffer, operation), {buffer.gpu});
    }
    expectRuns(fences(buffer, 0), {buffer.gpu});
  }
  expectRuns(fences({Place::kDevice, 1, 8 * 1024}, 1024), {1});
  Probe probe(atomic({Place::kDevice, 1, 8}));
  std::vector<double> ns(4);
  (void)measured(probe, ns);
  EXPECT_EQ(checked(probe).at(0).value, 1200u);
}

// Stores through the window are lost from GPU 0 to GPU 1 (or the other way, by the environment): the sides
// tell which.
void lostFlag() {
  const bool forward = std::string(std::getenv("P2PLAB_TEST_LOST")) == "forward";
  Probe probe(pingPong(0, 1));
  std::vector<double> ns(3, -1);
  const ProbeRun run = measured(probe, ns, 200);
  EXPECT_EQ(run.done, 0u);
  EXPECT_EQ(run.sides.size(), 2u);
  EXPECT(!run.sides[0].ok() && !run.sides[1].ok());
  const auto expired = [](const ProbeSide& side) { return side.state == ProbeState::kExpired; };
  EXPECT(expired(run.sides[0]) || expired(run.sides[1]));
  EXPECT_EQ(run.sides[0].done, 0u);
  EXPECT_EQ(run.sides[1].done, forward ? 0u : 1u);
  // Nothing is left behind that would spoil a second attempt, which ends the same way.
  EXPECT_EQ(measured(probe, ns, 200).done, 0u);
}

// A chain that the reader sees damaged is not followed.
void damagedChain() {
  Probe probe(load({Place::kDevice, 1, kBytes}));
  const ProbeCheck check = checked(probe).at(0);
  EXPECT_EQ(check.wrongByOwner, 0u);
  EXPECT(check.wrongByReader > 0);
}

void oneCallAtATime() {
  Probe probe(pingPong(0, 1));
  {
    const Probe::Call call = probe.enter();
    EXPECT(FAILURE((void)probe.enter()).code == FailureCode::kUsage);
    EXPECT(FAILURE(probe.close()).code == FailureCode::kUsage);
  }
  std::vector<double> ns(1);
  for (const double deadline : {0.0, -1.0, 1e12, std::numeric_limits<double>::quiet_NaN()}) {
    const Probe::Call call = probe.enter();
    EXPECT(FAILURE((void)probe.measure(call, ns, deadline)).code == FailureCode::kUsage);
  }
  EXPECT_EQ(measured(probe, ns).done, 1u);
}

void cancels() {
  Probe probe(load({Place::kDevice, 0, kBytes}));
  std::vector<double> ns(1'000'000);
  const Probe::Call call = probe.enter();
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    probe.cancel();
  });
  const ProbeRun run = probe.measure(call, ns, kDeadlineMs);
  canceller.join();
  EXPECT(run.cancelled);
  EXPECT(run.done < ns.size());
}

// The forced failure ends in an error, wherever it hits; everything is let go of.
void failingCall() {
  for (const ProbeRows& rows :
       {load({Place::kDevice, 1, kBytes}), pingPong(0, 1), fences({Place::kDevice, 1, 8}, 1)}) {
    try {
      Probe probe(rows);
      std::vector<double> ns(2);
      (void)measured(probe, ns);
      (void)checked(probe);
    } catch (const Failure& failure) {
      EXPECT(failure.code == FailureCode::kCuda && !failure.hint.empty());
    }
  }
}

std::string refusal(double kind, std::vector<double> buffers, std::vector<std::int32_t> gpus,
                    std::vector<std::int32_t> peers, std::vector<double> parameters) {
  return FAILURE((void)readProbe({kind, buffers, gpus, peers, parameters})).what();
}

void refuses() {
  const std::vector<double> local = {0, 0, 4096};
  const std::vector<double> good = {10, 4096, 128, 1, 0, 0};
  EXPECT_TEXT(refusal(5, local, {0}, {}, good), "probe: kind is 5.000000, not a whole number from 0 to 4");
  EXPECT_TEXT(refusal(0, local, {0}, {}, {10, 4096}), "probe: there are 2 parameters, not 6");
  EXPECT_TEXT(refusal(0, local, {0}, {}, {10, 4096, 12, 1, 0, 0}),
              "probe: the stride is not a multiple of 8");
  EXPECT_TEXT(
      refusal(0, local, {0}, {}, {10, 4096, 4096, 1, 0, 0}),
      "probe: the number of nodes (footprint / stride) is 1.000000, not a whole number from 2 to 67108864");
  EXPECT_TEXT(refusal(0, local, {0}, {}, {10, 8192, 128, 1, 0, 0}),
              "probe: 8192 bytes do not fit in a buffer of 4096");
  EXPECT(readProbe({0, std::vector<double>{3, 0, 4096}, std::vector<std::int32_t>{0}, {}, good})
             .buffers[0]
             .allocator == Allocator::kPool);
  EXPECT_TEXT(refusal(0, {5, 0, 4096}, {0}, {}, good),
              "probe: place is 5.000000, not a whole number from 0 to 4");
  EXPECT_TEXT(refusal(0, {2, -1, 4096}, {0}, {}, good), "probe: a kernel cannot reach pageable host memory");
  EXPECT_TEXT(refusal(0, {0, 0}, {0}, {}, good), "probe: buffers has 2 elements, not 1 rows of 3");
  EXPECT_TEXT(refusal(0, local, {0, 1}, {}, good), "probe: gpus has 2 elements, not 1");
  EXPECT_TEXT(refusal(0, local, {-1}, {}, good),
              "probe: GPU of a kernel is -1.000000, not a whole number from 0 to 1023");
  EXPECT_TEXT(refusal(0, local, {1}, {1, 0, 0}, good),
              "probe: a kernel on GPU 1 uses memory of GPU 0, but peer access is not enabled");
  EXPECT_TEXT(refusal(0, local, {0}, {1, 1, 1}, good), "probe: a GPU is no peer of itself");
  EXPECT_TEXT(refusal(0, local, {0}, {1, 0}, good), "probe: peers has 2 elements, not rows of 3");
  EXPECT_TEXT(refusal(1, {0, 0, 8, 0, 0, 8}, {0, 0}, {}, {10, 3}),
              "probe: store is 3.000000, not a whole number from 0 to 2");
  EXPECT_TEXT(refusal(4, {0, 0, 8, 0, 0, 8}, {0, 0}, {}, {10, 1}),
              "probe: a fence of one block orders nothing between two");
  EXPECT_TEXT(refusal(3, {0, 0, 8}, {0}, {}, {10, 3, 2}), "probe: 16 bytes do not fit in a buffer of 8");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT(refusal(2, {0, 0, 8}, {0}, {}, {nan, 0, 0}).find("accesses is nan") != std::string::npos);
}

// Whatever the arrays hold, they are refused with a reason or describe something that can be run.
void fuzz() {
  std::mt19937_64 random(3);
  const double values[] = {
      0,   1,    2,     3,   5,  8,    128,          4096,
      1e6, 1e15, 1e300, 0.5, -1, -1e9, std::nan(""), std::numeric_limits<double>::infinity()};
  const auto pick = [&] { return values[random() % std::size(values)]; };
  const auto fill = [&](auto& list, std::size_t most) {
    list.resize(random() % most);
    for (auto& value : list)
      value = static_cast<std::decay_t<decltype(value)>>(std::clamp(pick(), -1e9, 1e9));
  };
  for (int i = 0; i < 20'000; ++i) {
    std::vector<double> buffers(random() % 2 ? 3 : 6), parameters(2 + random() % 5);
    for (double& value : buffers) value = pick();
    for (double& value : parameters) value = pick();
    std::vector<std::int32_t> gpus(1 + random() % 2), peers;
    for (std::int32_t& gpu : gpus) gpu = static_cast<std::int32_t>(random() % 5) - 1;
    if (random() % 2) fill(peers, 8);
    const double kind = random() % 4 ? static_cast<double>(random() % 5) : pick();
    try {
      const ProbeRows rows = readProbe({kind, buffers, gpus, peers, parameters});
      EXPECT(rows.accesses >= 1 && rows.touched() <= rows.buffers.front().bytes);
      EXPECT_EQ(rows.gpus.size(), rows.buffers.size());
    } catch (const Failure& failure) {
      EXPECT(failure.code == FailureCode::kUsage && failure.what()[0] != '\0' && !failure.hint.empty());
    }
  }
}

const std::map<std::string, std::function<void()>> kTests = {
    {"chain", chainIsOneCycle},
    {"loads", loads},
    {"cold-loads", coldLoads},
    {"pairs", pairs},
    {"singles", singles},
    {"lost-flag", lostFlag},
    {"damaged-chain", damagedChain},
    {"one-call-at-a-time", oneCallAtATime},
    {"cancels", cancels},
    {"failing-call", failingCall},
    {"refuses", refuses},
    {"fuzz", fuzz},
};

}  // namespace

int main(int argc, char** argv) {
  return runTest(kTests, argc, argv);
}
