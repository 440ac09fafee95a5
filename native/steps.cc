#include "steps.h"

#include <sched.h>

#include "clock.h"

namespace p2p {

namespace {

Step resolve(const OperationRow& row, int index, const Resources& resources, bool bounded) {
  Step step{};
  step.operation = index;
  step.stream = resources.stream(row.stream).handle();
  switch (row.code) {
    case Opcode::kCopy:
      step.what = row.flag == static_cast<int>(CopyApi::kPeer) ? Step::Do::kCopyPeer : Step::Do::kCopy;
      step.src = resources.address(row.a) + row.srcOffset;
      step.dst = resources.address(row.b) + row.dstOffset;
      step.bytes = row.bytes;
      break;
    case Opcode::kRecord:
      step.what = Step::Do::kRecord;
      step.event = resources.event(row.a)->handle();
      break;
    case Opcode::kWait:
      step.what = Step::Do::kWait;
      step.event = resources.event(row.a)->handle();
      break;
    case Opcode::kSync:
      step.what = row.flag == static_cast<int>(SyncMethod::kSpin)    ? Step::Do::kSpin
                  : row.flag == static_cast<int>(SyncMethod::kYield) ? Step::Do::kYield
                  : bounded                                          ? Step::Do::kYield
                                                                     : Step::Do::kBlock;
      break;
  }
  return step;
}

// How many polls pass between two looks at the clock: a query takes a few hundred nanoseconds, so that a
// deadline is noticed within some tens of microseconds and the polls are hardly slowed.
constexpr unsigned kPollsPerLook = 64;

template <bool kYielding>
cu::Result poll(const cu::EntryPoints& driver, cu::Stream stream, std::uint64_t deadlineNs) noexcept {
  for (;;) {
    for (unsigned i = 0; i < kPollsPerLook; ++i) {
      const cu::Result result = driver.cuStreamQuery(stream);
      if (result != cu::kNotReady) return result;
      if constexpr (kYielding) sched_yield();
    }
    if (nowNs() >= deadlineNs) return cu::kNotReady;
  }
}

}  // namespace

StepTable buildSteps(const ProgramRows& program, const Resources& resources, bool bounded) {
  StepTable table;
  cu::Context current = nullptr;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const OperationRow& row = program.operations[i];
    Step step = resolve(row, static_cast<int>(i), resources, bounded);
    if (step.what == Step::Do::kCopyPeer) {
      const auto gpuOf = [&](int buffer) { return program.buffers[static_cast<std::size_t>(buffer)].gpu; };
      step.context = resources.context(gpuOf(row.b))->handle();
      step.srcContext = resources.context(gpuOf(row.a))->handle();
    }
    if (row.code != Opcode::kSync) {
      // As a program of several GPUs does with cudaSetDevice: submit with the stream's own context current.
      const cu::Context own = resources.stream(row.stream).context()->handle();
      if (!current) {
        table.first = resources.stream(row.stream).context().get();
      } else if (own != current) {
        Step change{};
        change.what = Step::Do::kSetContext;
        change.operation = static_cast<int>(i);
        change.context = own;
        table.steps.push_back(change);
        table.switches = true;
      }
      current = own;
      table.steps.push_back(step);
      table.submitEnd = table.steps.size();
    } else {
      table.steps.push_back(step);
    }
  }
  if (!table.first) table.first = resources.stream(program.operations.front().stream).context().get();
  return table;
}

StepResult runSteps(const cu::EntryPoints& driver, const Step* begin, const Step* end,
                    std::uint64_t deadlineNs) noexcept {
  for (const Step* step = begin; step != end; ++step) {
    cu::Result result = cu::kSuccess;
    switch (step->what) {
      case Step::Do::kSetContext:
        result = driver.cuCtxSetCurrent(step->context);
        break;
      case Step::Do::kCopy:
        result = driver.cuMemcpyAsync(step->dst, step->src, step->bytes, step->stream);
        break;
      case Step::Do::kCopyPeer:
        result = driver.cuMemcpyPeerAsync(step->dst, step->context, step->src, step->srcContext, step->bytes,
                                          step->stream);
        break;
      case Step::Do::kRecord:
        result = driver.cuEventRecord(step->event, step->stream);
        break;
      case Step::Do::kWait:
        result = driver.cuStreamWaitEvent(step->stream, step->event, 0);
        break;
      case Step::Do::kSpin:
        result = poll<false>(driver, step->stream, deadlineNs);
        break;
      case Step::Do::kYield:
        result = poll<true>(driver, step->stream, deadlineNs);
        break;
      case Step::Do::kBlock:
        result = driver.cuStreamSynchronize(step->stream);
        break;
    }
    if (result != cu::kSuccess) [[unlikely]]
      return {result, step};
  }
  return {};
}

const char* callName(Step::Do what) {
  switch (what) {
    case Step::Do::kSetContext:
      return "cuCtxSetCurrent";
    case Step::Do::kCopy:
      return "cuMemcpyAsync";
    case Step::Do::kCopyPeer:
      return "cuMemcpyPeerAsync";
    case Step::Do::kRecord:
      return "cuEventRecord";
    case Step::Do::kWait:
      return "cuStreamWaitEvent";
    case Step::Do::kSpin:
    case Step::Do::kYield:
      return "cuStreamQuery";
    case Step::Do::kBlock:
      return "cuStreamSynchronize";
  }
  return "?";
}

}  // namespace p2p
