// One iteration of a program as a table of driver calls with every handle resolved, and the loop over it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda_api.h"
#include "program.h"
#include "resources.h"

namespace p2p {

struct Step {
  enum class Do : std::uint8_t { kSetContext, kCopy, kCopyPeer, kRecord, kWait, kSpin, kYield, kBlock };

  Do what;
  int operation;  // row of the program it comes from
  cu::Stream stream = nullptr;
  cu::Context context = nullptr;  // kSetContext: the new one; kCopyPeer: the destination's
  cu::Context srcContext = nullptr;
  cu::DevicePtr dst = 0;
  cu::DevicePtr src = 0;
  std::size_t bytes = 0;
  cu::Event event = nullptr;
};

struct StepTable {
  std::vector<Step> steps;
  // Steps before it end with the last submit call; only syncs come after.
  std::size_t submitEnd = 0;
  // Context of the first submit, current when an iteration begins; to be set again each time when `switches`
  // is true.
  const DeviceContext* first = nullptr;
  bool switches = false;
};

// `bounded` turns blocking syncs, which no deadline can end, into polling ones.
StepTable buildSteps(const ProgramRows& program, const Resources& resources, bool bounded);

// Where an iteration failed.
struct StepResult {
  cu::Result result = cu::kSuccess;
  const Step* step = nullptr;
};

// Runs steps until one fails; a polling sync that is not complete at `deadlineNs` fails with kNotReady. No
// allocation.
StepResult runSteps(const cu::EntryPoints& driver, const Step* begin, const Step* end,
                    std::uint64_t deadlineNs) noexcept;

const char* callName(Step::Do what);

}  // namespace p2p
