// The least of the CUDA driver API that hand-written loops need: a table of functions found in libcuda.so.1
// and objects that release themselves. Nothing of the addon but the declarations of cuda_api.h, so that what
// is measured here is what anyone would write.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "cuda_api.h"

namespace bare {

namespace cu = p2p::cu;

struct Functions {
#define BARE_FUNCTIONS(X)         \
  X(cuInit)                       \
  X(cuDeviceGet)                  \
  X(cuDeviceGetCount)             \
  X(cuDevicePrimaryCtxRetain)     \
  X(cuDevicePrimaryCtxRelease_v2) \
  X(cuCtxSetCurrent)              \
  X(cuCtxEnablePeerAccess)        \
  X(cuMemAlloc_v2)                \
  X(cuMemFree_v2)                 \
  X(cuMemHostAlloc)               \
  X(cuMemFreeHost)                \
  X(cuMemcpyAsync)                \
  X(cuMemcpyPeerAsync)            \
  X(cuStreamCreate)               \
  X(cuStreamDestroy_v2)           \
  X(cuStreamQuery)                \
  X(cuStreamSynchronize)          \
  X(cuEventCreate)                \
  X(cuEventDestroy_v2)            \
  X(cuEventRecord)                \
  X(cuModuleLoadDataEx)           \
  X(cuModuleUnload)               \
  X(cuModuleGetFunction)          \
  X(cuLaunchKernel)
#define BARE_DECLARE(name) decltype(cu::EntryPoints::name) name = nullptr;
  BARE_FUNCTIONS(BARE_DECLARE)
#undef BARE_DECLARE
  cu::Result (*cuEventElapsedTime)(float*, cu::Event, cu::Event) = nullptr;
};

// Opened on first use and left open: objects release themselves through it until the end.
inline const Functions& driver() {
  static const Functions functions = [] {
    const char* override = std::getenv("P2PLAB_LIBCUDA");
    void* library = dlopen(override && *override ? override : "libcuda.so.1", RTLD_NOW);
    if (!library) throw std::runtime_error(std::string("no CUDA driver: ") + dlerror());
    Functions found;
    const auto resolve = [library](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (!function) throw std::runtime_error(std::string("libcuda lacks ") + name);
    };
#define BARE_RESOLVE(name) resolve(found.name, #name);
    BARE_FUNCTIONS(BARE_RESOLVE)
#undef BARE_RESOLVE
    resolve(found.cuEventElapsedTime, "cuEventElapsedTime");
    return found;
  }();
  return functions;
}

inline void check(cu::Result result, const char* call) {
  if (result != cu::kSuccess)
    throw std::runtime_error(std::string(call) + " answers " + std::to_string(result));
}

// A release that fails is said; there is nobody left to throw to.
inline void released(cu::Result result, const char* call) {
  if (result != cu::kSuccess) std::fprintf(stderr, "%s answers %d\n", call, result);
}

#define BARE_CALL(name, ...) ::bare::check(::bare::driver().name(__VA_ARGS__), #name)
#define BARE_RELEASE(name, ...) ::bare::released(::bare::driver().name(__VA_ARGS__), #name)

class Context {
 public:
  explicit Context(int gpu) {
    BARE_CALL(cuDeviceGet, &device_, gpu);
    BARE_CALL(cuDevicePrimaryCtxRetain, &handle_, device_);
  }
  ~Context() { BARE_RELEASE(cuDevicePrimaryCtxRelease_v2, device_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  cu::Context handle() const { return handle_; }
  void makeCurrent() const { BARE_CALL(cuCtxSetCurrent, handle_); }

 private:
  cu::Device device_ = 0;
  cu::Context handle_ = nullptr;
};

// Memory of a GPU, or page-locked memory of the host; made and freed with its context current.
class Memory {
 public:
  Memory(const Context& context, std::size_t bytes, bool onHost) : context_(context), onHost_(onHost) {
    context_.makeCurrent();
    if (onHost_) {
      BARE_CALL(cuMemHostAlloc, &host_, bytes, cu::kMemHostAllocPortable);
      address_ = reinterpret_cast<cu::DevicePtr>(host_);
    } else {
      BARE_CALL(cuMemAlloc_v2, &address_, bytes);
    }
  }
  ~Memory() {
    BARE_RELEASE(cuCtxSetCurrent, context_.handle());
    if (onHost_)
      BARE_RELEASE(cuMemFreeHost, host_);
    else
      BARE_RELEASE(cuMemFree_v2, address_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  cu::DevicePtr address() const { return address_; }
  void* host() const { return host_; }

 private:
  const Context& context_;
  bool onHost_;
  void* host_ = nullptr;
  cu::DevicePtr address_ = 0;
};

class Stream {
 public:
  explicit Stream(const Context& context) : context_(context) {
    context_.makeCurrent();
    BARE_CALL(cuStreamCreate, &handle_, cu::kStreamNonBlocking);
  }
  ~Stream() {
    BARE_RELEASE(cuCtxSetCurrent, context_.handle());
    BARE_RELEASE(cuStreamDestroy_v2, handle_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cu::Stream handle() const { return handle_; }

 private:
  const Context& context_;
  cu::Stream handle_ = nullptr;
};

class Event {
 public:
  Event() { BARE_CALL(cuEventCreate, &handle_, 0); }
  ~Event() { BARE_RELEASE(cuEventDestroy_v2, handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cu::Event handle() const { return handle_; }

 private:
  cu::Event handle_ = nullptr;
};

class Module {
 public:
  explicit Module(const char* ptx) { BARE_CALL(cuModuleLoadDataEx, &handle_, ptx, 0, nullptr, nullptr); }
  ~Module() { BARE_RELEASE(cuModuleUnload, handle_); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  cu::Function function(const char* name) const {
    cu::Function found = nullptr;
    BARE_CALL(cuModuleGetFunction, &found, handle_, name);
    return found;
  }

 private:
  cu::Module handle_ = nullptr;
};

}  // namespace bare
