// Batches of iterations back to back, timed by events on the device. A gate kernel holds the first stream,
// and with it all others, until the whole batch is submitted, so that what the host takes to submit does not
// count.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "objects.h"
#include "resources.h"
#include "steps.h"

namespace p2p {

// Nanoseconds.
struct BatchTimes {
  // First stream's start event → all streams' end, on the device.
  double totalNs = 0;
  // First submit call entered → last submit call returned, on the host.
  double apiNs = 0;
  bool gateGaveUp = false;
};

class Throughput {
 public:
  // `operations` is an iteration without its syncs; it must outlive this.
  Throughput(const Resources& resources, const StepTable& operations);
  Throughput(const Throughput&) = delete;
  Throughput& operator=(const Throughput&) = delete;

  // Streams that are timed: those that work is submitted to.
  const std::vector<int>& streams() const { return operations_.streams; }

  struct Limits {
    std::uint64_t gateNs;  // how long the gate waits for the host; 0: no gate
    std::uint64_t batchNs;
  };

  // Runs `iterations` (0 measures the clock's own floor) and fills `streamNs`, one element a stream: its own
  // start event → its own end event. `number` is that of the iteration before; it is advanced. A step that
  // failed is left in `failed`, a batch that did not complete in time too, with kNotReady and no step;
  // nothing is thrown.
  BatchTimes run(std::size_t iterations, const Limits& limits, std::uint32_t& number,
                 std::span<double> streamNs, StepResult& failed);

 private:
  cu::Result begin(std::uint64_t gateNs);
  cu::Result end();
  void open() noexcept;
  cu::Result waitForEnd(std::uint64_t deadlineNs) const;
  cu::Result elapsed(const Event& from, const Event& to, double& ns) const;

  const Resources& resources_;
  const StepTable& operations_;
  std::unique_ptr<PinnedMemory> words_;
  volatile std::uint32_t* flag_ = nullptr;
  volatile std::uint32_t* outcome_ = nullptr;
  std::uint32_t opened_ = 0;
  std::unique_ptr<KernelLaunch> gate_;
  std::vector<std::unique_ptr<Event>> starts_;
  std::vector<std::unique_ptr<Event>> ends_;
  std::unique_ptr<Event> allEnded_;
};

}  // namespace p2p
