// Memory set by copy engines.
#include <cstring>
#include <vector>

#include "../../native/cupti_api.h"
#include "fake_calls.h"
#include "fake_settings.h"
#include "fake_stream.h"
#include "fake_tracing.h"
#include "fake_view.h"

using namespace p2p::cu;
using namespace fake;

namespace {

template <typename Value>
Result set(std::uint32_t cbid, DevicePtr address, Value value, std::size_t count, Stream stream) {
  const TracedCall traced(cbid);
  const auto on = findStream(stream);
  if (!on) return kInvalidHandle;
  if (const Result state = on->context->broken) return state;
  const auto allocation = allocationAt(address);
  const std::size_t bytes = count * sizeof(Value);
  if (!allocation || bytes > allocation->bytes - (address - allocation->address)) return kInvalidValue;
  if (address % sizeof(Value) != 0) return kInvalidValue;
  const int gpu = on->context->gpu;
  submit(on, kNodeMemset, [=, correlation = traced.correlation(), id = on->id] {
    FakeActivity work{FakeActivity::What::kMemset, correlation, nowNs(), 0};
    const std::vector<Value> values(count, value);
    const View view(gpu, address, bytes, View::By::kCopyEngine);
    view.write(0, values.data(), bytes);
    work.endNs = nowNs();
    work.device = static_cast<std::uint32_t>(gpu);
    work.stream = id;
    work.bytes = bytes;
    work.value = value;
    traceWork(work);
  });
  return kSuccess;
}

}  // namespace

extern "C" {

Result cuMemsetD8Async(DevicePtr address, unsigned char value, std::size_t count, Stream stream) {
  ENTER("cuMemsetD8Async");
  return set<std::uint8_t>(p2p::cupti::kCbidMemsetD8Async, address, value, count, stream);
}

Result cuMemsetD16Async(DevicePtr address, unsigned short value, std::size_t count, Stream stream) {
  ENTER("cuMemsetD16Async");
  return set<std::uint16_t>(p2p::cupti::kCbidMemsetD16Async, address, value, count, stream);
}

Result cuMemsetD32Async(DevicePtr address, unsigned value, std::size_t count, Stream stream) {
  ENTER("cuMemsetD32Async");
  return set<std::uint32_t>(p2p::cupti::kCbidMemsetD32Async, address, value, count, stream);
}

}  // extern "C"
