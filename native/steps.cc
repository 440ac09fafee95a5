#include "steps.h"

#include <sched.h>

#include "clock.h"

namespace p2p {

namespace {

// How many polls pass between two looks at the clock: a query takes a few hundred nanoseconds, so that a
// deadline is noticed within some tens of microseconds and the polls are hardly slowed.
constexpr unsigned kPollsPerLook = 64;
// A look at a word takes about a nanosecond.
constexpr unsigned kLooksPerLook = 4096;

template <bool kYielding, typename Query>
cu::Result poll(Query query, std::uint64_t deadlineNs) noexcept {
  for (;;) {
    for (unsigned i = 0; i < kPollsPerLook; ++i) {
      const cu::Result result = query();
      if (result != cu::kNotReady) return result;
      if constexpr (kYielding) sched_yield();
    }
    if (nowNs() >= deadlineNs) return cu::kNotReady;
  }
}

// A stream whose context broke never writes its word: the stream is asked when the deadline has passed.
cu::Result pollWord(const cu::EntryPoints& driver, const Step& step, std::uint32_t number,
                    std::uint64_t deadlineNs) noexcept {
  for (;;) {
    for (unsigned i = 0; i < kLooksPerLook; ++i) {
      if (*step.word == number) return cu::kSuccess;
    }
    if (nowNs() < deadlineNs) continue;
    const cu::Result result = driver.cuStreamQuery(step.stream);
    return result == cu::kSuccess && *step.word != number ? cu::kNotReady : result;
  }
}

// The description is made anew each time, as a program does that copies a box.
cu::Result copy3d(const cu::EntryPoints& driver, const Step& step) noexcept {
  const auto endOf = [&](cu::DevicePtr address, cu::Context context) {
    cu::Copy3dPeer::End end{};
    end.memoryType = cu::kMemoryTypeDevice;
    end.device = address;
    end.context = context;
    end.pitch = step.bytes;
    end.height = 1;
    return end;
  };
  const cu::Copy3dPeer copy{endOf(step.src, step.srcContext), endOf(step.dst, step.context), step.bytes, 1,
                            1};
  return driver.cuMemcpy3DPeerAsync(&copy, step.stream);
}

}  // namespace

StepResult runSteps(const cu::EntryPoints& driver, const Step* begin, const Step* end,
                    std::uint64_t deadlineNs, std::uint32_t number) noexcept {
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
      case Step::Do::kCopyPeer3d:
        result = copy3d(driver, *step);
        break;
      case Step::Do::kCopyBatch:
        result = step->batch->submit(driver, step->stream);
        break;
      case Step::Do::kRecord:
        result = driver.cuEventRecord(step->event, step->stream);
        break;
      case Step::Do::kWait:
        result = driver.cuStreamWaitEvent(step->stream, step->event, 0);
        break;
      case Step::Do::kWriteValue:
        result = driver.cuStreamWriteValue32_v2(step->stream, step->dst, number, 0);
        break;
      case Step::Do::kWaitValue:
        result = driver.cuStreamWaitValue32_v2(step->stream, step->dst, number, cu::kWaitValueGeq);
        break;
      case Step::Do::kLaunch:
        result = step->launch->submit(driver, step->stream);
        break;
      case Step::Do::kGraph:
        result = driver.cuGraphLaunch(step->graph, step->stream);
        break;
      case Step::Do::kSpin:
        result = poll<false>([&] { return driver.cuStreamQuery(step->stream); }, deadlineNs);
        break;
      case Step::Do::kYield:
        result = poll<true>([&] { return driver.cuStreamQuery(step->stream); }, deadlineNs);
        break;
      case Step::Do::kBlock:
        result = driver.cuStreamSynchronize(step->stream);
        break;
      case Step::Do::kPollEvent:
        result = poll<false>([&] { return driver.cuEventQuery(step->event); }, deadlineNs);
        break;
      case Step::Do::kPollFlag:
        result = pollWord(driver, *step, number, deadlineNs);
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
    case Step::Do::kCopyPeer3d:
      return "cuMemcpy3DPeerAsync";
    case Step::Do::kCopyBatch:
      return "cuMemcpyBatchAsync";
    case Step::Do::kRecord:
      return "cuEventRecord";
    case Step::Do::kWait:
      return "cuStreamWaitEvent";
    case Step::Do::kWriteValue:
      return "cuStreamWriteValue32";
    case Step::Do::kWaitValue:
      return "cuStreamWaitValue32";
    case Step::Do::kLaunch:
      return "cuLaunchKernel";
    case Step::Do::kGraph:
      return "cuGraphLaunch";
    case Step::Do::kPollEvent:
      return "cuEventQuery";
    case Step::Do::kSpin:
    case Step::Do::kYield:
    case Step::Do::kPollFlag:
      return "cuStreamQuery";
    case Step::Do::kBlock:
      return "cuStreamSynchronize";
  }
  return "?";
}

}  // namespace p2p
