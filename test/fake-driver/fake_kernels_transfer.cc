// Kernels that move bytes, keep a stream busy, or hold it back. One thread does the work of the grid.
#include "../../native/transfer_layout.h"
#include "fake_kernels.h"
#include "fake_settings.h"

using namespace fake;

namespace {

constexpr std::size_t kIterationAt = offsetof(p2p::TransferCell, iteration);
constexpr std::size_t kLimitAt = offsetof(p2p::TransferCell, limitNs);

// What a put or receive finds in its cell, and leaves there.
class Iteration {
 public:
  Iteration(const Launch& launch, std::size_t cell)
      : cell_(launch.view(cell, sizeof(p2p::TransferCell))),
        begin_(nowNs()),
        limitNs_(cell_.load<std::uint64_t>(kLimitAt)),
        iteration_(cell_.load<std::uint64_t>(kIterationAt) + 1),
        number_(p2p::transferNumber(iteration_, launch.value<std::uint64_t>(cell + 1),
                                    launch.value<std::uint64_t>(cell + 2))) {}

  std::uint64_t number() const { return number_; }
  bool late() const { return nowNs() - begin_ >= limitNs_; }
  void end() const { cell_.store(iteration_, kIterationAt); }

 private:
  View cell_;
  std::uint64_t begin_;
  std::uint64_t limitNs_;
  std::uint64_t iteration_;
  std::uint64_t number_;
};

// Spins until a condition holds; false when the deadline passed first, which is told to the host then.
template <typename Condition>
bool wait(const Launch& launch, const Iteration& iteration, std::size_t expired, Condition condition) {
  for (Spin spin; !condition(); spin.pause()) {
    if (!iteration.late()) continue;
    launch.view(expired, sizeof(std::uint32_t)).store(std::uint32_t{1});
    return false;
  }
  return true;
}

std::vector<std::byte> payload(const Launch& launch, std::size_t argument, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  launch.view(argument, bytes).read(0, data.data(), bytes);
  return data;
}

std::uint64_t wordOf(const std::vector<std::byte>& data, std::uint64_t word) {
  std::uint64_t value = 0;
  if ((word + 1) * 8 <= data.size()) std::memcpy(&value, data.data() + word * 8, 8);
  return value;
}

std::uint64_t linesOf(std::uint64_t bytes) {
  return (bytes / 8 + p2p::kLl128Words - 1) / p2p::kLl128Words;
}

const Kernel kCopy("p2p_copy", [](Launch& launch) {
  const auto bytes = launch.value<std::uint64_t>(2);
  const std::vector<std::byte> data = payload(launch, 1, bytes);
  launch.view(0, bytes).write(0, data.data(), bytes);
});

const Kernel kCompute("p2p_compute", [](Launch& launch) { sleepNs(launch.value<std::uint64_t>(0)); });

const Kernel kGate("p2p_gate", [](Launch& launch) {
  const View flag = launch.view(0, sizeof(std::uint32_t));
  const auto number = launch.value<std::uint64_t>(1);
  const auto limitNs = launch.value<std::uint64_t>(2);
  const std::uint64_t begin = nowNs();
  std::uint32_t outcome = p2p::kGateOpened;
  for (Spin spin; !p2p::llReached(flag.load<std::uint32_t>(), number); spin.pause()) {
    if (nowNs() - begin < limitNs) continue;
    outcome = p2p::kGateGaveUp;
    break;
  }
  launch.view(3, sizeof outcome).store(outcome);
});

const Kernel kPutFlag("p2p_put_flag", [](Launch& launch) {
  const Iteration iteration(launch, 3);
  const auto bytes = launch.value<std::uint64_t>(2);
  const std::vector<std::byte> data = payload(launch, 1, bytes);
  launch.view(0, bytes).write(0, data.data(), bytes);
  launch.view(6, sizeof(std::uint64_t)).store(iteration.number());
  iteration.end();
});

const Kernel kPutLl("p2p_put_ll", [](Launch& launch) {
  const Iteration iteration(launch, 3);
  const auto bytes = launch.value<std::uint64_t>(2);
  const std::vector<std::byte> data = payload(launch, 1, bytes);
  const View window = launch.view(0, bytes * 2);
  const std::uint64_t flag = iteration.number() << 32;
  // A line of 8 bytes is stored whole.
  for (std::uint64_t i = 0; i < bytes / 4; ++i) {
    std::uint32_t value = 0;
    std::memcpy(&value, data.data() + i * 4, 4);
    window.store(flag | value, i * 8);
  }
  iteration.end();
});

const Kernel kPutLl128("p2p_put_ll128", [](Launch& launch) {
  const Iteration iteration(launch, 3);
  const auto bytes = launch.value<std::uint64_t>(2);
  const std::vector<std::byte> data = payload(launch, 1, bytes);
  const std::uint64_t lines = linesOf(bytes);
  const View window = launch.view(0, lines * p2p::kLl128LineBytes);
  for (std::uint64_t line = 0; line < lines; ++line) {
    const std::uint64_t at = line * p2p::kLl128LineBytes;
    for (std::uint64_t i = 0; i < p2p::kLl128Words; ++i)
      window.store(wordOf(data, line * p2p::kLl128Words + i), at + i * 8);
    window.store(iteration.number(), at + p2p::kLl128Words * 8);
  }
  iteration.end();
});

const Kernel kReceiveFlag("p2p_receive_flag", [](Launch& launch) {
  const Iteration iteration(launch, 0);
  const View flag = launch.view(3, sizeof(std::uint64_t));
  (void)wait(launch, iteration, 4, [&] { return flag.load<std::uint64_t>() >= iteration.number(); });
  iteration.end();
});

const Kernel kReceiveLl("p2p_receive_ll", [](Launch& launch) {
  const Iteration iteration(launch, 3);
  const auto bytes = launch.value<std::uint64_t>(2);
  const View window = launch.view(1, bytes * 2);
  std::vector<std::byte> data(bytes);
  bool arrived = true;
  for (std::uint64_t i = 0; i < bytes / 4 && arrived; ++i) {
    std::uint64_t line = 0;
    arrived = wait(launch, iteration, 6, [&] {
      line = window.load<std::uint64_t>(i * 8);
      return p2p::llReached(static_cast<std::uint32_t>(line >> 32), iteration.number());
    });
    std::memcpy(data.data() + i * 4, &line, 4);
  }
  if (arrived) launch.view(0, bytes).write(0, data.data(), bytes);
  iteration.end();
});

const Kernel kReceiveLl128("p2p_receive_ll128", [](Launch& launch) {
  const Iteration iteration(launch, 3);
  const auto bytes = launch.value<std::uint64_t>(2);
  const std::uint64_t lines = linesOf(bytes);
  const View window = launch.view(1, lines * p2p::kLl128LineBytes);
  std::vector<std::byte> data(lines * p2p::kLl128Words * 8);
  bool arrived = true;
  for (std::uint64_t line = 0; line < lines && arrived; ++line) {
    const std::uint64_t at = line * p2p::kLl128LineBytes;
    arrived = wait(launch, iteration, 6, [&] {
      return window.load<std::uint64_t>(at + p2p::kLl128Words * 8) >= iteration.number();
    });
    if (arrived) window.read(at, data.data() + line * p2p::kLl128Words * 8, p2p::kLl128Words * 8);
  }
  if (arrived) launch.view(0, bytes).write(0, data.data(), bytes);
  iteration.end();
});

}  // namespace
