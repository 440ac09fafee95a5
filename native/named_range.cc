#include "named_range.h"

#include "library_folders.h"
#include "nvtx_api.h"
#include "shared_library.h"

namespace p2p {

namespace {

// What profilers fill. One more than each module has, null, ends its table.
nvtx::Function slots[nvtx::kModules][nvtx::kMostFunctions];
nvtx::Function* tables[nvtx::kModules][nvtx::kMostFunctions + 1];

int moduleFunctions(int module, nvtx::Function*** table, unsigned* size) {
  if (module < 1 || module >= static_cast<int>(nvtx::kModules)) return 0;
  if (size) *size = nvtx::kModuleSizes[module];
  if (table) *table = tables[module];
  return 1;
}

const void* exportTable(std::uint32_t table) {
  static const nvtx::CallbackTable callbacks{sizeof(nvtx::CallbackTable), moduleFunctions};
  static const nvtx::VersionTable version{sizeof(nvtx::VersionTable), nvtx::kVersion, 0,
                                          [](std::uint32_t) {}};
  if (table == nvtx::kCallbacks) return &callbacks;
  return table == nvtx::kVersionInfo ? &version : nullptr;
}

// The profiler's functions; null where none listens.
struct Listener {
  SharedLibrary library;
  nvtx::RangePushA push = nullptr;
  nvtx::RangePop pop = nullptr;

  Listener() {
    for (unsigned module = 0; module < nvtx::kModules; ++module)
      for (unsigned i = 1; i < nvtx::kModuleSizes[module]; ++i) tables[module][i] = &slots[module][i];
    const nvtx::Initialize initialize = found();
    if (!initialize || initialize(exportTable) == 0) return;
    push = reinterpret_cast<nvtx::RangePushA>(slots[nvtx::kCore][nvtx::kRangePushA]);
    pop = reinterpret_cast<nvtx::RangePop>(slots[nvtx::kCore][nvtx::kRangePop]);
    if (!push || !pop) push = nullptr;
  }

  nvtx::Initialize found() {
    const std::string path = environment("NVTX_INJECTION64_PATH");
    if (path.empty() || !library.open({path})) return nullptr;
    return reinterpret_cast<nvtx::Initialize>(library.symbol(nvtx::kInitialize));
  }
};

// Never destroyed: a profiler's threads may outlive the statics of this library.
const Listener& listener() {
  static const Listener& found = *new Listener;
  return found;
}

}  // namespace

bool rangesWanted() {
  return listener().push != nullptr;
}

NamedRange::NamedRange(const std::string& name) {
  if (!rangesWanted()) return;
  listener().push(name.c_str());
  open_ = true;
}

NamedRange::~NamedRange() {
  if (open_) listener().pop();
}

}  // namespace p2p
