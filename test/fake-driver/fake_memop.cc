// Stream memory operations: a stream writes a word, or waits for one.
#include "fake_calls.h"
#include "fake_stream.h"
#include "fake_tracing.h"
#include "fake_view.h"

using namespace p2p::cu;
using namespace fake;

namespace {

// CUPTI's numbers of the calls.
constexpr std::uint32_t kWriteCbid = 663;
constexpr std::uint32_t kWaitCbid = 659;
constexpr std::size_t kWord = sizeof(std::uint32_t);

// What both refuse.
Result check(const std::shared_ptr<CUstream_st>& stream, DevicePtr address) {
  if (!stream) return kInvalidHandle;
  if (const Result state = stream->context->broken) return state;
  const auto allocation = allocationAt(address);
  const bool usable = allocation && address % kWord == 0 && allocation->reachableFrom(stream->context->gpu);
  return usable && kWord <= allocation->bytes - (address - allocation->address) ? kSuccess : kInvalidValue;
}

}  // namespace

extern "C" {

Result cuStreamWriteValue32_v2(Stream stream, DevicePtr address, std::uint32_t value, unsigned flags) {
  ENTER("cuStreamWriteValue32_v2");
  const TracedCall traced(kWriteCbid);
  const auto on = findStream(stream);
  if (const Result refused = check(on, address)) return refused;
  if (flags != 0) return kInvalidValue;
  const int gpu = on->context->gpu;
  submit(on, kNodeBatchMemOp, [=] { View(gpu, address, kWord).store(value); });
  return kSuccess;
}

Result cuStreamWaitValue32_v2(Stream stream, DevicePtr address, std::uint32_t value, unsigned flags) {
  ENTER("cuStreamWaitValue32_v2");
  const TracedCall traced(kWaitCbid);
  const auto on = findStream(stream);
  if (const Result refused = check(on, address)) return refused;
  if (flags != kWaitValueGeq && flags != kWaitValueEq) return kInvalidValue;
  const int gpu = on->context->gpu;
  submit(on, kNodeBatchMemOp, [=] {
    const View word(gpu, address, kWord);
    waitUntil([&] {
      const auto found = word.load<std::uint32_t>();
      return flags == kWaitValueEq ? found == value : static_cast<std::int32_t>(found - value) >= 0;
    });
  });
  return kSuccess;
}

}  // extern "C"
