// The primary context of a GPU with the addon's kernels loaded, shared by everything that works on that GPU.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "cuda_api.h"
#include "kernel_list.h"

namespace p2p {

class DeviceContext {
 public:
  // The context of a GPU: retained by the first caller, released when the last holder lets go of it.
  // Throws when there is no driver, no such GPU, or the kernels do not load.
  static std::shared_ptr<DeviceContext> of(int gpu);
  // The same for each GPU that the map names, side by side: the first of a context takes a tenth of a second
  // and more.
  static void ofAll(std::map<int, std::shared_ptr<DeviceContext>>& contexts);

  explicit DeviceContext(int gpu);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  int gpu() const { return gpu_; }
  cu::Context handle() const { return handle_; }
  cu::Function kernel(Kernel which) const { return kernels_[static_cast<std::size_t>(which)]; }
  int multiprocessors() const { return multiprocessors_; }

 private:
  void loadKernels();
  void release() noexcept;

  int gpu_;
  cu::Device device_;
  cu::Context handle_ = nullptr;
  cu::Module module_ = nullptr;
  std::array<cu::Function, kKernelCount> kernels_{};
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
