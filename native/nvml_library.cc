#include "nvml_library.h"

#include <cstdlib>

#include "errors.h"
#include "shared_library.h"

namespace p2p {

namespace {

constexpr const char* kContinues = "Measuring works without it; the state of the GPUs stays unknown.";

std::string hintFor(nvml::Result result) {
  switch (result) {
    case nvml::kLibRmVersionMismatch:
      return "Kernel module and user library are of different versions (/proc/driver/nvidia/version): reboot "
             "after an update, or pass the matching libraries into the container.";
    case nvml::kDriverNotLoaded:
      return std::string("Load the nvidia kernel module: see nvidia-smi. ") + kContinues;
    case nvml::kNoPermission:
      return std::string("This user may not open /dev/nvidiactl. ") + kContinues;
    default:
      return std::string("See whether nvidia-smi works here. ") + kContinues;
  }
}

struct Opened {
  SharedLibrary library;
  nvml::EntryPoints entries;
  NvmlLibraryState state;

  Opened() { open(); }

  void refuse(const std::string& reason, const std::string& hint) {
    state.reason = reason;
    state.hint = hint;
  }

  void open() {
    const char* override = std::getenv("P2PLAB_NVML");
    const std::string name = override && *override ? override : "libnvidia-ml.so.1";
    if (!library.open({name})) {
      refuse("NVML cannot be opened (" + library.failures() + ")",
             std::string(
                 "It comes with the NVIDIA driver; a container needs the driver capability \"utility\". ") +
                 kContinues);
      return;
    }
    state.path = library.path();
    std::string missing;
#define P2P_RESOLVE(function, ...)                   \
  if (!library.resolve(entries.function, #function)) \
    missing += (missing.empty() ? "" : ", ") + std::string(#function);
    P2P_NVML_ENTRY_POINTS(P2P_RESOLVE)
#undef P2P_RESOLVE
#define P2P_RESOLVE_OPTIONAL(since, function, ...) (void)library.resolve(entries.function, #function);
    P2P_NVML_OPTIONAL_ENTRY_POINTS(P2P_RESOLVE_OPTIONAL)
#undef P2P_RESOLVE_OPTIONAL
    if (!missing.empty()) {
      refuse(name + " lacks " + missing, std::string("It is no NVML of this age. ") + kContinues);
      return;
    }
    if (const nvml::Result result = entries.nvmlInit_v2(); result != nvml::kSuccess) {
      refuse("nvmlInit failed: " + nvmlResultName(result), hintFor(result));
      return;
    }
    state.version = versionBy(entries.nvmlSystemGetNVMLVersion);
    state.driverVersion = versionBy(entries.nvmlSystemGetDriverVersion);
    state.available = true;
  }

  static std::string versionBy(nvml::Result (*ask)(char*, unsigned)) {
    char text[nvml::kVersionBufferSize] = {};
    return ask(text, sizeof text - 1) == nvml::kSuccess ? text : "";
  }
};

// Leaked on purpose, and nvmlShutdown is never called: what is read while the process ends may still call
// into it.
const Opened& opened() {
  static const Opened& once = *new Opened();
  return once;
}

}  // namespace

const NvmlLibraryState& nvmlLibraryState() {
  return opened().state;
}

const nvml::EntryPoints& nvmlEntryPoints() {
  const Opened& library = opened();
  if (!library.state.available) throw notAvailable(library.state.reason, library.state.hint);
  return library.entries;
}

std::string nvmlResultName(nvml::Result result) {
  switch (result) {
#define P2P_NAME(constant, text) \
  case nvml::constant:           \
    return text;
    P2P_NAME(kSuccess, "NVML_SUCCESS")
    P2P_NAME(kUninitialized, "NVML_ERROR_UNINITIALIZED")
    P2P_NAME(kInvalidArgument, "NVML_ERROR_INVALID_ARGUMENT")
    P2P_NAME(kNotSupported, "NVML_ERROR_NOT_SUPPORTED")
    P2P_NAME(kNoPermission, "NVML_ERROR_NO_PERMISSION")
    P2P_NAME(kNotFound, "NVML_ERROR_NOT_FOUND")
    P2P_NAME(kInsufficientSize, "NVML_ERROR_INSUFFICIENT_SIZE")
    P2P_NAME(kInsufficientPower, "NVML_ERROR_INSUFFICIENT_POWER")
    P2P_NAME(kDriverNotLoaded, "NVML_ERROR_DRIVER_NOT_LOADED")
    P2P_NAME(kTimeout, "NVML_ERROR_TIMEOUT")
    P2P_NAME(kIrqIssue, "NVML_ERROR_IRQ_ISSUE")
    P2P_NAME(kLibraryNotFound, "NVML_ERROR_LIBRARY_NOT_FOUND")
    P2P_NAME(kFunctionNotFound, "NVML_ERROR_FUNCTION_NOT_FOUND")
    P2P_NAME(kCorruptedInforom, "NVML_ERROR_CORRUPTED_INFOROM")
    P2P_NAME(kGpuIsLost, "NVML_ERROR_GPU_IS_LOST")
    P2P_NAME(kResetRequired, "NVML_ERROR_RESET_REQUIRED")
    P2P_NAME(kOperatingSystem, "NVML_ERROR_OPERATING_SYSTEM")
    P2P_NAME(kLibRmVersionMismatch, "NVML_ERROR_LIB_RM_VERSION_MISMATCH")
    P2P_NAME(kInUse, "NVML_ERROR_IN_USE")
    P2P_NAME(kMemory, "NVML_ERROR_MEMORY")
    P2P_NAME(kNoData, "NVML_ERROR_NO_DATA")
    P2P_NAME(kInsufficientResources, "NVML_ERROR_INSUFFICIENT_RESOURCES")
    P2P_NAME(kArgumentVersionMismatch, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH")
    P2P_NAME(kDeprecated, "NVML_ERROR_DEPRECATED")
    P2P_NAME(kNotReady, "NVML_ERROR_NOT_READY")
    P2P_NAME(kGpuNotFound, "NVML_ERROR_GPU_NOT_FOUND")
    P2P_NAME(kInvalidState, "NVML_ERROR_INVALID_STATE")
    P2P_NAME(kUnknown, "NVML_ERROR_UNKNOWN")
#undef P2P_NAME
    default:
      return "nvmlReturn_t " + std::to_string(result);
  }
}

}  // namespace p2p
