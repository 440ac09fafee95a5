// Hand-written loops over the CUDA driver, the other side of what the library measures. Prints one JSON
// object.
//
//   loops oneshot   FROM TO BYTES ITERATIONS [synchronize]   one copy at a time, submit until the wait
//   returns loops pipelined FROM TO BYTES COPIES REPEATS             peer copies back to back behind a gate
//   kernel loops bandwidth FROM TO BYTES COPIES REPEATS             copy-engine copies back to back behind a
//   gate kernel
//
// FROM and TO: GPU numbers, or `host` for page-locked memory. FROM's GPU issues (TO's, when FROM is the
// host).
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <optional>
#include <vector>

#include "bare_driver.h"

namespace {

using namespace bare;

// Keeps its stream busy until the word at `flag` is set, or a time by the GPU's global timer has passed: then
// it says so in `expired`. Written in PTX so that no CUDA toolkit is needed.
constexpr const char* kGate = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry gate(.param .u64 flag, .param .u64 expired, .param .u64 limit_ns)
{
  .reg .pred %p<3>;
  .reg .u32 %r<3>;
  .reg .u64 %rd<8>;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [expired];
  ld.param.u64 %rd3, [limit_ns];
  mov.u64 %rd4, %globaltimer;
WAIT:
  ld.volatile.u32 %r1, [%rd1];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  mov.u64 %rd5, %globaltimer;
  sub.u64 %rd6, %rd5, %rd4;
  setp.lt.u64 %p2, %rd6, %rd3;
  @%p2 bra WAIT;
  mov.u32 %r2, 1;
  st.volatile.u32 [%rd2], %r2;
DONE:
  ret;
}
)";

constexpr std::uint64_t kGateLimitNs = 2'000'000'000;
constexpr std::uint64_t kWaitLimitNs = 30'000'000'000;
constexpr int kWarmupCopies = 4;

std::uint64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * q)];
}

// A migration to another CPU would show as an outlier; the library binds its thread as well.
void stayOnThisCpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  const int cpu = sched_getcpu();
  if (cpu < 0) return;
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) std::perror("sched_setaffinity");
}

// Two ends of a copy; the GPU that issues is `from`, or `to` where `from` is the host.
struct Ends {
  std::optional<Context> near;
  std::optional<Context> far;  // only where it is another GPU
  std::optional<Memory> src;
  std::optional<Memory> dst;
  std::optional<Stream> stream;

  Ends(int from, int to, std::size_t bytes) {
    if (from < 0 && to < 0) throw std::runtime_error("one end of a copy must be a GPU");
    near.emplace(from < 0 ? to : from);
    if (from >= 0 && to >= 0 && from != to) {
      far.emplace(to);
      allow(*near, *far);
      allow(*far, *near);
    }
    const Context& target = far ? *far : *near;
    src.emplace(*near, bytes, from < 0);
    dst.emplace(target, bytes, to < 0);
    stream.emplace(*near);
    near->makeCurrent();
  }

  cu::Context dstContext() const { return (far ? *far : *near).handle(); }

 private:
  static void allow(const Context& accessor, const Context& owner) {
    accessor.makeCurrent();
    const cu::Result result = driver().cuCtxEnablePeerAccess(owner.handle(), 0);
    if (result != cu::kPeerAccessAlreadyEnabled) check(result, "cuCtxEnablePeerAccess");
  }
};

// Spins on the stream until it is complete. The clock is first read after many polls: it must cost a short
// copy nothing.
void spin(cu::Stream stream, std::uint64_t limitNs) {
  std::uint64_t begin = 0;
  for (int polls = 1;; ++polls) {
    const cu::Result result = driver().cuStreamQuery(stream);
    if (result != cu::kNotReady) return check(result, "cuStreamQuery");
    if (polls % 4096 != 0) continue;
    const std::uint64_t now = nowNs();
    if (begin == 0) begin = now;
    if (now - begin > limitNs)
      throw std::runtime_error("a copy is not complete after " + std::to_string(limitNs / 1'000'000'000) +
                               " s");
  }
}

void oneshot(int from, int to, std::size_t bytes, int iterations, bool synchronize) {
  Ends ends(from, to, bytes);
  const Functions& entries = driver();
  const cu::Stream stream = ends.stream->handle();
  const cu::DevicePtr src = ends.src->address();
  const cu::DevicePtr dst = ends.dst->address();
  std::vector<double> total(static_cast<std::size_t>(iterations));
  std::vector<double> api(static_cast<std::size_t>(iterations));
  const int warmup = std::min(iterations, 500);
  for (int i = -warmup; i < iterations; ++i) {
    const std::uint64_t t0 = nowNs();
    check(entries.cuMemcpyAsync(dst, src, bytes, stream), "cuMemcpyAsync");
    const std::uint64_t t1 = nowNs();
    if (synchronize)
      check(entries.cuStreamSynchronize(stream), "cuStreamSynchronize");
    else
      spin(stream, kWaitLimitNs);
    const std::uint64_t t2 = nowNs();
    if (i < 0) continue;
    total[static_cast<std::size_t>(i)] = static_cast<double>(t2 - t0);
    api[static_cast<std::size_t>(i)] = static_cast<double>(t1 - t0);
  }
  std::printf(
      "{\"loop\":\"oneshot\",\"bytes\":%zu,\"iterations\":%d,\"medianNs\":%.1f,\"p05Ns\":%.1f,\"p95Ns\":%.1f,"
      "\"apiMedianNs\":%.1f}\n",
      bytes, iterations, quantile(total, 0.5), quantile(total, 0.05), quantile(total, 0.95),
      quantile(api, 0.5));
}

// `copies` copies queued behind a gate, timed by events around them; the time of one, a repeat each.
void gated(const char* name, int from, int to, std::size_t bytes, int copies, int repeats, bool peerApi,
           int warmup) {
  Ends ends(from, to, bytes);
  const Module module(kGate);
  const cu::Function gate = module.function("gate");
  const Memory words(*ends.near, 2 * sizeof(std::uint32_t), true);
  volatile std::uint32_t* const flag = static_cast<std::uint32_t*>(words.host());
  volatile std::uint32_t* const expired = flag + 1;
  const Event start;
  const Event stop;
  const cu::Stream stream = ends.stream->handle();
  const auto copy = [&] {
    if (peerApi)
      BARE_CALL(cuMemcpyPeerAsync, ends.dst->address(), ends.dstContext(), ends.src->address(),
                ends.near->handle(), bytes, stream);
    else
      BARE_CALL(cuMemcpyAsync, ends.dst->address(), ends.src->address(), bytes, stream);
  };
  std::uint64_t flagAddress = words.address();
  std::uint64_t expiredAddress = words.address() + sizeof(std::uint32_t);
  std::uint64_t limitNs = kGateLimitNs;
  void* parameters[] = {&flagAddress, &expiredAddress, &limitNs};
  std::vector<double> each;
  int expiries = 0;
  // The first repeat loads the kernel and wakes the link; it is thrown away.
  for (int repeat = -1; repeat < repeats; ++repeat) {
    *flag = 0;
    *expired = 0;
    BARE_CALL(cuLaunchKernel, gate, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
    for (int i = 0; i < warmup; ++i) copy();
    BARE_CALL(cuEventRecord, start.handle(), stream);
    for (int i = 0; i < copies; ++i) copy();
    BARE_CALL(cuEventRecord, stop.handle(), stream);
    *flag = 1;
    spin(stream, kWaitLimitNs);
    float ms = 0;
    BARE_CALL(cuEventElapsedTime, &ms, start.handle(), stop.handle());
    if (repeat < 0) continue;
    if (*expired)
      ++expiries;
    else
      each.push_back(static_cast<double>(ms) * 1e6 / copies);
  }
  if (each.empty()) throw std::runtime_error("the gate expired in every repeat");
  const double medianNs = quantile(each, 0.5);
  std::printf(
      "{\"loop\":\"%s\",\"bytes\":%zu,\"copies\":%d,\"repeats\":%zu,\"gateExpired\":%d,\"medianNs\":%.1f,"
      "\"p05Ns\":%.1f,\"p95Ns\":%.1f,\"gbps\":%.4f}\n",
      name, bytes, copies, each.size(), expiries, medianNs, quantile(each, 0.05), quantile(each, 0.95),
      static_cast<double>(bytes) / medianNs);
}

std::uint64_t number(const char* text, const char* what, std::uint64_t largest) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || value > largest)
    throw std::runtime_error(std::string(what) + " is " + text);
  return value;
}

int place(const char* text) {
  return std::strcmp(text, "host") == 0 ? -1 : static_cast<int>(number(text, "a GPU number", 1023));
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool oneshotMode = mode == "oneshot";
  if (!(oneshotMode ? argc == 6 || (argc == 7 && std::string(argv[6]) == "synchronize")
                    : (mode == "pipelined" || mode == "bandwidth") && argc == 7)) {
    std::fprintf(stderr,
                 "usage: loops oneshot FROM TO BYTES ITERATIONS [synchronize]\n"
                 "       loops pipelined|bandwidth FROM TO BYTES COPIES REPEATS\n");
    return 2;
  }
  const int from = place(argv[2]);
  const int to = place(argv[3]);
  const std::size_t bytes = number(argv[4], "BYTES", std::uint64_t{1} << 40);
  const int count = static_cast<int>(number(argv[5], "a count", 10'000'000));
  if (bytes == 0 || count == 0) throw std::runtime_error("a count of 0");
  stayOnThisCpu();
  BARE_CALL(cuInit, 0);
  if (oneshotMode) {
    oneshot(from, to, bytes, count, argc == 7);
    return 0;
  }
  const int repeats = static_cast<int>(number(argv[6], "REPEATS", 1'000'000));
  const bool pipelined = mode == "pipelined";
  if (pipelined && (from < 0 || to < 0)) throw std::runtime_error("peer copies join GPUs, not the host");
  gated(mode.c_str(), from, to, bytes, count, std::max(repeats, 1), pipelined, pipelined ? 0 : kWarmupCopies);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loops: %s\n", error.what());
    return 1;
  }
}
