// What the measured loop adds to a bare one: the executor's loop against a hand-written loop over the same
// driver calls, stream and memory, taking turns in one process, over several sets of objects, of which the
// median counts. The copy goes from GPU 0 to GPU 1, with one GPU only within it. Prints JSON. Usage: harness
// [BYTES]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "clock.h"
#include "devices.h"
#include "driver_library.h"
#include "executor.h"
#include "host_thread.h"

using namespace p2p;

namespace {

constexpr std::size_t kIterations = 2000;
constexpr int kRounds = 7;
constexpr int kSets = 7;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One copy and a spin on cuStreamQuery: what a hand-written benchmark does; `stamped` reads the clock before
// and after each, as one that wants a distribution must. Loops are measured whole and divided by their
// iterations, so that all that the executor does counts against it.
template <bool kStamped>
double bareNs(cu::DevicePtr dst, cu::DevicePtr src, const Stream& stream, std::size_t bytes,
              std::vector<double>& out) {
  const cu::EntryPoints& entries = driver();
  const CurrentContext current(*stream.context());
  const std::uint64_t begin = nowNs();
  for (std::size_t i = 0; i < kIterations; ++i) {
    const std::uint64_t t0 = kStamped ? nowNs() : 0;
    check(entries.cuMemcpyAsync(dst, src, bytes, stream.handle()), "cuMemcpyAsync");
    cu::Result result = cu::kNotReady;
    while (result == cu::kNotReady) result = entries.cuStreamQuery(stream.handle());
    check(result, "cuStreamQuery");
    if constexpr (kStamped) out[i] = static_cast<double>(nowNs() - t0);
  }
  return static_cast<double>(nowNs() - begin) / kIterations;
}

double executorNs(Executor& executor, std::vector<double>& total, std::vector<double>& api) {
  const Executor::Call call = executor.begin();
  const std::uint64_t begin = nowNs();
  (void)executor.time(call, total, api, 10'000);
  return static_cast<double>(nowNs() - begin) / kIterations;
}

ProgramRows copyProgram(int target, std::size_t bytes) {
  ProgramRows program;
  program.buffers = {{Place::kDevice, 0, bytes}, {Place::kDevice, target, bytes}};
  program.streams = {0};
  program.operations = {{Opcode::kCopy, 0, 0, 1, bytes, 0, 0, 0}, {Opcode::kSync, 0, 0, 0, 0, 0, 0, 0}};
  if (target == 1) program.peers = {{0, 1, true}, {1, 0, true}};
  return program;
}

// Medians over the rounds of one set of objects.
struct SetTimes {
  double bare;
  double stamped;
  double ours;
  double overBare;
  double overStamped;
};

// Which queue and which pages a set of objects is given moves a copy by tens of nanoseconds: both sides use
// the same set.
SetTimes measureSet(int target, std::size_t bytes) {
  Executor executor(copyProgram(target, bytes));
  const cu::DevicePtr src = executor.resources().address(0);
  const cu::DevicePtr dst = executor.resources().address(1);
  const Stream& stream = executor.resources().stream(0);
  std::vector<double> total(kIterations);
  std::vector<double> api(kIterations);
  std::vector<double> times[5];
  for (int round = -1; round < kRounds; ++round) {
    const double bareOnly = bareNs<false>(dst, src, stream, bytes, total);
    const double stamped = bareNs<true>(dst, src, stream, bytes, total);
    const double ours = executorNs(executor, total, api);
    if (round < 0) continue;  // warm-up
    const double all[] = {bareOnly, stamped, ours, ours - bareOnly, ours - stamped};
    for (int i = 0; i < 5; ++i) times[i].push_back(all[i]);
  }
  return {median(times[0]), median(times[1]), median(times[2]), median(times[3]), median(times[4])};
}

void printColumn(const char* name, const std::vector<SetTimes>& sets, double SetTimes::*column) {
  std::printf("\"%s\":[", name);
  for (std::size_t i = 0; i < sets.size(); ++i) std::printf("%s%.1f", i ? "," : "", sets[i].*column);
  std::printf("],");
}

void measure(std::size_t bytes) {
  const int target = driverState().deviceCount > 1 ? 1 : 0;
  // Both sides on one CPU: the executor would bind itself only for its own turn.
  const PinnedThread pinned(numaNodeOf(0));
  std::vector<SetTimes> sets;
  for (int set = 0; set < kSets; ++set) sets.push_back(measureSet(target, bytes));
  const auto middle = [&](double SetTimes::*column) {
    std::vector<double> values;
    for (const SetTimes& set : sets) values.push_back(set.*column);
    return median(values);
  };
  std::printf("{\"toGpu\":%d,\"bytes\":%zu,\"iterations\":%zu,\"rounds\":%d,\"sets\":%d,", target, bytes,
              kIterations, kRounds, kSets);
  printColumn("overBareBySetNs", sets, &SetTimes::overBare);
  printColumn("addedBySetNs", sets, &SetTimes::overStamped);
  std::printf(
      "\"bareNs\":%.1f,\"bareStampedNs\":%.1f,\"executorNs\":%.1f,\"overBareNs\":%.1f,\"addedNs\":%.1f,"
      "\"clock\":\"%s\",\"clockCostNs\":%.1f}\n",
      middle(&SetTimes::bare), middle(&SetTimes::stamped), middle(&SetTimes::ours),
      middle(&SetTimes::overBare), middle(&SetTimes::overStamped), measureClock().name,
      measureClock().costNs);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "%s\n", exception.what());
    return 1;
  }
  return 0;
}
