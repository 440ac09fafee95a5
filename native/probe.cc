#include "probe.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "clock.h"
#include "devices.h"
#include "driver_library.h"
#include "host_thread.h"

namespace p2p {

namespace {

constexpr double kMaxDeadlineMs = 24 * 3600 * 1e3;
// The host waits longer than the kernels do, so that it is they who say what did not come.
constexpr std::uint64_t kGraceNs = 2'000'000'000;

// What probes whose kernels never ended hold; kept reachable, so that leak checkers see that it is on
// purpose.
void abandon(std::unique_ptr<ProbeResources> resources, std::unique_ptr<ProbeWork> work) {
  using Kept = std::pair<std::unique_ptr<ProbeResources>, std::unique_ptr<ProbeWork>>;
  static auto& kept = *new std::vector<Kept>();
  static std::mutex& mutex = *new std::mutex();
  const std::lock_guard lock(mutex);
  kept.emplace_back(std::move(resources), std::move(work));
}

}  // namespace

// What surrounds a call: peer access as the probe asks, the thread near the GPU.
class Probe::Entered {
 public:
  explicit Entered(const Probe& probe)
      : peers_(Peers::instance().hold(probe.peers_)), thread_(probe.numaNode_) {}

 private:
  Peers::InFlight peers_;
  PinnedThread thread_;
};

Probe::Probe(ProbeRows rows) : rows_(std::move(rows)) {
  numaNode_ = numaNodeOf(rows_.gpus.front());
  const PinnedThread thread(numaNode_);
  resources_ = std::make_unique<ProbeResources>(rows_);
  for (const PeerRow& peer : rows_.peers)
    peers_.push_back({resources_->context(peer.from), resources_->context(peer.to), peer.enabled});
  (void)Peers::instance().hold(peers_);
  switch (rows_.kind) {
    case ProbeKind::kLoad:
      work_ = makeLoad(rows_, *resources_);
      break;
    case ProbeKind::kPingPong:
    case ProbeKind::kMessages:
      work_ = makePair(rows_, *resources_);
      break;
    case ProbeKind::kAtomic:
    case ProbeKind::kFence:
      work_ = makeSingle(rows_, *resources_);
      break;
  }
}

Probe::~Probe() {
  letGo();
}

void Probe::letGo() {
  if (!resources_) return;
  const cu::Result result = stuck_ ? resources_->drain(0) : cu::kSuccess;
  peers_.clear();
  if (result == cu::kNotReady) {
    abandon(std::move(resources_), std::move(work_));
  } else {
    work_.reset();
    resources_.reset();
  }
}

void Probe::checkOpen() const {
  if (!resources_) throw usage("the probe is closed", "Prepare it again.");
}

Probe::Call Probe::enter() {
  checkOpen();
  if (busy_.exchange(true, std::memory_order_acquire))
    throw usage("another call of this probe is in flight", "Wait for it to end, or cancel it.");
  cancelled_.store(false, std::memory_order_relaxed);
  return Call(busy_);
}

void Probe::close() {
  if (busy())
    throw usage("the probe cannot be closed while a call is in flight", "Cancel the call and wait for it.");
  letGo();
}

Probe::Limits Probe::limitsOf(double deadlineMs) {
  if (!(deadlineMs > 0 && deadlineMs <= kMaxDeadlineMs)) {
    throw usage("the deadline of a repetition is " + std::to_string(deadlineMs) + " ms",
                "Give a number of milliseconds above 0 and of at most a day.");
  }
  const auto ns = static_cast<std::uint64_t>(deadlineMs * 1e6) + 1;
  return {ns, ns + kGraceNs};
}

template <typename Work>
auto Probe::guarded(Work work) {
  checkOpen();
  const Entered entered(*this);
  if (stuck_) {
    const cu::Result result = resources_->drain(nowNs());
    if (result != cu::kSuccess)
      throw cudaFailure(result, "cuStreamQuery", "Earlier work of this probe has still not completed.");
    stuck_ = false;
  }
  try {
    return work();
  } catch (...) {
    stuck_ = resources_->drain(nowNs() + kGraceNs) == cu::kNotReady;
    throw;
  }
}

ProbeRun Probe::measure(const Call&, std::span<double> ns, double deadlineMs) {
  const Limits limits = limitsOf(deadlineMs);
  return guarded([&] {
    ProbeRun run;
    if (!begun_) work_->begin(limits.hostNs);
    begun_ = true;
    const int gpu = rows_.gpus.front();
    const ProbeClock clock = awake_ ? ProbeClock::measure(*resources_, gpu, limits.hostNs)
                                    : ProbeClock::wake(*resources_, gpu, limits.hostNs);
    awake_ = true;
    run.timerStepNs = clock.timerStepNs();
    run.timerCostNs = clock.timerCostNs();
    run.smClockCostNs = clock.smClockCostNs();
    run.overheadNs = work_->overheadNs(clock, limits.kernelNs, limits.hostNs);
    while (run.done < ns.size() && !cancelled_.load(std::memory_order_relaxed)) {
      const ProbeRepetition one = work_->repeat(clock, limits.kernelNs, limits.hostNs);
      run.sides = one.sides;
      if (!one.ok()) {
        // What is in memory now is unknown.
        begun_ = false;
        break;
      }
      // A ping-pong's round is two ways.
      const double ways = rows_.kind == ProbeKind::kPingPong ? 2 : 1;
      // What is less than its own loop is as good as nothing.
      ns[run.done++] = std::max(0.0, one.time.ns / static_cast<double>(one.accesses) / ways - run.overheadNs);
      run.ghz.push_back(one.time.ghz);
      run.sm.push_back(static_cast<int>(one.sm));
      run.accesses = one.accesses;
      run.byTimer += one.time.byTimer;
      for (int i = 0; i < kProbeCounts; ++i) run.counts[i] += one.counts[i];
    }
    run.cancelled = cancelled_.load(std::memory_order_relaxed);
    return run;
  });
}

std::vector<ProbeCheck> Probe::check(const Call&, double deadlineMs) {
  const Limits limits = limitsOf(deadlineMs);
  return guarded([&] {
    if (!begun_) work_->begin(limits.hostNs);
    begun_ = true;
    return work_->check(limits.kernelNs, limits.hostNs);
  });
}

int ownerOf(cu::DevicePtr address) {
  int type = 0;
  P2P_CALL(cuPointerGetAttribute, &type, cu::kPointerMemoryType, address);
  if (type != cu::kMemoryTypeDevice) return -1;
  int gpu = 0;
  P2P_CALL(cuPointerGetAttribute, &gpu, cu::kPointerDeviceOrdinal, address);
  return gpu;
}

ProbeCheck checkWords(const ProbeRows& rows, const ProbeResources& resources, std::size_t buffer,
                      std::size_t count, std::uint64_t first, std::uint64_t limitNs) {
  ProbeCheck check;
  check.buffer = static_cast<int>(buffer);
  check.bytes = 8 * count;
  check.ownerGpu = ownerOf(resources.address(buffer));
  if (rows.buffers[buffer].place == Place::kDevice && count > 0) {
    const int gpu = rows.buffers[buffer].gpu;
    cu::DevicePtr address = resources.address(buffer);
    std::uint64_t words = count;
    cu::DevicePtr result = resources.words(gpu);
    void* arguments[] = {&address, &words, &first, &result};
    check.wrongByOwner = 8 * resources
                                 .counted(gpu, limitNs,
                                          [&] {
                                            resources.launch(gpu, resources.service(gpu), Kernel::kProbeWords,
                                                             1, 256, arguments);
                                          })
                                 .first;
  }
  const std::vector<std::uint64_t> seen =
      resources.readBack(buffer, std::max<std::size_t>(count, 1), limitNs);
  check.value = seen[0];
  for (std::size_t i = 0; i < count; ++i) check.wrongByReadBack += seen[i] != first + i ? 8 : 0;
  if (rows.buffers[buffer].place != Place::kDevice) check.wrongByOwner = check.wrongByReadBack;
  return check;
}

ProbeSide sideOf(const ProbeReport& report) {
  ProbeSide side;
  side.state = static_cast<ProbeState>(report.state);
  side.done = report.done;
  side.value = report.value;
  return side;
}

}  // namespace p2p
