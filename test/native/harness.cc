// What the measured loop adds to a bare one: the executor's loop against a hand-written loop over the same
// driver calls, taking turns in one process. The copy goes from GPU 0 to GPU 1, with one GPU only within it.
// Prints JSON. Usage: harness [BYTES]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "clock.h"
#include "driver_library.h"
#include "executor.h"

using namespace p2p;

namespace {

constexpr std::size_t kIterations = 2000;
constexpr int kRounds = 15;

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

void measure(std::size_t bytes) {
  const int target = driverState().deviceCount > 1 ? 1 : 0;
  ProgramRows program;
  program.buffers = {{Place::kDevice, 0, bytes}, {Place::kDevice, target, bytes}};
  program.streams = {0};
  program.operations = {{Opcode::kCopy, 0, 0, 1, bytes, 0, 0, 0}, {Opcode::kSync, 0, 0, 0, 0, 0, 0, 0}};
  if (target == 1) program.peers = {{0, 1, true}, {1, 0, true}};
  Executor executor(program);
  const DeviceMemory src(DeviceContext::of(0), bytes);
  const DeviceMemory dst(DeviceContext::of(target), bytes);
  const Stream stream(DeviceContext::of(0));
  std::vector<double> total(kIterations);
  std::vector<double> api(kIterations);
  std::vector<double> bare;
  std::vector<double> stamped;
  std::vector<double> ours;
  std::vector<double> added;
  for (int round = -2; round < kRounds; ++round) {
    const double withoutNs = bareNs<false>(dst.address(), src.address(), stream, bytes, total);
    const double stampedNs = bareNs<true>(dst.address(), src.address(), stream, bytes, total);
    const double oursNs = executorNs(executor, total, api);
    if (round < 0) continue;  // warm-up
    bare.push_back(withoutNs);
    stamped.push_back(stampedNs);
    ours.push_back(oursNs);
    added.push_back(oursNs - stampedNs);
  }
  std::printf(
      "{\"toGpu\":%d,\"bytes\":%zu,\"iterations\":%zu,\"rounds\":%d,\"bareNs\":%.1f,\"bareStampedNs\":%.1f,"
      "\"executorNs\":"
      "%.1f,"
      "\"addedNs\":%.1f,\"totalMedianNs\":%.1f,\"clockCostNs\":%.1f}\n",
      target, bytes, kIterations, kRounds, median(bare), median(stamped), median(ours), median(added),
      median(total), measureClock().costNs);
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
