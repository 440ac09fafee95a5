#include "pointer_facts.h"

#include "context.h"
#include "driver_library.h"

namespace p2p {

namespace {

template <typename T>
std::optional<T> attributeOf(cu::DevicePtr address, cu::PointerAttribute which) {
  T value{};
  if (driver().cuPointerGetAttribute(&value, which, address) != cu::kSuccess) return std::nullopt;
  return value;
}

// The driver answers it for the kernels of the current context, and for nobody where none is current. Asked
// in the context that the memory was allocated in.
std::optional<cu::DevicePtr> devicePointerOf(cu::DevicePtr address, int gpu) {
  if (gpu < 0) return std::nullopt;
  const std::shared_ptr<DeviceContext> context = DeviceContext::of(gpu);
  const CurrentContext current(*context);
  return attributeOf<cu::DevicePtr>(address, cu::kPointerDevicePointer);
}

}  // namespace

PointerFacts pointerFacts(cu::DevicePtr address) {
  PointerFacts facts;
  facts.memoryType = attributeOf<unsigned>(address, cu::kPointerMemoryType);
  facts.gpu = attributeOf<int>(address, cu::kPointerDeviceOrdinal);
  const auto managed = attributeOf<unsigned>(address, cu::kPointerIsManaged);
  if (managed) facts.managed = *managed != 0;
  if (facts.gpu) facts.devicePointer = devicePointerOf(address, *facts.gpu);
  facts.hostPointer = attributeOf<std::uint64_t>(address, cu::kPointerHostPointer);
  facts.rangeStart = attributeOf<cu::DevicePtr>(address, cu::kPointerRangeStart);
  facts.rangeBytes = attributeOf<std::uint64_t>(address, cu::kPointerRangeSize);
  return facts;
}

}  // namespace p2p
