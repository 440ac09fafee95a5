// The load probe: a chain through memory of any place, followed by one thread.
#include <algorithm>
#include <cstring>
#include <string>

#include "chain.h"
#include "devices.h"
#include "driver_library.h"
#include "probe.h"

namespace p2p {

namespace {

// A chain of no more nodes is followed once before timing, as the timed thread does; that also proves that a
// lap leads back. A longer one would take seconds: all threads of the GPU touch it instead.
constexpr std::uint64_t kMostLapNodes = 262'144;
constexpr std::uint64_t kUnknownL2 = std::uint64_t{128} << 20;
constexpr std::uint64_t kLeastScratch = std::uint64_t{1} << 20;
constexpr std::size_t kTablePiece = std::size_t{4} << 20;

class Load final : public ProbeWork {
 public:
  Load(const ProbeRows& rows, const ProbeResources& resources)
      : rows_(rows),
        resources_(resources),
        chain_(rows.nodes(), rows.random),
        gpu_(rows.gpus.front()),
        owner_(rows.buffers.front().gpu),
        blocks_(rows.everySm ? static_cast<unsigned>(resources.context(gpu_)->multiprocessors()) : 1) {
    if (rows.cold) makeScratch();
    if (!chain_.table().empty()) {
      const std::size_t bytes = chain_.table().size() * sizeof(std::uint32_t);
      table_ = std::make_unique<DeviceMemory>(resources_.context(builder()), bytes);
    }
  }

  void begin(std::uint64_t limitNs) override {
    position_ = 0;
    block_ = 0;
    warm_ = false;
    sendTable(limitNs);
    // Host memory is linked by the GPU too: one launch instead of a loop over the host's caches.
    cu::DevicePtr base = resources_.address(0);
    std::uint64_t stride = rows_.stride;
    std::uint64_t nodes = chain_.nodes();
    cu::DevicePtr table = table_ ? table_->address() : 0;
    void* arguments[] = {&base, &stride, &nodes, &table};
    resources_.launchWide(builder(), Kernel::kProbeLink, nodes, arguments);
    resources_.wait(resources_.service(builder()), limitNs, "linking a chain");
  }

  ProbeRepetition repeat(const ProbeClock& clock, std::uint64_t kernelLimitNs,
                         std::uint64_t limitNs) override {
    std::uint64_t accesses = rows_.accesses;
    if (rows_.cold) {
      // A second lap would find what the first one fetched.
      accesses = std::min(accesses, chain_.nodes());
      flush(accesses, limitNs);
    } else if (!warm_) {
      warm(kernelLimitNs, limitNs);
    }
    // Goes on where the one before ended: starting anew would walk the same few nodes, which by then are in a
    // cache, however large the footprint is.
    ProbeRepetition one;
    one.sides = {chase(accesses, kernelLimitNs, limitNs)};
    one.time = clock.timeOf(resources_.report(0));
    one.accesses = accesses;
    one.sm = static_cast<unsigned>(resources_.report(0).sm);
    return one;
  }

  std::vector<ProbeCheck> check(std::uint64_t kernelLimitNs, std::uint64_t limitNs) override {
    ProbeCheck check;
    check.bytes = chain_.nodes() * sizeof(std::uint64_t);
    check.ownerGpu = ownerOf(resources_.address(0));
    check.wrongByOwner = owner_ >= 0 ? survey(owner_, limitNs) : surveyHost();
    check.wrongByReader = gpu_ == owner_ ? check.wrongByOwner : survey(gpu_, limitNs);
    check.wrongByReadBack = owner_ >= 0 ? surveyReadBack(limitNs) : check.wrongByOwner;
    check.value = position_;
    // A chain that leads somewhere else must not be followed: it would end in an illegal address.
    if (check.wrongByOwner + check.wrongByReader == 0 && chain_.nodes() <= kMostLapNodes) {
      if (!chase(chain_.nodes(), kernelLimitNs, limitNs).ok()) check.wrongByReader = check.bytes;
      warm_ = true;
    }
    return {check};
  }

 private:
  // The GPU that links the chain: its owner, for nobody else's writes are to be trusted.
  int builder() const { return owner_ >= 0 ? owner_ : gpu_; }

  void makeScratch() {
    for (const int gpu : {gpu_, builder()}) {
      if (scratch_.contains(gpu)) continue;
      const int l2 = deviceFacts(gpu).l2Bytes;
      const std::uint64_t bytes =
          std::max(kLeastScratch, 2 * (l2 > 0 ? static_cast<std::uint64_t>(l2) : kUnknownL2));
      scratch_[gpu] = {std::make_unique<DeviceMemory>(resources_.context(gpu), bytes), bytes};
    }
  }

  void sendTable(std::uint64_t limitNs) {
    if (!table_) return;
    const auto* data = reinterpret_cast<const std::byte*>(chain_.table().data());
    const std::size_t bytes = chain_.table().size() * sizeof(std::uint32_t);
    const PinnedMemory piece(resources_.context(builder()), std::min(bytes, kTablePiece));
    const CurrentContext current(*resources_.context(builder()));
    for (std::size_t at = 0; at < bytes; at += kTablePiece) {
      const std::size_t length = std::min(kTablePiece, bytes - at);
      std::memcpy(piece.data(), data + at, length);
      P2P_CALL(cuMemcpyAsync, table_->address() + at, reinterpret_cast<cu::DevicePtr>(piece.data()), length,
               resources_.service(builder()).handle());
      resources_.wait(resources_.service(builder()), limitNs, "sending a chain's table");
    }
  }

  // Links that are wrong in the eyes of a GPU, in bytes. The owner compares with the table; another GPU,
  // which does not have it, looks whether links stay inside and whether they lead to the right nodes in sum.
  std::uint64_t survey(int gpu, std::uint64_t limitNs) const {
    cu::DevicePtr base = resources_.address(0);
    std::uint64_t stride = rows_.stride;
    std::uint64_t nodes = chain_.nodes();
    cu::DevicePtr table = table_ && gpu == builder() ? table_->address() : 0;
    std::uint32_t exact = table || chain_.table().empty() ? 1 : 0;
    cu::DevicePtr result = resources_.words(gpu);
    void* arguments[] = {&base, &stride, &nodes, &table, &exact, &result};
    const auto [wrong, sum] = resources_.counted(
        gpu, limitNs, [&] { resources_.launchWide(gpu, Kernel::kProbeSurvey, nodes, arguments); });
    const std::uint64_t rightSum = nodes * (nodes - 1) / 2;
    return sizeof(std::uint64_t) * (wrong > 0 ? wrong : sum != rightSum ? 1 : 0);
  }

  std::uint64_t surveyHost() const {
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < chain_.nodes(); ++i) {
      std::uint64_t link = 0;
      std::memcpy(&link, resources_.host(0) + i * rows_.stride, sizeof link);
      wrong += link != resources_.address(0) + chain_.next(i) * rows_.stride ? sizeof link : 0;
    }
    return wrong;
  }

  // The host reads back the first and the last link; all of them would be as many copies as nodes.
  std::uint64_t surveyReadBack(std::uint64_t limitNs) const {
    const CurrentContext current(*resources_.context(owner_));
    std::uint64_t wrong = 0;
    for (const std::uint64_t node : {std::uint64_t{0}, chain_.nodes() - 1}) {
      const std::uint64_t link =
          resources_.readWord(owner_, resources_.address(0) + node * rows_.stride, limitNs);
      wrong += link != resources_.address(0) + chain_.next(node) * rows_.stride ? sizeof link : 0;
    }
    return wrong;
  }

  void touch(int gpu, cu::DevicePtr base, std::uint64_t stride, std::uint64_t count,
             std::uint64_t limitNs) const {
    cu::DevicePtr result = resources_.words(gpu);
    void* arguments[] = {&base, &stride, &count, &result};
    resources_.launchWide(gpu, Kernel::kProbeTouch, count, arguments);
    resources_.wait(resources_.service(gpu), limitNs, "touching memory");
  }

  void warm(std::uint64_t kernelLimitNs, std::uint64_t limitNs) {
    if (chain_.nodes() <= kMostLapNodes)
      (void)chase(chain_.nodes(), kernelLimitNs, limitNs);
    else
      touch(gpu_, resources_.address(0), rows_.stride, chain_.nodes(), limitNs);
    warm_ = true;
  }

  // Empties the L2 of reader and owner by reading twice its size of other memory; for host memory the lines
  // of the nodes to come are dropped from the CPU's caches.
  void flush(std::uint64_t accesses, std::uint64_t limitNs) const {
    for (const auto& [gpu, scratch] : scratch_)
      touch(gpu, scratch.memory->address(), sizeof(std::uint64_t), scratch.bytes / sizeof(std::uint64_t),
            limitNs);
    if (owner_ >= 0) return;
    std::uint64_t node = position_;
    for (std::uint64_t i = 0; i < accesses; ++i, node = chain_.next(node))
      flushLine(resources_.host(0) + node * rows_.stride);
  }

  ProbeSide chase(std::uint64_t accesses, std::uint64_t kernelLimitNs, std::uint64_t limitNs) {
    resources_.reset();
    std::uint64_t start = resources_.address(0) + position_ * rows_.stride;
    std::uint32_t block = block_;
    ProbeReport* report = &resources_.report(0);
    void* arguments[] = {&start, &accesses, &block, &kernelLimitNs, &report};
    resources_.launch(gpu_, resources_.stream(0), Kernel::kProbeLoad, blocks_, 1, arguments);
    resources_.wait(resources_.stream(0), limitNs, "following a chain");
    position_ = chain_.walk(position_, accesses);
    block_ = (block_ + 1) % blocks_;
    ProbeSide side = sideOf(*report);
    side.expected = resources_.address(0) + position_ * rows_.stride;
    side.wrong = side.state == ProbeState::kDone && side.value != side.expected;
    return side;
  }

  struct Scratch {
    std::unique_ptr<DeviceMemory> memory;
    std::uint64_t bytes = 0;
  };

  const ProbeRows& rows_;
  const ProbeResources& resources_;
  const Chain chain_;
  const int gpu_;
  const int owner_;  // -1: host memory
  const unsigned blocks_;
  std::map<int, Scratch> scratch_;
  std::unique_ptr<DeviceMemory> table_;
  std::uint64_t position_ = 0;
  unsigned block_ = 0;
  bool warm_ = false;
};

}  // namespace

std::unique_ptr<ProbeWork> makeLoad(const ProbeRows& rows, const ProbeResources& resources) {
  return std::make_unique<Load>(rows, resources);
}

}  // namespace p2p
