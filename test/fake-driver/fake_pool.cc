// Stream-ordered memory. An allocation has its address at once; memory is given back in the order of the
// stream.
#include <map>
#include <mutex>
#include <set>

#include "fake_calls.h"
#include "fake_context.h"
#include "fake_gpus.h"
#include "fake_memory.h"
#include "fake_registry.h"
#include "fake_settings.h"
#include "fake_stream.h"

using namespace p2p::cu;
using namespace fake;

struct CUmemPoolHandle_st {
  const int gpu;
  std::mutex mutex;
  std::set<int> accessors;  // GPUs that may access its memory

  explicit CUmemPoolHandle_st(int gpu) : gpu(gpu), accessors{gpu} {}
};

namespace {

using Pool = std::shared_ptr<CUmemPoolHandle_st>;

Registry<CUmemPoolHandle_st>& pools() {
  static auto& once = *new Registry<CUmemPoolHandle_st>("pools");
  return once;
}

// Pools that devices have from the start; nobody creates or destroys them.
Pool defaultPool(int gpu) {
  static std::mutex& mutex = *new std::mutex();
  static auto& all = *new std::map<int, Pool>();
  const std::lock_guard lock(mutex);
  Pool& pool = all[gpu];
  if (!pool) pool = std::make_shared<CUmemPoolHandle_st>(gpu);
  return pool;
}

Pool findPool(MemoryPool handle) {
  if (Pool pool = pools().find(handle)) return pool;
  for (int gpu = 0; gpu < deviceCount(); ++gpu) {
    if (Pool pool = defaultPool(gpu); pool.get() == handle) return pool;
  }
  return nullptr;
}

Result allocate(DevicePtr* address, std::size_t bytes, const Pool& pool, Stream stream) {
  const auto on = findStream(stream);
  if (!pool || !on) return kInvalidHandle;
  if (const Result state = on->context->broken) return state;
  if (captureOf(*on)) return kStreamCaptureUnsupported;
  Result result = kSuccess;
  const auto allocation = newDeviceMemory(Allocation::Kind::kPool, bytes, pool->gpu, result);
  if (!allocation) return result;
  allocation->access = [pool](int gpu) {
    const std::lock_guard lock(pool->mutex);
    return pool->accessors.contains(gpu);
  };
  *address = allocation->address;
  enterAllocation(allocation);
  return kSuccess;
}

}  // namespace

extern "C" {

Result cuDeviceGetDefaultMemPool(MemoryPool* pool, Device device) {
  ENTER("cuDeviceGetDefaultMemPool");
  if (device < 0 || device >= deviceCount()) return kInvalidDevice;
  *pool = defaultPool(device).get();
  return kSuccess;
}

Result cuMemPoolCreate(MemoryPool* pool, const MemoryPoolProps* props) {
  ENTER("cuMemPoolCreate");
  if (props->allocType != kAllocationPinned || props->location.type != kLocationDevice) return kInvalidValue;
  if (props->location.id < 0 || props->location.id >= deviceCount()) return kInvalidValue;
  for (const unsigned char reserved : props->reserved) {
    if (reserved != 0) return kInvalidValue;
  }
  *pool = pools().add(std::make_shared<CUmemPoolHandle_st>(props->location.id));
  return kSuccess;
}

Result cuMemPoolDestroy(MemoryPool pool) {
  ENTER("cuMemPoolDestroy");
  return pools().remove(pool) ? kSuccess : kInvalidValue;
}

Result cuMemPoolSetAttribute(MemoryPool pool, MemoryPoolAttribute attribute, void*) {
  ENTER("cuMemPoolSetAttribute");
  return findPool(pool) && attribute == kPoolReleaseThreshold ? kSuccess : kInvalidValue;
}

Result cuMemPoolSetAccess(MemoryPool handle, const MemoryAccessDesc* access, std::size_t count) {
  ENTER("cuMemPoolSetAccess");
  const Pool pool = findPool(handle);
  if (!pool) return kInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    const int gpu = access[i].location.id;
    if (access[i].location.type != kLocationDevice || gpu < 0 || gpu >= deviceCount()) return kInvalidValue;
    if (gpu != pool->gpu && faulty(Fault::kNoPeer, gpu, pool->gpu)) return kInvalidDevice;
    // The GPU that has the memory cannot be shut out.
    if (gpu == pool->gpu && access[i].flags != kAccessReadWrite) return kInvalidValue;
    const std::lock_guard lock(pool->mutex);
    if (access[i].flags == kAccessNone)
      pool->accessors.erase(gpu);
    else
      pool->accessors.insert(gpu);
  }
  return kSuccess;
}

Result cuMemAllocAsync(DevicePtr* address, std::size_t bytes, Stream stream) {
  ENTER("cuMemAllocAsync");
  const auto on = findStream(stream);
  return on ? allocate(address, bytes, defaultPool(on->context->gpu), stream) : kInvalidHandle;
}

Result cuMemAllocFromPoolAsync(DevicePtr* address, std::size_t bytes, MemoryPool pool, Stream stream) {
  ENTER("cuMemAllocFromPoolAsync");
  return allocate(address, bytes, findPool(pool), stream);
}

Result cuMemFreeAsync(DevicePtr address, Stream stream) {
  ENTER("cuMemFreeAsync");
  const auto on = findStream(stream);
  if (!on) return kInvalidHandle;
  const auto allocation = allocationAt(address);
  if (!allocation || allocation->address != address || allocation->kind != Allocation::Kind::kPool)
    return kInvalidValue;
  if (captureOf(*on)) return kStreamCaptureUnsupported;
  if (const Result state = on->context->broken) {
    leaveAllocation(address, {Allocation::Kind::kPool});
    return state;
  }
  submit(on, kNodeEmpty, [address] { leaveAllocation(address, {Allocation::Kind::kPool}); });
  return kSuccess;
}

}  // extern "C"
