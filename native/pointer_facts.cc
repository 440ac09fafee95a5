#include "pointer_facts.h"

#include "driver_library.h"

namespace p2p {

namespace {

template <typename T>
std::optional<T> attributeOf(cu::DevicePtr address, cu::PointerAttribute which) {
  T value{};
  if (driver().cuPointerGetAttribute(&value, which, address) != cu::kSuccess) return std::nullopt;
  return value;
}

}  // namespace

PointerFacts pointerFacts(cu::DevicePtr address) {
  PointerFacts facts;
  facts.memoryType = attributeOf<unsigned>(address, cu::kPointerMemoryType);
  facts.gpu = attributeOf<int>(address, cu::kPointerDeviceOrdinal);
  const auto managed = attributeOf<unsigned>(address, cu::kPointerIsManaged);
  if (managed) facts.managed = *managed != 0;
  facts.devicePointer = attributeOf<cu::DevicePtr>(address, cu::kPointerDevicePointer);
  facts.hostPointer = attributeOf<std::uint64_t>(address, cu::kPointerHostPointer);
  facts.rangeStart = attributeOf<cu::DevicePtr>(address, cu::kPointerRangeStart);
  facts.rangeBytes = attributeOf<std::uint64_t>(address, cu::kPointerRangeSize);
  return facts;
}

}  // namespace p2p
