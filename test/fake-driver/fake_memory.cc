#include "fake_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "fake_calls.h"
#include "fake_context.h"
#include "fake_settings.h"
#include "fake_space.h"
#include "fake_worker.h"

using namespace p2p::cu;

namespace fake {

namespace {

using Kind = Allocation::Kind;

struct Memory {
  std::mutex mutex;
  std::map<DevicePtr, std::shared_ptr<Allocation>> allocations;
  std::size_t usedBytes = 0;
  long taken = 0;

  Memory() {
    count("allocations", {Kind::kDevice, Kind::kPinned, Kind::kManaged});
    count("registrations", {Kind::kRegistered});
    count("poolAllocations", {Kind::kPool});
    count("mappings", {Kind::kMapping});
    count("imports", {Kind::kImported});
  }

  void count(const char* name, std::initializer_list<Kind> kinds) {
    countAlive(name, [this, all = std::vector<Kind>(kinds)] {
      const std::lock_guard lock(mutex);
      return static_cast<std::size_t>(
          std::count_if(allocations.begin(), allocations.end(), [&](const auto& entry) {
            return std::find(all.begin(), all.end(), entry.second->kind) != all.end();
          }));
    });
  }

  // The last allocation that begins at or before an address.
  std::shared_ptr<Allocation> before(DevicePtr address) const {
    const auto it = allocations.upper_bound(address);
    return it == allocations.begin() ? nullptr : std::prev(it)->second;
  }
};

Memory& memory() {
  static Memory& once = *new Memory();
  return once;
}

}  // namespace

bool Allocation::reachableFrom(int from) const {
  if (access) return access(from);
  return gpu < 0 || gpu == from || peering(from, gpu);
}

bool enterAllocation(std::shared_ptr<Allocation> allocation) {
  Memory& own = memory();
  const std::lock_guard lock(own.mutex);
  const auto before = own.before(allocation->address + allocation->bytes - 1);
  if (before && before->address + before->bytes > allocation->address) return false;
  own.allocations[allocation->address] = std::move(allocation);
  return true;
}

std::shared_ptr<Allocation> leaveAllocation(DevicePtr address, std::initializer_list<Kind> kinds) {
  Memory& own = memory();
  const std::lock_guard lock(own.mutex);
  const auto it = own.allocations.find(address);
  if (it == own.allocations.end()) return nullptr;
  if (std::find(kinds.begin(), kinds.end(), it->second->kind) == kinds.end()) return nullptr;
  std::shared_ptr<Allocation> gone = std::move(it->second);
  own.allocations.erase(it);
  return gone;
}

std::shared_ptr<Allocation> allocationAt(DevicePtr address) {
  Memory& own = memory();
  const std::lock_guard lock(own.mutex);
  auto allocation = own.before(address);
  return allocation && address - allocation->address < allocation->bytes ? allocation : nullptr;
}

Result takeMemory(std::size_t bytes) {
  Memory& own = memory();
  const std::lock_guard lock(own.mutex);
  const long limit = number("P2PLAB_FAKE_OOM", 0);
  if (limit > 0 && ++own.taken >= limit) return kOutOfMemory;
  if (bytes > memoryLimit() - own.usedBytes) return kOutOfMemory;
  own.usedBytes += bytes;
  return kSuccess;
}

void giveMemory(std::size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  memory().usedBytes -= bytes;
}

std::size_t memoryLimit() {
  static const auto once = static_cast<std::size_t>(number("P2PLAB_FAKE_MEMORY", 1L << 30));
  return once;
}

std::size_t usedMemory() {
  const std::lock_guard lock(memory().mutex);
  return memory().usedBytes;
}

std::shared_ptr<Allocation> newDeviceMemory(Kind kind, std::size_t bytes, int gpu, Result& result) {
  result = bytes == 0 ? kInvalidValue : takeMemory(bytes);
  if (result != kSuccess) return nullptr;
  const DevicePtr address = takeRange(bytes);
  if (!address) {
    giveMemory(bytes);
    result = kOutOfMemory;
    return nullptr;
  }
  auto allocation = std::make_shared<Allocation>(kind, address, bytes, gpu, bytesBehind(address));
  allocation->release = [address, bytes] {
    giveRange(address);
    giveMemory(bytes);
  };
  return allocation;
}

}  // namespace fake

using namespace fake;

extern "C" {

Result cuMemAlloc_v2(DevicePtr* address, std::size_t bytes) {
  ENTER("cuMemAlloc_v2");
  if (const Result state = currentState()) return state;
  Result result = kSuccess;
  const auto allocation = newDeviceMemory(Kind::kDevice, bytes, currentContext()->gpu, result);
  if (!allocation) return result;
  *address = allocation->address;
  enterAllocation(allocation);
  return kSuccess;
}

Result cuMemFree_v2(DevicePtr address) {
  ENTER("cuMemFree_v2");
  if (freeNs() > 0) sleepNs(freeNs());
  const Result state = currentState();
  return leaveAllocation(address, {Kind::kDevice, Kind::kPool, Kind::kManaged}) ? state : kInvalidValue;
}

Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  ENTER("cuMemGetInfo_v2");
  if (const Result state = currentState()) return state;
  *total = memoryLimit();
  *free = *total - usedMemory();
  return kSuccess;
}

Result cuPointerGetAttribute(void* data, PointerAttribute attribute, DevicePtr address) {
  ENTER("cuPointerGetAttribute");
  const auto allocation = allocationAt(address);
  if (!allocation) return kInvalidValue;
  const bool managed = allocation->kind == Kind::kManaged;
  const bool onHost = allocation->gpu < 0;
  switch (attribute) {
    case kPointerMemoryType:
      *static_cast<unsigned*>(data) = onHost && !managed ? kMemoryTypeHost : kMemoryTypeDevice;
      return kSuccess;
    case kPointerDeviceOrdinal:
      *static_cast<int*>(data) = managed ? allocation->madeOn : std::max(allocation->gpu, 0);
      return kSuccess;
    case kPointerIsManaged:
      *static_cast<unsigned*>(data) = managed;
      return kSuccess;
    case kPointerDevicePointer:
      // As kernels of the current context reach it: for nobody without one.
      if (!currentContext()) return kInvalidContext;
      if (!onHost && !allocation->reachableFrom(currentContext()->gpu)) return kInvalidValue;
      *static_cast<DevicePtr*>(data) = address;
      return kSuccess;
    case kPointerHostPointer:
      if (!onHost) return kInvalidValue;
      *static_cast<DevicePtr*>(data) = address;
      return kSuccess;
    case kPointerRangeStart:
      *static_cast<DevicePtr*>(data) = allocation->address;
      return kSuccess;
    case kPointerRangeSize:
      *static_cast<std::size_t*>(data) = allocation->bytes;
      return kSuccess;
    default:
      return kNotSupported;
  }
}

}  // extern "C"
