// The primary context of a GPU with the addon's kernels loaded, shared by everything that works on that GPU.
#pragma once

#include <memory>

#include "cuda_api.h"

namespace p2p {

class DeviceContext {
 public:
  // The context of a GPU: retained by the first caller, released when the last holder lets go of it.
  // Throws when there is no driver, no such GPU, or the kernels do not load.
  static std::shared_ptr<DeviceContext> of(int gpu);

  explicit DeviceContext(int gpu);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  int gpu() const { return gpu_; }
  cu::Context handle() const { return handle_; }
  // kernels.cu: p2p_fill and p2p_check.
  cu::Function fillKernel() const { return fill_; }
  cu::Function checkKernel() const { return check_; }
  int multiprocessors() const { return multiprocessors_; }

 private:
  void loadKernels();
  void release() noexcept;

  int gpu_;
  cu::Device device_;
  cu::Context handle_ = nullptr;
  cu::Module module_ = nullptr;
  cu::Function fill_ = nullptr;
  cu::Function check_ = nullptr;
  int multiprocessors_ = 1;
};

// Makes a context current on this thread for a scope.
class CurrentContext {
 public:
  explicit CurrentContext(const DeviceContext& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
};

}  // namespace p2p
