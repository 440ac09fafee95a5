#include "source_compiler.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "errors.h"
#include "library_folders.h"
#include "nvrtc_library.h"

namespace p2p {

namespace fs = std::filesystem;

namespace {

// NVRTC has no headers of a C library: these stand in for <cstdint> and <stdint.h>, so that a source for nvcc
// compiles in a notebook as well.
constexpr const char* kStdint = R"(#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
namespace std {
using ::int8_t;
using ::uint8_t;
using ::int16_t;
using ::uint16_t;
using ::int32_t;
using ::uint32_t;
using ::int64_t;
using ::uint64_t;
using ::intptr_t;
using ::uintptr_t;
}
)";
constexpr const char* kHeaders[] = {kStdint, kStdint};
constexpr const char* kHeaderNames[] = {"cstdint", "stdint.h"};

Failure nvrtcFailure(nvrtc::Result result, const char* call) {
  return notAvailable(std::string(call) + " failed: " + nvrtcEntryPoints().nvrtcGetErrorString(result) +
                          " (" + std::to_string(result) + ")",
                      "libnvrtc and its libnvrtc-builtins must stand in one folder and be of one version.");
}

void checkNvrtc(nvrtc::Result result, const char* call) {
  if (result != nvrtc::kSuccess) throw nvrtcFailure(result, call);
}

class NvrtcProgram {
 public:
  NvrtcProgram(const nvrtc::EntryPoints& nvrtc, const SourceRequest& request) : nvrtc_(nvrtc) {
    checkNvrtc(nvrtc_.nvrtcCreateProgram(&program_, request.source.c_str(), request.file.c_str(),
                                         static_cast<int>(std::size(kHeaders)), kHeaders, kHeaderNames),
               "nvrtcCreateProgram");
  }
  ~NvrtcProgram() {
    noteRelease(nvrtc_.nvrtcDestroyProgram(&program_) == nvrtc::kSuccess ? cu::kSuccess : cu::kUnknown);
  }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  nvrtc::Program handle() const { return program_; }

  std::string log() const {
    return text(nvrtc_.nvrtcGetProgramLogSize, nvrtc_.nvrtcGetProgramLog, "nvrtcGetProgramLog", true);
  }

  std::string cubin() const {
    return text(nvrtc_.nvrtcGetCUBINSize, nvrtc_.nvrtcGetCUBIN, "nvrtcGetCUBIN", false);
  }

  std::string ptx() const { return text(nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX, "nvrtcGetPTX", true); }

 private:
  using Size = nvrtc::Result (*)(nvrtc::Program, std::size_t*);
  using Get = nvrtc::Result (*)(nvrtc::Program, char*);

  std::string text(Size size, Get get, const char* call, bool ends) const {
    std::size_t bytes = 0;
    checkNvrtc(size(program_, &bytes), call);
    std::string data(bytes, '\0');
    if (bytes > 0) checkNvrtc(get(program_, data.data()), call);
    if (ends) data.resize(std::min(data.find('\0'), data.size()));
    return data;
  }

  const nvrtc::EntryPoints& nvrtc_;
  nvrtc::Program program_ = nullptr;
};

struct Architecture {
  int number;  // 90 of sm_90
  bool exact;
};

// The newest that the compiler knows and the GPU runs.
Architecture architectureFor(const nvrtc::EntryPoints& nvrtc, const SourceRequest& request) {
  int count = 0;
  checkNvrtc(nvrtc.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<std::size_t>(std::max(count, 0)));
  if (!known.empty()) checkNvrtc(nvrtc.nvrtcGetSupportedArchs(known.data()), "nvrtcGetSupportedArchs");
  const int wanted = request.computeMajor * 10 + request.computeMinor;
  int best = 0;
  for (const int architecture : known) {
    if (architecture <= wanted) best = std::max(best, architecture);
  }
  if (best == 0) {
    const NvrtcState state = nvrtcState();
    throw notAvailable(state.path + " (CUDA " + std::to_string(state.version / 1000) + "." +
                           std::to_string(state.version % 1000 / 10) +
                           ") does not compile for compute capability " +
                           std::to_string(request.computeMajor) + "." + std::to_string(request.computeMinor),
                       "Name the NVRTC of an older CUDA toolkit in P2PLAB_NVRTC (CUDA 12 for Volta).");
  }
  return {best, best == wanted};
}

// Folders with the toolkit's headers (cuda_fp16.h, cooperative_groups.h, cuda/atomic): beside the compiler,
// or of a toolkit.
std::vector<std::string> includeFolders() {
  const fs::path library = nvrtcState().path;
  std::vector<fs::path> candidates{library.parent_path().parent_path() / "include"};
  for (const fs::path& root : toolkitRoots()) candidates.push_back(root / "include");
  std::error_code error;
  for (const fs::path& folder : candidates) {
    if (!fs::exists(folder / "cuda_fp16.h", error)) continue;
    std::vector<std::string> folders{folder.string()};
    if (fs::exists(folder / "cccl", error)) folders.push_back((folder / "cccl").string());
    return folders;
  }
  return {};
}

bool given(const std::vector<std::string>& options, std::initializer_list<const char*> names) {
  return std::any_of(options.begin(), options.end(), [&](const std::string& option) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return option.starts_with(name); });
  });
}

std::vector<std::string> optionsFor(const SourceRequest& request, const std::string& architecture) {
  if (given(request.options, {"-arch", "--gpu-architecture"})) {
    throw usage("the architecture is that of the GPU and cannot be given",
                "Choose the GPU instead: { gpu: 1 }; or compile with nvcc and load the cubin.");
  }
  std::vector<std::string> options = request.options;
  options.push_back("--gpu-architecture=" + architecture);
  if (!given(request.options, {"-std", "--std"})) options.emplace_back("--std=c++17");
  for (const std::string& folder : includeFolders()) options.push_back("--include-path=" + folder);
  return options;
}

}  // namespace

CompiledSource compileSource(const SourceRequest& request) {
  for (const std::string* text : {&request.source, &request.file}) {
    if (text->find('\0') != std::string::npos)
      throw usage("the source holds a character 0, where a C++ source ends", "Take it out.");
  }
  const nvrtc::EntryPoints& nvrtc = nvrtcEntryPoints();
  const Architecture architecture = architectureFor(nvrtc, request);
  CompiledSource compiled;
  compiled.cubin = architecture.exact;
  compiled.architecture = (architecture.exact ? "sm_" : "compute_") + std::to_string(architecture.number);
  compiled.compiler = nvrtcState().version;
  const std::vector<std::string> options = optionsFor(request, compiled.architecture);
  const NvrtcProgram program(nvrtc, request);
  for (const std::string& name : request.names)
    checkNvrtc(nvrtc.nvrtcAddNameExpression(program.handle(), name.c_str()), "nvrtcAddNameExpression");
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const nvrtc::Result result =
      nvrtc.nvrtcCompileProgram(program.handle(), static_cast<int>(texts.size()), texts.data());
  compiled.log = program.log();
  if (result == nvrtc::kCompilation) throw compileFailure(request.file, compiled.log);
  if (result == nvrtc::kInvalidOption)
    throw usage("NVRTC does not know an option: " + compiled.log, "See NVRTC's list of compile options.");
  checkNvrtc(result, "nvrtcCompileProgram");
  for (const std::string& name : request.names) {
    const char* lowered = nullptr;
    checkNvrtc(nvrtc.nvrtcGetLoweredName(program.handle(), name.c_str(), &lowered), "nvrtcGetLoweredName");
    compiled.loweredNames.emplace_back(lowered);
  }
  compiled.image = architecture.exact ? program.cubin() : program.ptx();
  return compiled;
}

}  // namespace p2p
