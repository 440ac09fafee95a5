#include "context.h"

#include <map>
#include <mutex>
#include <string>

#include "driver_library.h"
#include "kernels_ptx.h"
#include "peers.h"

namespace p2p {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<int, std::weak_ptr<DeviceContext>> contexts;
};

Registry& registry() {
  static Registry& once = *new Registry();
  return once;
}

}  // namespace

std::shared_ptr<DeviceContext> DeviceContext::of(int gpu) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  if (auto context = known.contexts[gpu].lock()) return context;
  auto context = std::make_shared<DeviceContext>(gpu);
  known.contexts[gpu] = context;
  return context;
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
