// Virtual memory: physical memory, reserved addresses, and mappings of the one at the other.
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <set>

#include "fake_calls.h"
#include "fake_gpus.h"
#include "fake_memory.h"
#include "fake_registry.h"
#include "fake_settings.h"
#include "fake_shared.h"
#include "fake_space.h"

using namespace p2p::cu;
using namespace fake;

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

struct Physical {
  std::shared_ptr<Allocation> memory;  // never entered: only mappings have addresses
  bool exportable = false;
};

Registry<Physical>& physicals() {
  static auto& once = *new Registry<Physical>("memoryHandles");
  return once;
}

// GPUs that may access a mapping; none before cuMemSetAccess, not even the one that has the memory.
struct Access {
  std::mutex mutex;
  std::set<int> gpus;
};

struct Reservations {
  std::mutex mutex;
  std::map<DevicePtr, std::size_t> ranges;
  std::map<DevicePtr, std::shared_ptr<Access>> access;  // of each mapping

  Reservations() {
    countAlive("reservations", [this] {
      const std::lock_guard lock(mutex);
      return ranges.size();
    });
  }

  bool holds(DevicePtr address, std::size_t bytes) const {
    auto it = ranges.upper_bound(address);
    if (it == ranges.begin()) return false;
    --it;
    return address - it->first < it->second && bytes <= it->second - (address - it->first);
  }
};

Reservations& reservations() {
  static Reservations& once = *new Reservations();
  return once;
}

Physical* toPhysical(MemoryHandle handle) {
  return reinterpret_cast<Physical*>(static_cast<std::uintptr_t>(handle));
}

bool usable(const MemoryAllocationProp& prop) {
  return prop.type == kAllocationPinned && prop.location.type == kLocationDevice && prop.location.id >= 0 &&
         prop.location.id < deviceCount();
}

}  // namespace

extern "C" {

Result cuMemGetAllocationGranularity(std::size_t* bytes, const MemoryAllocationProp* prop, Granularity) {
  ENTER("cuMemGetAllocationGranularity");
  if (!usable(*prop)) return kInvalidValue;
  *bytes = kGranularity;
  return kSuccess;
}

Result cuMemCreate(MemoryHandle* handle, std::size_t bytes, const MemoryAllocationProp* prop,
                   unsigned long long) {
  ENTER("cuMemCreate");
  if (!usable(*prop) || bytes % kGranularity != 0) return kInvalidValue;
  // Fabric handles need a channel of the fabric's service, which a single machine seldom has.
  if (prop->requestedHandleTypes & kHandleFabric) return kNotPermitted;
  Result result = kSuccess;
  auto memory = newDeviceMemory(Allocation::Kind::kMapping, bytes, prop->location.id, result);
  if (!memory) return result;
  *handle = reinterpret_cast<std::uintptr_t>(physicals().add(std::make_shared<Physical>(
      Physical{std::move(memory), (prop->requestedHandleTypes & kHandlePosixFile) != 0})));
  return kSuccess;
}

Result cuMemRelease(MemoryHandle handle) {
  ENTER("cuMemRelease");
  return physicals().remove(toPhysical(handle)) ? kSuccess : kInvalidValue;
}

// The file descriptor is one of a file that holds what a handle of IPC does.
Result cuMemExportToShareableHandle(void* handle, MemoryHandle memory, MemoryHandleType type,
                                    unsigned long long) {
  ENTER("cuMemExportToShareableHandle");
  const auto physical = physicals().find(toPhysical(memory));
  if (!physical || !physical->exportable || type != kHandlePosixFile) return kInvalidValue;
  const Shared shared = sharedOf(*physical->memory);
  const int file = memfd_create("p2plab-export", MFD_CLOEXEC);
  if (file < 0 || write(file, &shared, sizeof shared) != sizeof shared) return kOutOfMemory;
  *static_cast<int*>(handle) = file;
  return kSuccess;
}

Result cuMemImportFromShareableHandle(MemoryHandle* handle, void* named, MemoryHandleType type) {
  ENTER("cuMemImportFromShareableHandle");
  const int file = static_cast<int>(reinterpret_cast<std::uintptr_t>(named));
  Shared shared{};
  if (type != kHandlePosixFile || pread(file, &shared, sizeof shared, 0) != sizeof shared ||
      shared.magic != kSharedMagic)
    return kInvalidValue;
  const int owner = deviceAt(shared.place);
  if (owner < 0) return kInvalidDevice;
  std::byte* const data = mapShared(shared);
  if (!data) return kMapFailed;
  auto memory = std::make_shared<Allocation>(Allocation::Kind::kMapping, 0, shared.bytes, owner, data);
  memory->release = [data, bytes = shared.bytes] { munmap(data, bytes); };
  *handle = reinterpret_cast<std::uintptr_t>(
      physicals().add(std::make_shared<Physical>(Physical{std::move(memory)})));
  return kSuccess;
}

Result cuMemAddressReserve(DevicePtr* address, std::size_t bytes, std::size_t, DevicePtr,
                           unsigned long long) {
  ENTER("cuMemAddressReserve");
  if (bytes == 0 || bytes % kGranularity != 0) return kInvalidValue;
  *address = takeRange(bytes);
  if (!*address) return kOutOfMemory;
  const std::lock_guard lock(reservations().mutex);
  reservations().ranges[*address] = bytes;
  return kSuccess;
}

Result cuMemAddressFree(DevicePtr address, std::size_t bytes) {
  ENTER("cuMemAddressFree");
  const std::lock_guard lock(reservations().mutex);
  auto& ranges = reservations().ranges;
  const auto it = ranges.find(address);
  if (it == ranges.end() || it->second != bytes) return kInvalidValue;
  const auto mapped = reservations().access.lower_bound(address);
  if (mapped != reservations().access.end() && mapped->first < address + bytes) return kInvalidValue;
  ranges.erase(it);
  giveRange(address);
  return kSuccess;
}

Result cuMemMap(DevicePtr address, std::size_t bytes, std::size_t offset, MemoryHandle handle,
                unsigned long long) {
  ENTER("cuMemMap");
  const auto physical = physicals().find(toPhysical(handle));
  if (!physical || offset != 0 || bytes == 0 || bytes > physical->memory->bytes) return kInvalidValue;
  const std::lock_guard lock(reservations().mutex);
  if (!reservations().holds(address, bytes)) return kInvalidValue;
  const std::shared_ptr<Allocation>& memory = physical->memory;
  auto mapping =
      std::make_shared<Allocation>(Allocation::Kind::kMapping, address, bytes, memory->gpu, memory->data);
  auto access = std::make_shared<Access>();
  mapping->access = [access](int gpu) {
    const std::lock_guard own(access->mutex);
    return access->gpus.contains(gpu);
  };
  // A mapping holds its memory, handle or not.
  mapping->release = [memory] {};
  if (!enterAllocation(std::move(mapping))) return kInvalidValue;
  reservations().access[address] = std::move(access);
  return kSuccess;
}

Result cuMemUnmap(DevicePtr address, std::size_t bytes) {
  ENTER("cuMemUnmap");
  const std::lock_guard lock(reservations().mutex);
  const auto allocation = allocationAt(address);
  if (!allocation || allocation->bytes != bytes) return kInvalidValue;
  if (!leaveAllocation(address, {Allocation::Kind::kMapping})) return kInvalidValue;
  reservations().access.erase(address);
  return kSuccess;
}

Result cuMemSetAccess(DevicePtr address, std::size_t bytes, const MemoryAccessDesc* access,
                      std::size_t count) {
  ENTER("cuMemSetAccess");
  const std::lock_guard lock(reservations().mutex);
  const auto allocation = allocationAt(address);
  const auto it = reservations().access.find(address);
  if (it == reservations().access.end() || !allocation || allocation->bytes != bytes) return kInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    const int gpu = access[i].location.id;
    if (access[i].location.type != kLocationDevice || gpu < 0 || gpu >= deviceCount()) return kInvalidValue;
    if (gpu != allocation->gpu && faulty(Fault::kNoPeer, gpu, allocation->gpu)) return kInvalidDevice;
    const std::lock_guard own(it->second->mutex);
    if (access[i].flags == kAccessNone)
      it->second->gpus.erase(gpu);
    else
      it->second->gpus.insert(gpu);
  }
  return kSuccess;
}

}  // extern "C"
