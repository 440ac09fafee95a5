// Memory of one process in another: the handle names the process, its memory file and the place in it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "fake_calls.h"
#include "fake_context.h"
#include "fake_gpus.h"
#include "fake_memory.h"
#include "fake_settings.h"
#include "fake_space.h"

using namespace p2p::cu;
using namespace fake;

namespace {

constexpr std::uint64_t kMagic = 0x6b61662d63706932;

struct Shared {
  std::uint64_t magic;
  std::uint64_t offset;
  std::uint64_t bytes;
  int process;
  int file;
  int place;  // of the GPU in the machine
};

// The device that has a place in the machine; -1 where CUDA does not show it.
int deviceAt(int place) {
  for (int device = 0; device < deviceCount(); ++device) {
    if (placeOf(device) == place) return device;
  }
  return -1;
}

// The other process's memory, mapped into this one; nullptr when it cannot be reached.
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

}  // namespace

extern "C" {

Result cuIpcGetMemHandle(IpcMemoryHandle* handle, DevicePtr address) {
  ENTER("cuIpcGetMemHandle");
  if (const Result state = currentState()) return state;
  const auto allocation = allocationAt(address);
  // Only plain allocations have handles of this kind.
  if (!allocation || allocation->kind != Allocation::Kind::kDevice) return kInvalidValue;
  const Shared shared{kMagic,       fileOffset(allocation->address), allocation->bytes, getpid(),
                      memoryFile(), placeOf(allocation->gpu)};
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
  if (flags != kIpcLazyEnablePeerAccess || shared.magic != kMagic) return kInvalidValue;
  // The process that exports memory cannot import it too.
  if (shared.process == getpid()) return kInvalidContext;
  const int owner = deviceAt(shared.place);
  if (owner < 0) return kInvalidDevice;
  const int opener = currentContext()->gpu;
  if (owner != opener && faulty(Fault::kNoPeer, opener, owner)) return kPeerAccessUnsupported;
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
  return kSuccess;
}

Result cuIpcCloseMemHandle(DevicePtr address) {
  ENTER("cuIpcCloseMemHandle");
  const Result state = currentState();
  return leaveAllocation(address, {Allocation::Kind::kImported}) ? state : kInvalidValue;
}

}  // extern "C"
