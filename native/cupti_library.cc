#include "cupti_library.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>

#include "driver_library.h"
#include "library_folders.h"
#include "shared_library.h"

namespace p2p {

namespace fs = std::filesystem;

namespace {

constexpr const char* kInstallHint =
    "Install CUPTI (part of the CUDA toolkit; conda: cuda-cupti; pip: nvidia-cuda-cupti-cu12), or name the "
    "file in "
    "P2PLAB_CUPTI.";

// Sonames, the one of the driver's own CUDA version first: a CUPTI newer than the driver may refuse to work
// with it.
std::vector<std::string> sonames() {
  const int driverMajor = driverState().version / 1000;
  std::vector<std::string> names;
  for (const int major : {driverMajor, 13, 12}) {
    const std::string name = "libcupti.so." + std::to_string(major);
    if (major >= 12 && major <= std::max(driverMajor, 12) &&
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  for (const char* minor : {"11.8", "11.7", "11.6", "11.5", "11.4", "11.3", "11.2", "11.1", "11.0"})
    names.push_back(std::string("libcupti.so.") + minor);
  names.emplace_back("libcupti.so");
  return names;
}

struct Opened {
  std::mutex mutex;
  std::unique_ptr<SharedLibrary> library;
  cupti::EntryPoints entries;
  int version = 0;
};

Opened& opened() {
  static Opened& once = *new Opened();
  return once;
}

std::string hintFor(cupti::Result result) {
  switch (result) {
    case cupti::kMultipleSubscribersNotSupported:
      return "Another profiler (nsys, ncu, torch.profiler) is attached to this process: run without it.";
    case cupti::kInsufficientPrivileges:
    case cupti::kVirtualizedDeviceInsufficientPrivileges:
      return "Profiling is limited to administrators: set NVreg_RestrictProfilingToAdminUsers=0 for the "
             "nvidia module "
             "and reload it; in a container add --cap-add SYS_ADMIN; in a VM ask the host's administrator.";
    case cupti::kNotCompatible:
    case cupti::kNotInitialized:
      return "libcupti and the driver do not fit together: install the CUPTI of the driver's CUDA version, "
             "and name it "
             "in P2PLAB_CUPTI.";
    case cupti::kConfidentialComputingNotSupported:
      return "CUPTI does not trace in confidential computing.";
    case cupti::kMigDeviceNotSupported:
      return "CUPTI does not trace this MIG instance.";
    case cupti::kWslDeviceNotSupported:
    case cupti::kVirtualizedDeviceNotSupported:
      return "CUPTI does not trace GPUs of this virtual machine.";
    default:
      return "Timing works without it; the breakdown and the timeline need it.";
  }
}

}  // namespace

std::vector<std::string> cuptiCandidates() {
  if (const std::string only = environment("P2PLAB_CUPTI"); !only.empty()) return {only};
  return filesIn(
      libraryFolders({"lib64", "extras/CUPTI/lib64"}, {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib"}),
      sonames());
}

CuptiState cuptiState() {
  Opened& cupti = opened();
  const std::lock_guard lock(cupti.mutex);
  CuptiState state;
  if (cupti.library) {
    state.available = true;
    state.version = cupti.version;
    state.path = cupti.library->path();
    return state;
  }
  const std::vector<std::string> files = cuptiCandidates();
  std::error_code error;
  if (!files.empty() && fs::exists(files.front(), error)) {
    state.available = true;
    state.path = files.front();
  } else {
    state.reason = files.empty() ? "no libcupti in the places where toolkits, conda and pip put it"
                                 : "there is no file " + files.front();
  }
  return state;
}

const cupti::EntryPoints& cuptiEntryPoints() {
  Opened& cupti = opened();
  const std::lock_guard lock(cupti.mutex);
  if (cupti.library) return cupti.entries;
  std::vector<std::string> names = cuptiCandidates();
  // The loader's own search path (ld.so.conf) comes last: it cannot be listed.
  if (environment("P2PLAB_CUPTI").empty()) {
    for (const std::string& name : sonames()) names.push_back(name);
  }
  auto library = std::make_unique<SharedLibrary>();
  if (!library->open(names))
    throw notAvailable("libcupti cannot be opened (" + library->failures() + ")", kInstallHint);
  std::string missing;
#define P2P_RESOLVE(function, ...)                          \
  if (!library->resolve(cupti.entries.function, #function)) \
    missing += std::string(missing.empty() ? "" : ", ") + #function;
  P2P_CUPTI_ENTRY_POINTS(P2P_RESOLVE)
#undef P2P_RESOLVE
  if (!missing.empty()) throw notAvailable(library->path() + " lacks " + missing, kInstallHint);
#define P2P_RESOLVE(function, ...) (void)library->resolve(cupti.entries.function, #function);
  P2P_CUPTI_OPTIONAL_ENTRY_POINTS(P2P_RESOLVE)
#undef P2P_RESOLVE
  std::uint32_t version = 0;
  if (const cupti::Result result = cupti.entries.cuptiGetVersion(&version); result != cupti::kSuccess)
    throw notAvailable("cuptiGetVersion failed (" + std::to_string(result) + ")", kInstallHint);
  cupti.version = static_cast<int>(version);
  cupti.library = std::move(library);
  return cupti.entries;
}

void checkCupti(cupti::Result result, const char* call) {
  if (result == cupti::kSuccess) return;
  const char* name = nullptr;
  const cupti::Result named = cuptiEntryPoints().cuptiGetResultString(result, &name);
  throw notAvailable(std::string(call) +
                         " failed: " + (named == cupti::kSuccess && name ? name : "CUptiResult") + " (" +
                         std::to_string(result) + ")",
                     hintFor(result));
}

}  // namespace p2p
