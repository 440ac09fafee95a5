// One iteration of a program as a table of driver calls with every handle resolved, and the loop over it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "batch_copy.h"
#include "cuda_api.h"
#include "handshakes.h"
#include "program.h"
#include "resources.h"
#include "transfer_launch.h"

namespace p2p {

struct Step {
  enum class Do : std::uint8_t {
    kSetContext,
    kCopy,
    kCopyPeer,
    kCopyPeer3d,
    kCopyBatch,
    kRecord,
    kWait,
    kWriteValue,
    kWaitValue,
    kLaunch,
    kGraph,
    // Syncs.
    kSpin,
    kYield,
    kBlock,
    kPollEvent,
    kPollFlag,
  };

  Do what;
  int operation;  // row of the program it comes from
  cu::Stream stream = nullptr;
  cu::Context context = nullptr;  // kSetContext: the new one; kCopyPeer…: the destination's
  cu::Context srcContext = nullptr;
  cu::DevicePtr dst = 0;  // kWriteValue, kWaitValue: the word
  cu::DevicePtr src = 0;
  std::size_t bytes = 0;
  cu::Event event = nullptr;
  const KernelLaunch* launch = nullptr;
  BatchCopy* batch = nullptr;
  cu::GraphExec graph = nullptr;
  const volatile std::uint32_t* word = nullptr;  // kPollFlag
};

struct StepTable {
  std::vector<Step> steps;
  // Steps before it end with the last submit call; only syncs come after.
  std::size_t submitEnd = 0;
  // Context of the first submit, current when an iteration begins; to be set again each time when `switches`
  // is true.
  std::shared_ptr<DeviceContext> first;
  bool switches = false;
  // Streams that work is submitted to, in the order of their first use.
  std::vector<int> streams;
  // What the steps point into.
  std::vector<std::unique_ptr<KernelLaunch>> launches;
  std::vector<std::unique_ptr<BatchCopy>> batches;

  const Step* begin() const { return steps.data(); }
  const Step* submitted() const { return steps.data() + submitEnd; }
  const Step* end() const { return steps.data() + steps.size(); }
};

// What becomes of the host syncs of a program: done as written; as polls, which a deadline can end where it
// cannot end a blocking one; or left out.
enum class Syncs { kAsWritten, kPolled, kLeftOut };

StepTable buildSteps(const ProgramRows& program, const Resources& resources, const Handshakes& handshakes,
                     Syncs syncs);

// The same for a program whose operations a graph does: one launch into the first stream, and all syncs
// there.
StepTable buildGraphSteps(const ProgramRows& program, const Resources& resources, cu::GraphExec graph,
                          Syncs syncs);

// Where an iteration failed.
struct StepResult {
  cu::Result result = cu::kSuccess;
  const Step* step = nullptr;
};

// Runs steps until one fails; a polling sync that is not complete at `deadlineNs` fails with kNotReady.
// `number` is that of the iteration, from 1. No allocation.
StepResult runSteps(const cu::EntryPoints& driver, const Step* begin, const Step* end,
                    std::uint64_t deadlineNs, std::uint32_t number) noexcept;

const char* callName(Step::Do what);

}  // namespace p2p
