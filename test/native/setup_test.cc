// Set-up costs against the stand-in driver, under sanitizers. Runs the test named by its argument; the
// environment of the stand-in driver is set by setup.test.ts.
#include <thread>
#include <vector>

#include "expect.h"
#include "ipc_memory.h"
#include "peers.h"
#include "setup_costs.h"

using namespace p2p;

namespace {

constexpr SetupKind kKinds[] = {
#define P2P_KIND(enumerator, word) SetupKind::enumerator,
    P2P_SETUP_KINDS(P2P_KIND)
#undef P2P_KIND
};

bool needsAnotherProcess(SetupKind kind) {
  return kind == SetupKind::kIpcOpen || kind == SetupKind::kIpcOpenAgain || kind == SetupKind::kIpcClose ||
         kind == SetupKind::kVmmImport;
}

SetupRequest requestOf(SetupKind kind) {
  SetupRequest request;
  request.kind = kind;
  request.peer = 1;
  request.bytes = 70'000;
  request.nodes = 5;
  return request;
}

std::size_t timed(SetupCosts& costs, std::size_t repetitions, double budgetMs = 60'000) {
  return costs.time(costs.begin(), repetitions, budgetMs).ns.size();
}

bool isOn(int from, int to) {
  const bool changed = Peers::instance().set({DeviceContext::of(from), DeviceContext::of(to), true});
  if (changed) Peers::instance().set({DeviceContext::of(from), DeviceContext::of(to), false});
  return !changed;
}

void kinds() {
  for (const SetupKind kind : kKinds) {
    if (needsAnotherProcess(kind)) continue;
    SetupCosts costs(requestOf(kind));
    const SetupCosts::Timing timing = costs.time(costs.begin(), 4, 60'000);
    EXPECT_EQ(timing.ns.size(), 4u);
    EXPECT(!timing.cancelled);
    for (const double ns : timing.ns) EXPECT(ns >= 0 && ns < 60e9);
    EXPECT_EQ(timed(costs, 3), 3u);
    costs.close();
    costs.close();
  }
}

void budget() {
  SetupCosts costs(requestOf(SetupKind::kEventCreate));
  EXPECT_EQ(timed(costs, 1000, 0), 1u);
}

void oneCall() {
  SetupCosts costs(requestOf(SetupKind::kStreamCreate));
  {
    const auto right = costs.begin();
    EXPECT(FAILURE((void)costs.begin()).code == FailureCode::kUsage);
    EXPECT(FAILURE(costs.close()).code == FailureCode::kUsage);
    EXPECT(costs.busy());
  }
  EXPECT_EQ(timed(costs, 2), 2u);
  costs.close();
  EXPECT(FAILURE((void)costs.begin()).code == FailureCode::kUsage);
}

void cancels() {
  SetupCosts costs(requestOf(SetupKind::kEventDestroy));
  const auto right = costs.begin();
  SetupCosts::Timing timing;
  std::thread worker([&] { timing = costs.time(right, 1'000'000, 3600e3); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  costs.cancel();
  worker.join();
  EXPECT(timing.cancelled);
  EXPECT(!timing.ns.empty());
}

// Access is afterwards as it was, whichever way, and cannot be measured while somebody relies on it.
void peers() {
  const auto context = DeviceContext::of(0);
  const auto other = DeviceContext::of(1);
  for (const SetupKind kind :
       {SetupKind::kPeerEnable, SetupKind::kPeerEnableAgain, SetupKind::kPeerDisable}) {
    Peers::instance().set({context, other, false});
    SetupCosts costs(requestOf(kind));
    EXPECT_EQ(timed(costs, 3), 3u);
    EXPECT(!isOn(0, 1));
    Peers::instance().set({context, other, true});
    EXPECT_EQ(timed(costs, 3), 3u);
    EXPECT(isOn(0, 1));
    const Peers::InFlight held = Peers::instance().hold({});
    EXPECT(FAILURE(timed(costs, 1)).code == FailureCode::kUsage);
    EXPECT(FAILURE(SetupCosts{requestOf(kind)}).code == FailureCode::kUsage);
  }
  {
    const Peers::Change change(Peers::instance(), context, other);
    EXPECT(FAILURE((void)Peers::instance().hold({})).code == FailureCode::kUsage);
    EXPECT(FAILURE(Peers::instance().set({other, context, true})).code == FailureCode::kUsage);
  }
  EXPECT(isOn(0, 1));
  EXPECT(FAILURE(Peers::Change(Peers::instance(), context, context)).code == FailureCode::kUsage);
}

// What this process exported it cannot open itself; nothing is left when that is refused.
void ownExport() {
  const ExportedMemory memory(0, 100'000);
  SetupRequest request = requestOf(SetupKind::kIpcOpen);
  request.handle = memory.handle();
  request.bytes = memory.bytes();
  const Failure failure = FAILURE(SetupCosts{request});
  EXPECT(failure.code == FailureCode::kCuda);
  EXPECT_TEXT(failure.call, "cuIpcOpenMemHandle_v2");
}

// A file descriptor, unlike an IPC handle, is good in the process that made it.
void ownFile() {
  const ExportedMemory memory(0, 100'000, ExportKind::kFile);
  EXPECT(memory.file() >= 0);
  EXPECT_EQ(memory.changedBytes(), 0u);
  SetupRequest request = requestOf(SetupKind::kVmmImport);
  request.file = memory.file();
  request.peer = 0;
  request.bytes = memory.bytes();
  SetupCosts costs(request);
  EXPECT_EQ(timed(costs, 3), 3u);
  EXPECT(costs.checked().find("100000 bytes") != std::string::npos);
  request.file = -1;
  EXPECT(FAILURE(SetupCosts{request}).code == FailureCode::kCuda);
}

void failingCall() {
  int failed = 0;
  for (const SetupKind kind : kKinds) {
    if (needsAnotherProcess(kind)) continue;
    try {
      SetupCosts costs(requestOf(kind));
      timed(costs, 4);
    } catch (const Failure& failure) {
      EXPECT(failure.code == FailureCode::kCuda);
      ++failed;
    }
  }
  EXPECT(failed > 0);
}

void missing() {
  const Failure failure = FAILURE(SetupCosts{requestOf(SetupKind::kPoolMalloc)});
  EXPECT(failure.code == FailureCode::kNotAvailable);
  EXPECT(std::string(failure.what()).find("CUDA 11.2") != std::string::npos);
  SetupCosts plain(requestOf(SetupKind::kMalloc));
  EXPECT_EQ(timed(plain, 2), 2u);
}

}  // namespace

int main(int argc, char** argv) {
  return runTest(
      {
          {"kinds", kinds},
          {"budget", budget},
          {"one-call", oneCall},
          {"cancels", cancels},
          {"peers", peers},
          {"own-export", ownExport},
          {"own-file", ownFile},
          {"failing-call", failingCall},
          {"missing", missing},
      },
      argc, argv);
}
