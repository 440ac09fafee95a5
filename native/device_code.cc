#include "device_code.h"

#include <cstring>

#include "device_limits.h"
#include "driver_library.h"

namespace p2p {

namespace {

template <typename T>
T valueAt(const std::string& image, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= image.size()) std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

// The driver believes the lengths that stand in a binary: one that was cut short would be read past its end.
bool wholeElf(const std::string& image) {
  if (image.size() < 64) return false;
  const auto sections = valueAt<std::uint64_t>(image, 40);
  const auto segments = valueAt<std::uint64_t>(image, 32);
  const std::uint64_t sectionBytes =
      std::uint64_t{valueAt<std::uint16_t>(image, 58)} * valueAt<std::uint16_t>(image, 60);
  const std::uint64_t segmentBytes =
      std::uint64_t{valueAt<std::uint16_t>(image, 54)} * valueAt<std::uint16_t>(image, 56);
  if (sections > image.size() || sectionBytes > image.size() - sections) return false;
  if (segments > image.size() || segmentBytes > image.size() - segments) return false;
  // Each section's bytes, but for those that take no room in the file (type 8).
  for (std::uint64_t at = sections; at + 64 <= sections + sectionBytes; at += 64) {
    if (valueAt<std::uint32_t>(image, at + 4) == 8) continue;
    const auto offset = valueAt<std::uint64_t>(image, at + 24);
    const auto bytes = valueAt<std::uint64_t>(image, at + 32);
    if (offset > image.size() || bytes > image.size() - offset) return false;
  }
  return true;
}

bool wholeFatBinary(const std::string& image) {
  const auto header = valueAt<std::uint16_t>(image, 6);
  const auto bytes = valueAt<std::uint64_t>(image, 8);
  return image.size() >= 16 && header <= image.size() && bytes <= image.size() - header;
}

void requireImage(const std::string& image) {
  constexpr std::uint32_t kFatBinary = 0xba55ed50;
  const bool elf = image.starts_with(
      "\x7f"
      "ELF");
  const bool fat = valueAt<std::uint32_t>(image, 0) == kFatBinary;
  if ((elf && !wholeElf(image)) || (fat && !wholeFatBinary(image)))
    throw usage("the device code is cut short", "Read the whole file.");
  if (elf || fat) return;
  if (image.find(".version") == std::string::npos || image.find('\0') != std::string::npos)
    throw usage("the device code is neither PTX text nor a cubin nor a fat binary",
                "Give CUDA C++ source as a text to cuda.compile() or cuda.module().");
}

int attributeOf(cu::Function function, cu::FunctionAttribute attribute) {
  int value = 0;
  P2P_CALL(cuFuncGetAttribute, &value, attribute, function);
  return value;
}

void requireExtent(const char* what, char axis, std::uint32_t value, int limit) {
  if (value >= 1 && value <= static_cast<std::uint32_t>(limit)) return;
  throw usage(std::string(what) + "." + axis + " is " + std::to_string(value) + ", not from 1 to " +
                  std::to_string(limit),
              "cuda.limits() lists what the GPU takes.");
}

}  // namespace

LoadedModule::LoadedModule(std::shared_ptr<DeviceContext> context, const std::string& image)
    : context_(std::move(context)) {
  requireImage(image);
  const CurrentContext current(*context_);
  char log[4096] = {};
  int options[] = {cu::kJitErrorLogBuffer, cu::kJitErrorLogBufferSizeBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  const cu::Result result = driver().cuModuleLoadDataEx(&handle_, image.c_str(), 2, options, values);
  if (result == cu::kSuccess) return;
  log[sizeof log - 1] = '\0';
  throw cudaFailure(result, "cuModuleLoadDataEx",
                    log[0] ? "The driver's compiler says: " + std::string(log) : "");
}

LoadedModule::~LoadedModule() {
  const cu::EntryPoints& entries = driver();
  cu::Context popped = nullptr;
  noteRelease(entries.cuCtxPushCurrent_v2(context_->handle()));
  noteRelease(entries.cuModuleUnload(handle_));
  noteRelease(entries.cuCtxPopCurrent_v2(&popped));
}

DeviceKernel::DeviceKernel(std::shared_ptr<LoadedModule> module, const std::string& name,
                           std::vector<Parameter> parameters)
    : module_(std::move(module)), name_(name), parameters_(std::move(parameters)) {
  const CurrentContext current(*context());
  P2P_CALL(cuModuleGetFunction, &function_, module_->handle(), name_.c_str());
  // Asking also loads the kernel, which lazy loading would otherwise put off to its first launch.
  facts_.registers = attributeOf(function_, cu::kFuncAttributeNumRegs);
  facts_.staticSharedBytes = attributeOf(function_, cu::kFuncAttributeSharedBytes);
  facts_.localBytes = attributeOf(function_, cu::kFuncAttributeLocalBytes);
  facts_.constBytes = attributeOf(function_, cu::kFuncAttributeConstBytes);
  facts_.maxThreadsPerBlock = attributeOf(function_, cu::kFuncAttributeMaxThreadsPerBlock);
  facts_.ptxVersion = attributeOf(function_, cu::kFuncAttributePtxVersion);
  facts_.binaryVersion = attributeOf(function_, cu::kFuncAttributeBinaryVersion);
  requireSizes();
}

void DeviceKernel::requireSizes() const {
  const std::vector<Parameter>& parameters = parameters_;
  const auto info = driver().cuFuncGetParamInfo;
  if (!info) return;
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const cu::Result result = info(function_, i, &offset, &bytes);
    if (result == cu::kInvalidValue) {  // there is no parameter i
      if (i == parameters.size()) return;
      throw usage(name_ + " has " + std::to_string(i) + " parameters, and " +
                      std::to_string(parameters.size()) + " are declared",
                  "Declare every parameter of the kernel, in order.");
    }
    check(result, "cuFuncGetParamInfo");
    if (i == parameters.size()) {
      throw usage(name_ + " has more than the " + std::to_string(i) + " parameters that are declared",
                  "Declare every parameter of the kernel, in order.");
    }
    if (parameters[i].bytes != bytes) {
      throw usage(name_ + ": parameter " + std::to_string(i + 1) + " (" + parameters[i].text + ") has " +
                      std::to_string(bytes) + " bytes, but is declared with " +
                      std::to_string(parameters[i].bytes),
                  "Declare its type as the kernel has it.");
    }
  }
}

void DeviceKernel::prepare(const LaunchShape& shape) {
  const DeviceLimits& limits = deviceLimits(context()->gpu());
  std::uint64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    requireExtent("grid", "xyz"[axis], shape.grid[axis], limits.maxGrid[axis]);
    requireExtent("block", "xyz"[axis], shape.block[axis], limits.maxBlock[axis]);
    threads *= shape.block[axis];
  }
  const int maxThreads = facts_.maxThreadsPerBlock;
  if (threads > static_cast<std::uint64_t>(maxThreads)) {
    throw usage(name_ + ": a block has " + std::to_string(threads) + " threads, more than the " +
                    std::to_string(maxThreads) + " that this kernel takes",
                "Use a smaller block and a larger grid.");
  }
  const std::int64_t most = std::int64_t{limits.maxSharedBytesOptIn} - facts_.staticSharedBytes;
  if (std::int64_t{shape.sharedBytes} > most) {
    throw usage(name_ + ": " + std::to_string(shape.sharedBytes) +
                    " bytes of dynamic shared memory are more than the " + std::to_string(most) +
                    " that this GPU has left for a block",
                "Use less shared memory.");
  }
  const std::int64_t plain = std::int64_t{limits.maxSharedBytes} - facts_.staticSharedBytes;
  const int wanted = static_cast<int>(shape.sharedBytes);
  if (wanted <= plain || wanted <= dynamicSharedBytes_) return;
  const CurrentContext current(*context());
  P2P_CALL(cuFuncSetAttribute, function_, cu::kFuncAttributeMaxDynamicSharedBytes, wanted);
  dynamicSharedBytes_ = wanted;
}

void DeviceKernel::submit(const LaunchShape& shape, KernelArguments& arguments, cu::Stream stream) const {
  P2P_CALL(cuLaunchKernel, function_, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
           shape.block[1], shape.block[2], shape.sharedBytes, stream, arguments.pointers(), nullptr);
}

}  // namespace p2p
