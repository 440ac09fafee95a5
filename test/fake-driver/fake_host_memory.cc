// Page-locked host memory: of the driver's own, and of the program's by registration.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "fake_calls.h"
#include "fake_context.h"
#include "fake_memory.h"
#include "fake_space.h"

using namespace p2p::cu;
using namespace fake;

using Kind = Allocation::Kind;

extern "C" {

Result cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  if (const Result state = currentState()) return state;
  if (bytes == 0) return kInvalidValue;
  void* memory = nullptr;
  if (posix_memalign(&memory, 4096, bytes) != 0) return kOutOfMemory;
  std::memset(memory, kGarbage, std::min(bytes, kGarbageBytes));
  auto allocation = std::make_shared<Allocation>(Kind::kPinned, reinterpret_cast<DevicePtr>(memory), bytes,
                                                 -1, static_cast<std::byte*>(memory));
  allocation->release = [memory] { std::free(memory); };
  enterAllocation(std::move(allocation));
  *data = memory;
  return kSuccess;
}

Result cuMemAllocManaged(DevicePtr* address, std::size_t bytes, unsigned) {
  ENTER("cuMemAllocManaged");
  if (const Result state = currentState()) return state;
  if (bytes == 0) return kInvalidValue;
  void* memory = nullptr;
  if (posix_memalign(&memory, 4096, bytes) != 0) return kOutOfMemory;
  std::memset(memory, kGarbage, std::min(bytes, kGarbageBytes));
  auto allocation = std::make_shared<Allocation>(Kind::kManaged, reinterpret_cast<DevicePtr>(memory), bytes,
                                                 -1, static_cast<std::byte*>(memory));
  allocation->madeOn = currentContext()->gpu;
  allocation->release = [memory] { std::free(memory); };
  *address = allocation->address;
  enterAllocation(std::move(allocation));
  return kSuccess;
}

Result cuMemFreeHost(void* data) {
  ENTER("cuMemFreeHost");
  const Result state = currentState();
  return leaveAllocation(reinterpret_cast<DevicePtr>(data), {Kind::kPinned}) ? state : kInvalidValue;
}

Result cuMemHostRegister_v2(void* data, std::size_t bytes, unsigned) {
  ENTER("cuMemHostRegister_v2");
  if (const Result state = currentState()) return state;
  if (!data || bytes == 0) return kInvalidValue;
  auto allocation = std::make_shared<Allocation>(Kind::kRegistered, reinterpret_cast<DevicePtr>(data), bytes,
                                                 -1, static_cast<std::byte*>(data));
  return enterAllocation(std::move(allocation)) ? kSuccess : kHostMemoryAlreadyRegistered;
}

Result cuMemHostUnregister(void* data) {
  ENTER("cuMemHostUnregister");
  const Result state = currentState();
  const auto gone = leaveAllocation(reinterpret_cast<DevicePtr>(data), {Kind::kRegistered});
  return gone ? state : kHostMemoryNotRegistered;
}

}  // extern "C"
