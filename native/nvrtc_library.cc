#include "nvrtc_library.h"

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
    "Install NVRTC (part of the CUDA toolkit; conda: cuda-nvrtc; pip: nvidia-cuda-nvrtc, or "
    "nvidia-cuda-nvrtc-cu12 for "
    "a driver of CUDA 12), or name the file in P2PLAB_NVRTC. PTX and cubin load without it.";

// Sonames: of the driver's own CUDA version first, then older ones, whose code every driver takes, newer ones
// last: a driver may refuse their code. CUDA 11.2 to 11.8 have one name.
std::vector<std::string> sonames() {
  const int driverMajor = driverState().version / 1000;
  std::vector<int> majors{13, 12, 11};
  std::stable_partition(majors.begin(), majors.end(),
                        [&](int major) { return driverMajor == 0 || major <= driverMajor; });
  std::vector<std::string> names;
  for (const int major : majors)
    names.push_back("libnvrtc.so." + (major == 11 ? std::string("11.2") : std::to_string(major)));
  return names;
}

struct Opened {
  std::mutex mutex;
  std::unique_ptr<SharedLibrary> library;
  SharedLibrary builtins;
  nvrtc::EntryPoints entries;
  int version = 0;
};

// Leaked on purpose: the library stays open to the end of the process.
Opened& opened() {
  static Opened& once = *new Opened();
  return once;
}

}  // namespace

std::vector<std::string> nvrtcCandidates() {
  if (const std::string only = environment("P2PLAB_NVRTC"); !only.empty()) return {only};
  return filesIn(libraryFolders({"lib64"}, {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"}), sonames());
}

NvrtcState nvrtcState() {
  Opened& nvrtc = opened();
  const std::lock_guard lock(nvrtc.mutex);
  NvrtcState state;
  if (nvrtc.library) {
    state.available = true;
    state.version = nvrtc.version;
    state.path = nvrtc.library->path();
    return state;
  }
  const std::vector<std::string> files = nvrtcCandidates();
  std::error_code error;
  if (!files.empty() && fs::exists(files.front(), error)) {
    state.available = true;
    state.path = files.front();
  } else {
    state.reason = files.empty() ? "no libnvrtc in the places where toolkits, conda and pip put it"
                                 : "there is no file " + files.front();
  }
  return state;
}

const nvrtc::EntryPoints& nvrtcEntryPoints() {
  Opened& nvrtc = opened();
  const std::lock_guard lock(nvrtc.mutex);
  if (nvrtc.library) return nvrtc.entries;
  std::vector<std::string> names = nvrtcCandidates();
  // The loader's own search path (ld.so.conf) comes last: it cannot be listed.
  if (environment("P2PLAB_NVRTC").empty()) {
    for (const std::string& name : sonames()) names.push_back(name);
  }
  auto library = std::make_unique<SharedLibrary>();
  if (!library->open(names))
    throw notAvailable("libnvrtc cannot be opened (" + library->failures() + ")", kInstallHint);
  std::string missing;
#define P2P_RESOLVE(result, function, ...)                  \
  if (!library->resolve(nvrtc.entries.function, #function)) \
    missing += std::string(missing.empty() ? "" : ", ") + #function;
  P2P_NVRTC_ENTRY_POINTS(P2P_RESOLVE)
#undef P2P_RESOLVE
  if (!missing.empty()) throw notAvailable(library->path() + " lacks " + missing, kInstallHint);
  int major = 0;
  int minor = 0;
  if (const nvrtc::Result result = nvrtc.entries.nvrtcVersion(&major, &minor); result != nvrtc::kSuccess)
    throw notAvailable("nvrtcVersion failed (" + std::to_string(result) + ")", kInstallHint);
  nvrtc.version = major * 1000 + minor * 10;
  // libnvrtc asks the loader for its second half by name only: opened here, it is found in a folder that the
  // loader does not search, such as pip's. Where it is elsewhere, the loader finds it or the compilation
  // says so.
  const fs::path folder = fs::path(library->path()).parent_path();
  if (!folder.empty()) {
    (void)nvrtc.builtins.open(
        {(folder / ("libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor)))
             .string()});
  }
  nvrtc.library = std::move(library);
  return nvrtc.entries;
}

}  // namespace p2p
