#include "fake_memory.h"

#include <cstdlib>
#include <cstring>

#include "fake_calls.h"
#include "fake_context.h"
#include "fake_settings.h"
#include "fake_space.h"

using namespace p2p::cu;

namespace fake {

namespace {

struct Memory {
  std::mutex mutex;
  std::map<DevicePtr, std::shared_ptr<Allocation>> allocations;
  std::size_t usedBytes = 0;

  Memory() {
    countAlive("allocations", [this] {
      const std::lock_guard lock(mutex);
      return allocations.size();
    });
  }
};

Memory& memory() {
  static Memory& once = *new Memory();
  return once;
}

Result allocate(DevicePtr* address, std::size_t bytes, int gpu) {
  if (bytes == 0) return kInvalidValue;
  Memory& own = memory();
  const std::lock_guard lock(own.mutex);
  if (bytes > memoryLimit() - own.usedBytes) return kOutOfMemory;
  *address = takeRange(bytes);
  if (!*address) return kOutOfMemory;
  own.usedBytes += bytes;
  own.allocations[*address] =
      std::make_shared<Allocation>(Allocation::Kind::kDevice, *address, bytes, gpu, bytesBehind(*address));
  return kSuccess;
}

// Takes an allocation of that kind off the books; work in flight may still hold its bytes.
bool release(DevicePtr address, Allocation::Kind kind) {
  Memory& own = memory();
  std::shared_ptr<Allocation> gone;
  const std::lock_guard lock(own.mutex);
  const auto it = own.allocations.find(address);
  if (it == own.allocations.end() || it->second->kind != kind) return false;
  if (kind == Allocation::Kind::kDevice) own.usedBytes -= it->second->bytes;
  gone = std::move(it->second);
  own.allocations.erase(it);
  return true;
}

}  // namespace

Allocation::~Allocation() {
  if (kind == Kind::kDevice) giveRange(address);
  if (kind == Kind::kPinned) std::free(data);
}

bool Allocation::reachableFrom(int from) const {
  return gpu < 0 || gpu == from || peering(from, gpu);
}

std::shared_ptr<Allocation> allocationAt(DevicePtr address) {
  Memory& own = memory();
  const std::lock_guard lock(own.mutex);
  auto it = own.allocations.upper_bound(address);
  if (it == own.allocations.begin()) return nullptr;
  --it;
  return address < it->first + it->second->bytes ? it->second : nullptr;
}

std::size_t memoryLimit() {
  static const auto once = static_cast<std::size_t>(number("P2PLAB_FAKE_MEMORY", 1L << 30));
  return once;
}

}  // namespace fake

using namespace fake;

extern "C" {

Result cuMemAlloc_v2(DevicePtr* address, std::size_t bytes) {
  ENTER("cuMemAlloc_v2");
  if (const Result state = currentState()) return state;
  return allocate(address, bytes, currentContext()->gpu);
}

Result cuMemFree_v2(DevicePtr address) {
  ENTER("cuMemFree_v2");
  const Result state = currentState();
  return release(address, Allocation::Kind::kDevice) ? state : kInvalidValue;
}

Result cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  if (const Result state = currentState()) return state;
  if (bytes == 0) return kInvalidValue;
  if (posix_memalign(data, 4096, bytes) != 0) return kOutOfMemory;
  const auto address = reinterpret_cast<DevicePtr>(*data);
  const std::lock_guard lock(memory().mutex);
  memory().allocations[address] = std::make_shared<Allocation>(Allocation::Kind::kPinned, address, bytes, -1,
                                                               static_cast<std::byte*>(*data));
  return kSuccess;
}

Result cuMemFreeHost(void* data) {
  ENTER("cuMemFreeHost");
  const Result state = currentState();
  return release(reinterpret_cast<DevicePtr>(data), Allocation::Kind::kPinned) ? state : kInvalidValue;
}

}  // extern "C"
