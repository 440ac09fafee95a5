// Device code of ad hoc work: a module loaded on one GPU, and its kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "context.h"
#include "kernel_arguments.h"

namespace p2p {

// PTX text, a cubin or a fat binary, loaded into the primary context of a GPU.
class LoadedModule {
 public:
  // Throws a kUsage failure when the image is none of these or cut short; a driver that refuses it answers
  // with what its compiler says.
  LoadedModule(std::shared_ptr<DeviceContext> context, const std::string& image);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  cu::Module handle() const { return handle_; }
  const std::shared_ptr<DeviceContext>& context() const { return context_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  cu::Module handle_ = nullptr;
};

static_assert(!std::is_copy_constructible_v<LoadedModule> && !std::is_move_constructible_v<LoadedModule>);

// What a kernel takes of its GPU.
struct KernelFacts {
  int registers = 0;
  int staticSharedBytes = 0;
  int localBytes = 0;
  int constBytes = 0;
  int maxThreadsPerBlock = 0;
  int ptxVersion = 0;
  int binaryVersion = 0;
};

// How many threads, and how much shared memory beside the kernel's own.
struct LaunchShape {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t sharedBytes = 0;
};

class DeviceKernel {
 public:
  // Throws when the module has no such kernel, or when the declared parameters are not of the sizes that the
  // driver knows (since CUDA 12.4 it tells).
  DeviceKernel(std::shared_ptr<LoadedModule> module, const std::string& name,
               std::vector<Parameter> parameters);

  const std::string& name() const { return name_; }
  const std::shared_ptr<DeviceContext>& context() const { return module_->context(); }
  const KernelFacts& facts() const { return facts_; }
  // Room for the arguments of launches; a launch copies them, so that the next may overwrite them.
  KernelArguments arguments() const { return KernelArguments(name_, parameters_); }

  // Throws a kUsage failure that names the dimension when the GPU does not take the shape. Makes room for
  // shared memory beyond what a kernel has without asking.
  void prepare(const LaunchShape& shape);

  // Launches it with the context current; `prepare` must have taken the shape.
  void submit(const LaunchShape& shape, KernelArguments& arguments, cu::Stream stream) const;

 private:
  void requireSizes() const;

  std::shared_ptr<LoadedModule> module_;
  std::string name_;
  cu::Function function_ = nullptr;
  KernelFacts facts_;
  int dynamicSharedBytes_ = 0;  // what the driver was asked to allow
  std::vector<Parameter> parameters_;
};

}  // namespace p2p
