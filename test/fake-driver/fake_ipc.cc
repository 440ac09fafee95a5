// Memory of one process in another: the handle names the process, its memory file and the place in it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "fake_calls.h"
#include "fake_context.h"
#include "fake_gpus.h"
#include "fake_memory.h"
#include "fake_settings.h"
#include "fake_shared.h"
#include "fake_space.h"

using namespace p2p::cu;
using namespace fake;

namespace fake {

Shared sharedOf(const Allocation& allocation) {
  return {kSharedMagic, fileOffset(allocation.address), allocation.bytes, getpid(),
          memoryFile(), placeOf(allocation.gpu)};
}

int deviceAt(int place) {
  for (int device = 0; device < deviceCount(); ++device) {
    if (placeOf(device) == place) return device;
  }
  return -1;
}

std::byte* mapShared(const Shared& shared) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", shared.process, shared.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const data = mmap(nullptr, shared.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                          static_cast<off_t>(shared.offset));
  close(file);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

}  // namespace fake

namespace {

// What a context has open: opening it again gives the same address, and takes one more close.
struct Open {
  DevicePtr address;
  int count;
};

std::mutex openMutex;

std::map<std::tuple<int, int, std::uint64_t, int>, Open>& openMemory() {
  static auto& once = *new std::map<std::tuple<int, int, std::uint64_t, int>, Open>();
  return once;
}

}  // namespace

extern "C" {

Result cuIpcGetMemHandle(IpcMemoryHandle* handle, DevicePtr address) {
  ENTER("cuIpcGetMemHandle");
  if (const Result state = currentState()) return state;
  const auto allocation = allocationAt(address);
  // Only plain allocations have handles of this kind.
  if (!allocation || allocation->kind != Allocation::Kind::kDevice) return kInvalidValue;
  const Shared shared = sharedOf(*allocation);
  static_assert(sizeof shared <= sizeof handle->reserved);
  std::memset(handle->reserved, 0, sizeof handle->reserved);
  std::memcpy(handle->reserved, &shared, sizeof shared);
  return kSuccess;
}

Result cuIpcOpenMemHandle_v2(DevicePtr* address, IpcMemoryHandle handle, unsigned flags) {
  ENTER("cuIpcOpenMemHandle_v2");
  if (const Result state = currentState()) return state;
  Shared shared;
  std::memcpy(&shared, handle.reserved, sizeof shared);
  if (flags != kIpcLazyEnablePeerAccess || shared.magic != kSharedMagic) return kInvalidValue;
  // The process that exports memory cannot import it too.
  if (shared.process == getpid()) return kInvalidContext;
  const int owner = deviceAt(shared.place);
  if (owner < 0) return kInvalidDevice;
  const int opener = currentContext()->gpu;
  if (owner != opener && faulty(Fault::kNoPeer, opener, owner)) return kPeerAccessUnsupported;
  const std::lock_guard lock(openMutex);
  const auto key = std::tuple(shared.process, shared.file, shared.offset, opener);
  if (const auto known = openMemory().find(key); known != openMemory().end()) {
    ++known->second.count;
    *address = known->second.address;
    return kSuccess;
  }
  std::byte* const data = mapShared(shared);
  if (!data) return kMapFailed;
  *address = takeRange(shared.bytes);
  if (!*address) {
    munmap(data, shared.bytes);
    return kOutOfMemory;
  }
  auto allocation =
      std::make_shared<Allocation>(Allocation::Kind::kImported, *address, shared.bytes, owner, data);
  allocation->access = [opener, owner](int gpu) {
    return gpu == owner || gpu == opener || peering(gpu, owner);
  };
  allocation->release = [range = *address, data, bytes = shared.bytes] {
    munmap(data, bytes);
    giveRange(range);
  };
  enterAllocation(std::move(allocation));
  openMemory()[key] = {*address, 1};
  return kSuccess;
}

Result cuIpcCloseMemHandle(DevicePtr address) {
  ENTER("cuIpcCloseMemHandle");
  const Result state = currentState();
  const std::lock_guard lock(openMutex);
  for (auto it = openMemory().begin(); it != openMemory().end(); ++it) {
    if (it->second.address != address) continue;
    if (--it->second.count > 0) return state;
    openMemory().erase(it);
    break;
  }
  return leaveAllocation(address, {Allocation::Kind::kImported}) ? state : kInvalidValue;
}

}  // extern "C"
