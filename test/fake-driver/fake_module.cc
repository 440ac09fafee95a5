// Modules of PTX, and the launch of their kernels.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fake_calls.h"
#include "fake_kernels.h"
#include "fake_registry.h"
#include "fake_settings.h"
#include "fake_stream.h"
#include "fake_tracing.h"

using namespace p2p::cu;
using namespace fake;

struct CUfunc_st : std::enable_shared_from_this<CUfunc_st> {
  std::string name;
  std::vector<std::size_t> parameterBytes;
  int dynamicSharedBytes;

  CUfunc_st(std::string name, int dynamicSharedBytes)
      : name(std::move(name)), dynamicSharedBytes(dynamicSharedBytes) {}
};

struct CUmod_st {
  CUctx_st* context;
  std::string text;
  std::vector<std::shared_ptr<CUfunc_st>> functions;
};

namespace fake {

namespace {

std::map<std::string, KernelBody>& kernels() {
  static auto& once = *new std::map<std::string, KernelBody>();
  return once;
}

Registry<CUmod_st>& modules() {
  static auto& once = *new Registry<CUmod_st>("modules");
  return once;
}

// CUPTI's number of cuLaunchKernel.
constexpr std::uint32_t kLaunchCbid = 307;

// What a block may have of shared memory: unasked, and at most.
constexpr int kUsualSharedBytes = 48 << 10;
constexpr int kMostSharedBytes = 227 << 10;

// Newest PTX that a driver takes, as 10 × major + minor: CUDA 11.y has 7.y, 12.y and 13.y count on.
int newestPtx() {
  const long driver = number("P2PLAB_FAKE_VERSION", 13000);
  const long major = driver / 1000;
  return static_cast<int>((major - 4) * 10 + driver % 1000 / 10);
}

// Size of one parameter as PTX declares it: `.param .u32 name` or `.param .align 8 .b8 name[24]`.
std::size_t sizeOf(const std::string& parameter) {
  const std::size_t bracket = parameter.find('[');
  const std::size_t type = parameter.find_last_of('.', bracket);
  const auto bits = std::strtoul(parameter.c_str() + type + 2, nullptr, 10);
  const auto count =
      bracket == std::string::npos ? 1 : std::strtoul(parameter.c_str() + bracket + 1, nullptr, 10);
  return bits / 8 * count;
}

std::shared_ptr<CUfunc_st> functionIn(const std::string& ptx, const std::string& name) {
  const std::string head = ".entry " + name + "(";
  const std::size_t begin = ptx.find(head);
  if (begin == std::string::npos) return nullptr;
  auto function = std::make_shared<CUfunc_st>(name, kUsualSharedBytes);
  const std::size_t end = ptx.find(')', begin);
  for (std::size_t at = ptx.find(".param", begin); at < end; at = ptx.find(".param", at + 1))
    function->parameterBytes.push_back(sizeOf(ptx.substr(at, ptx.find_first_of(",\n", at) - at)));
  return function;
}

}  // namespace

Kernel::Kernel(const char* name, KernelBody body) {
  kernels()[name] = body;
}

KernelBody kernelNamed(const char* name) {
  const auto it = kernels().find(name);
  return it == kernels().end() ? nullptr : it->second;
}

}  // namespace fake

extern "C" {

Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, int* options, void** values) {
  ENTER("cuModuleLoadDataEx");
  if (const Result state = currentState()) return state;
  const char* const text = static_cast<const char*>(image);
  const char* const version = std::strstr(text, ".version ");
  if (!version) return kInvalidImage;
  int major = 0;
  int minor = 0;
  if (std::sscanf(version, ".version %d.%d", &major, &minor) != 2) return kInvalidPtx;
  if (major * 10 + minor > newestPtx()) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == kJitErrorLogBuffer)
        std::strcpy(static_cast<char*>(values[i]), "PTX newer than the driver");
    }
    return kUnsupportedPtxVersion;
  }
  *module = modules().add(std::make_shared<CUmod_st>(CUmod_st{currentContext(), text, {}}));
  return kSuccess;
}

Result cuModuleUnload(Module module) {
  ENTER("cuModuleUnload");
  const auto gone = modules().remove(module);
  return gone ? gone->context->broken.load() : kInvalidHandle;
}

Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  ENTER("cuModuleGetFunction");
  const auto own = modules().find(module);
  if (!own) return kInvalidHandle;
  if (const Result state = own->context->broken) return state;
  auto found = functionIn(own->text, name);
  if (!found) return kNotFound;
  *function = found.get();
  own->functions.push_back(std::move(found));
  return kSuccess;
}

Result cuFuncGetAttribute(int* value, FunctionAttribute attribute, Function function) {
  ENTER("cuFuncGetAttribute");
  if (!function) return kInvalidHandle;
  switch (attribute) {
    case kFuncAttributeMaxThreadsPerBlock:
      *value = 1024;
      return kSuccess;
    case kFuncAttributeNumRegs:
      *value = 16;
      return kSuccess;
    case kFuncAttributePtxVersion:
      *value = 70;
      return kSuccess;
    case kFuncAttributeBinaryVersion:
      *value = 90;
      return kSuccess;
    case kFuncAttributeMaxDynamicSharedBytes:
      *value = function->dynamicSharedBytes;
      return kSuccess;
    default:
      *value = 0;
      return kSuccess;
  }
}

Result cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
  ENTER("cuFuncSetAttribute");
  if (!function) return kInvalidHandle;
  if (attribute != kFuncAttributeMaxDynamicSharedBytes || value < 0 || value > kMostSharedBytes)
    return kInvalidValue;
  function->dynamicSharedBytes = value;
  return kSuccess;
}

Result cuFuncGetParamInfo(Function function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  ENTER("cuFuncGetParamInfo");
  if (!function) return kInvalidHandle;
  if (index >= function->parameterBytes.size()) return kInvalidValue;
  std::size_t at = 0;
  for (std::size_t i = 0; i <= index; ++i) {
    const std::size_t size = function->parameterBytes[i];
    const std::size_t alignment = std::min<std::size_t>(size, 8);
    at = (at + alignment - 1) / alignment * alignment;
    if (i < index) at += size;
  }
  *offset = at;
  if (bytes) *bytes = function->parameterBytes[index];
  return kSuccess;
}

Result cuLaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                      unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream, void** arguments,
                      void**) {
  ENTER("cuLaunchKernel");
  const TracedCall traced(kLaunchCbid);
  const auto on = findStream(stream);
  if (!on || on->context != currentContext()) return kInvalidHandle;
  if (const Result state = currentState()) return state;
  const unsigned blocks = gridX * gridY * gridZ;
  const unsigned threads = blockX * blockY * blockZ;
  if (blocks == 0 || threads == 0 || threads > 1024) return kInvalidValue;
  if (static_cast<long>(sharedBytes) > function->dynamicSharedBytes) return kInvalidValue;
  const KernelBody body = kernelNamed(function->name.c_str());
  if (!body) {
    std::fprintf(stderr, "the stand-in driver has no kernel %s\n", function->name.c_str());
    return kNotFound;
  }
  Launch launch{on->context->gpu, blocks, threads, {}};
  for (std::size_t i = 0; i < function->parameterBytes.size(); ++i) {
    const auto* const data = static_cast<const std::byte*>(arguments[i]);
    launch.arguments.emplace_back(data, data + function->parameterBytes[i]);
  }
  submit(on, kNodeKernel,
         [body, launch, function = function->shared_from_this(), correlation = traced.correlation(),
          id = on->id] {
           FakeActivity work{FakeActivity::What::kKernel, correlation, nowNs(), 0};
           Launch own = launch;
           body(own);
           work.endNs = nowNs();
           work.device = static_cast<std::uint32_t>(launch.gpu);
           work.stream = id;
           work.name = function->name.c_str();
           work.blocks = launch.blocks;
           work.threads = launch.threads;
           traceWork(work);
         });
  return kSuccess;
}

}  // extern "C"
