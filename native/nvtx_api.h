// The little of NVTX 3 that a program without NVIDIA's headers needs to be heard by a profiler: the
// profiler's library asks for tables of function pointers, by module, and puts its own functions in. Numbers
// and layouts are those of nvtxTypes.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace p2p::nvtx {

// A slot that a profiler fills; null as long as it does not.
using Function = void (*)();
using RangePushA = int (*)(const char* name);
using RangePop = int (*)();

constexpr std::uint32_t kCallbacks = 1;
constexpr std::uint32_t kVersionInfo = 3;
constexpr std::uint32_t kVersion = 3;

// Functions of each module, the unused number 0 among them: none, core, CUDA, OpenCL, CUDA runtime, core 2,
// sync.
constexpr unsigned kModuleSizes[] = {0, 16, 9, 15, 7, 16, 7};
constexpr unsigned kModules = sizeof kModuleSizes / sizeof kModuleSizes[0];
constexpr unsigned kMostFunctions = 16;
constexpr unsigned kCore = 1;
constexpr unsigned kRangePushA = 9;
constexpr unsigned kRangePop = 11;

struct CallbackTable {
  std::size_t structSize;
  // Returns 1, or 0 for a module that is not there.
  int (*moduleFunctions)(int module, Function*** table, unsigned* size);
};

struct VersionTable {
  std::size_t structSize;
  std::uint32_t version;
  std::uint32_t reserved;
  void (*setInjectionVersion)(std::uint32_t version);
};

using ExportTable = const void* (*)(std::uint32_t table);
// Exported by the profiler's library; returns 0 when it does not want to listen.
using Initialize = int (*)(ExportTable exportTable);
constexpr const char* kInitialize = "InitializeInjectionNvtx2";

}  // namespace p2p::nvtx
