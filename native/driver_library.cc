#include "driver_library.h"

#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

#include "clock.h"
#include "shared_library.h"

namespace p2p {

namespace {

struct Opened {
  SharedLibrary library;
  cu::EntryPoints entries;
  DriverState state;

  Opened() { open(); }

  // The host clock is calibrated while the driver starts: either takes tens of milliseconds.
  static std::jthread clockCalibration() noexcept {
    try {
      return std::jthread([] { (void)counterScale(); });
    } catch (const std::system_error&) {
      return {};  // without a thread to spare its first reader calibrates it
    }
  }

  void refuse(const std::string& reason, const std::string& hint) {
    state.reason = reason;
    state.hint = hint;
  }

  void open() {
    const std::jthread clock = clockCalibration();
    const char* override = std::getenv("P2PLAB_LIBCUDA");
    const std::string name = override && *override ? override : "libcuda.so.1";
    if (!library.open({name})) {
      refuse("the NVIDIA driver's libcuda cannot be opened (" + library.failures() + ")",
             "Install the NVIDIA driver, or in a container pass it in (--gpus all); recordings and "
             "simulations work "
             "without it.");
      return;
    }
    state.path = library.path();
    std::string missing;
#define P2P_RESOLVE(function, ...)                   \
  if (!library.resolve(entries.function, #function)) \
    missing += (missing.empty() ? "" : ", ") + std::string(#function);
    P2P_DRIVER_ENTRY_POINTS(P2P_RESOLVE)
#undef P2P_RESOLVE
#define P2P_RESOLVE_OPTIONAL(since, function, ...) (void)library.resolve(entries.function, #function);
    P2P_OPTIONAL_ENTRY_POINTS(P2P_RESOLVE_OPTIONAL)
#undef P2P_RESOLVE_OPTIONAL
    if (!missing.empty()) {
      refuse(name + " lacks " + missing, "The driver is older than CUDA 11.0: install a newer one.");
      return;
    }
    if (const cu::Result result = entries.cuDriverGetVersion(&state.version); result != cu::kSuccess) {
      refuse("cuDriverGetVersion failed: " + resultName(result), hintFor(result, "cuDriverGetVersion"));
      return;
    }
    if (const cu::Result result = entries.cuInit(0); result != cu::kSuccess) {
      refuse(reasonOf(result), hintFor(result, "cuInit"));
      return;
    }
    if (const cu::Result result = entries.cuDeviceGetCount(&state.deviceCount); result != cu::kSuccess) {
      state.deviceCount = 0;
      refuse("cuDeviceGetCount failed: " + resultName(result), hintFor(result, "cuDeviceGetCount"));
      return;
    }
    if (state.deviceCount <= 0) {
      state.deviceCount = 0;
      refuse("the NVIDIA driver shows no GPU", hintFor(cu::kNoDevice, "cuInit"));
      return;
    }
    state.available = true;
  }

  static std::string reasonOf(cu::Result result) {
    const std::string name = "cuInit: " + resultName(result);
    switch (result) {
      case cu::kNoDevice:
        return "the NVIDIA driver shows no GPU (" + name + ")";
      case cu::kSystemDriverMismatch:
        return "kernel module and user library of the NVIDIA driver are of different versions (" + name + ")";
      case cu::kSystemNotReady:
        return "the NVSwitch fabric is not ready: fabric manager not running, or of another version (" +
               name + ")";
      case cu::kStubLibrary:
        return "the libcuda that was found is the toolkit's stub, not a driver (" + name + ")";
      case cu::kInsufficientDriver:
        return "the NVIDIA driver is too old (" + name + ")";
      case cu::kCompatNotSupportedOnDevice:
        return "the forward-compatibility libcuda does not support this GPU (" + name + ")";
      case cu::kOperatingSystem:
      case cu::kUnknown:
        return "the NVIDIA kernel module does not answer (" + name + ")";
      default:
        return "the NVIDIA driver cannot be initialised (" + name + ")";
    }
  }
};

// Leaked on purpose: objects closed while the process ends may still call into the table.
const Opened& opened() {
  static const Opened& once = *new Opened();
  return once;
}

}  // namespace

const DriverState& driverState() {
  return opened().state;
}

const cu::EntryPoints& driver() {
  const Opened& library = opened();
  if (!library.state.available) throw notAvailable(library.state.reason, library.state.hint);
  return library.entries;
}

const char* sinceCuda(const char* function) {
  const std::string_view wanted = function;
#define P2P_SINCE(since, name, ...) \
  if (wanted == #name) return since;
  P2P_OPTIONAL_ENTRY_POINTS(P2P_SINCE)
#undef P2P_SINCE
  return "?";
}

cu::Device deviceOf(int gpu) {
  const cu::EntryPoints& entries = driver();
  const int count = driverState().deviceCount;
  if (gpu < 0 || gpu >= count) {
    throw usage(
        "there is no GPU " + std::to_string(gpu) + " (the driver shows " + std::to_string(count) + ")",
        "Count GPUs from 0; cuda.devices() lists them.");
  }
  cu::Device device = 0;
  check(entries.cuDeviceGet(&device, gpu), "cuDeviceGet");
  return device;
}

std::string kernelModuleVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace p2p
