#include "context.h"

#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "driver_library.h"
#include "host_thread.h"
#include "kernels_ptx.h"
#include "peers.h"

namespace p2p {

namespace {

// Locked while the context of its GPU is made, so that others can be made meanwhile.
struct Slot {
  std::mutex mutex;
  std::weak_ptr<DeviceContext> context;
};

struct Registry {
  std::mutex mutex;
  std::map<int, Slot> slots;

  Slot& slot(int gpu) {
    const std::lock_guard lock(mutex);
    return slots[gpu];
  }
};

Registry& registry() {
  static Registry& once = *new Registry();
  return once;
}

}  // namespace

std::shared_ptr<DeviceContext> DeviceContext::of(int gpu) {
  Slot& slot = registry().slot(gpu);
  const std::lock_guard lock(slot.mutex);
  if (auto context = slot.context.lock()) return context;
  auto context = std::make_shared<DeviceContext>(gpu);
  slot.context = context;
  return context;
}

void DeviceContext::ofAll(std::map<int, std::shared_ptr<DeviceContext>>& contexts) {
  std::vector<std::exception_ptr> failures(contexts.size());
  const UnpinnedThread unpinned;
  std::vector<std::thread> threads;
  std::size_t index = 0;
  for (auto& [gpu, context] : contexts) {
    const auto make = [gpu = gpu, &context = context, &failure = failures[index++]] {
      try {
        context = of(gpu);
      } catch (...) {
        failure = std::current_exception();
      }
    };
    // The last on this thread, and any for which the host grants none.
    try {
      if (index < contexts.size()) {
        threads.emplace_back(make);
        continue;
      }
    } catch (const std::system_error&) {
    }
    make();
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

DeviceContext::DeviceContext(int gpu) : gpu_(gpu), device_(deviceOf(gpu)) {
  P2P_CALL(cuDeviceGetAttribute, &multiprocessors_, cu::kAttributeMultiprocessorCount, device_);
  P2P_CALL(cuDevicePrimaryCtxRetain, &handle_, device_);
  try {
    const CurrentContext current(*this);
    loadKernels();
  } catch (...) {
    release();
    throw;
  }
}

DeviceContext::~DeviceContext() {
  Peers::instance().forget(gpu_);
  release();
}

// The module is loaded and each function asked for an attribute, because with lazy loading a kernel is
// otherwise loaded by its first launch, which must not fall into a timed iteration or wait behind work that
// is in flight.
void DeviceContext::loadKernels() {
  char log[2048] = {};
  int options[] = {cu::kJitErrorLogBuffer, cu::kJitErrorLogBufferSizeBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  const cu::Result result = driver().cuModuleLoadDataEx(&module_, kKernelsPtx, 2, options, values);
  if (result != cu::kSuccess) {
    module_ = nullptr;
    log[sizeof log - 1] = '\0';
    throw cudaFailure(result, "cuModuleLoadDataEx",
                      log[0] ? "The driver's compiler says: " + std::string(log) : "");
  }
  for (std::size_t i = 0; i < kKernelCount; ++i) {
    P2P_CALL(cuModuleGetFunction, &kernels_[i], module_, kKernelNames[i]);
    int registers = 0;
    P2P_CALL(cuFuncGetAttribute, &registers, cu::kFuncAttributeNumRegs, kernels_[i]);
  }
}

void DeviceContext::release() noexcept {
  const cu::EntryPoints& entries = driver();
  if (module_) {
    noteRelease(entries.cuCtxPushCurrent_v2(handle_));
    noteRelease(entries.cuModuleUnload(module_));
    cu::Context popped = nullptr;
    noteRelease(entries.cuCtxPopCurrent_v2(&popped));
  }
  noteRelease(entries.cuDevicePrimaryCtxRelease_v2(device_));
}

CurrentContext::CurrentContext(const DeviceContext& context) {
  P2P_CALL(cuCtxPushCurrent_v2, context.handle());
}

CurrentContext::~CurrentContext() {
  cu::Context popped = nullptr;
  noteRelease(driver().cuCtxPopCurrent_v2(&popped));
}

}  // namespace p2p
