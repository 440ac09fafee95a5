// Memory set by copy engines.
#include <cstring>
#include <vector>

#include "fake_calls.h"
#include "fake_stream.h"
#include "fake_view.h"

using namespace p2p::cu;
using namespace fake;

namespace {

template <typename Value>
Result set(DevicePtr address, Value value, std::size_t count, Stream stream) {
  const auto on = findStream(stream);
  if (!on) return kInvalidHandle;
  if (const Result state = on->context->broken) return state;
  const auto allocation = allocationAt(address);
  const std::size_t bytes = count * sizeof(Value);
  if (!allocation || bytes > allocation->bytes - (address - allocation->address)) return kInvalidValue;
  if (address % sizeof(Value) != 0) return kInvalidValue;
  const int gpu = on->context->gpu;
  submit(on, kNodeMemset, [=] {
    const std::vector<Value> values(count, value);
    const View view(gpu, address, bytes, View::By::kCopyEngine);
    view.write(0, values.data(), bytes);
  });
  return kSuccess;
}

}  // namespace

extern "C" {

Result cuMemsetD8Async(DevicePtr address, unsigned char value, std::size_t count, Stream stream) {
  ENTER("cuMemsetD8Async");
  return set<std::uint8_t>(address, value, count, stream);
}

Result cuMemsetD16Async(DevicePtr address, unsigned short value, std::size_t count, Stream stream) {
  ENTER("cuMemsetD16Async");
  return set<std::uint16_t>(address, value, count, stream);
}

Result cuMemsetD32Async(DevicePtr address, unsigned value, std::size_t count, Stream stream) {
  ENTER("cuMemsetD32Async");
  return set<std::uint32_t>(address, value, count, stream);
}

}  // extern "C"
