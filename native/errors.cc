#include "errors.h"

#include <atomic>

namespace p2p {

namespace {

struct Known {
  cu::Result result;
  const char* name;
  const char* hint;
};

// After these the context is lost: every later call of the process on that GPU fails alike.
#define P2P_LOST                                                                                           \
  " The GPU's context is lost with it: nothing more runs on this GPU in this process. Restart the kernel " \
  "(the notebook's, or the process)."

// Names as in cuda.h; hints say the usual cause first.
constexpr Known kKnown[] = {
    {cu::kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "An argument is outside what the driver takes."},
    {cu::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY",
     "Use smaller buffers, close what is no longer needed, or look for other processes with nvidia-smi."},
    {cu::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "The driver was not initialised in this process."},
    {cu::kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "The process is ending; do no GPU work at exit."},
    {cu::kStubLibrary, "CUDA_ERROR_STUB_LIBRARY",
     "The toolkit's stub libcuda was found instead of the driver's: take the stubs folder out of "
     "LD_LIBRARY_PATH."},
    {cu::kInsufficientDriver, "CUDA_ERROR_INSUFFICIENT_DRIVER", "Install a newer NVIDIA driver."},
    {cu::kCallRequiresNewerDriver, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "Install a newer NVIDIA driver."},
    {cu::kDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "Another process holds the GPU in exclusive mode, or it is in prohibited mode: see nvidia-smi -q -d "
     "COMPUTE."},
    {cu::kNoDevice, "CUDA_ERROR_NO_DEVICE",
     "Check CUDA_VISIBLE_DEVICES and nvidia-smi; in a container, start it with the GPUs passed in (--gpus "
     "all)."},
    {cu::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "Count GPUs from 0; cuda.devices() lists them."},
    {cu::kInvalidImage, "CUDA_ERROR_INVALID_IMAGE",
     "The device code is damaged or of another kind; if it is the addon's own, build the addon again."},
    {cu::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "The GPU's context is gone: restart the kernel."},
    {cu::kMapFailed, "CUDA_ERROR_MAP_FAILED",
     "The peer window did not fit: compare the BAR1 size (nvidia-smi -q -d MEMORY) with the GPU memory and "
     "turn on "
     "large BAR (Above 4G Decoding, Resizable BAR) in the firmware."},
    {cu::kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "The device code holds nothing for this GPU: compile it for its compute capability (the addon's own "
     "needs 7.0 "
     "or newer)."},
    {cu::kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE",
     "An uncorrectable memory error: see nvidia-smi -q -d ECC and the kernel log for Xid 48; reset or "
     "replace the GPU." P2P_LOST},
    {cu::kPeerAccessUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "These GPUs cannot reach each other's memory: see nvidia-smi topo -p2p r; run the staged path or "
     ".peerAccess(false)."},
    {cu::kInvalidPtx, "CUDA_ERROR_INVALID_PTX",
     "The driver refuses the PTX; if it is the addon's own, build the addon again."},
    {cu::kNvlinkUncorrectable, "CUDA_ERROR_NVLINK_UNCORRECTABLE",
     "An NVLink error: see nvidia-smi nvlink -e and the kernel log for Xid 74." P2P_LOST},
    {cu::kJitCompilerNotFound, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
     "libnvidia-ptxjitcompiler of the driver's version is missing: reinstall the driver, or pass it into the "
     "container."},
    {cu::kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "The driver is older than the PTX (the addon's own is of CUDA 11.0): install a newer driver, or compile "
     "with "
     "an older toolkit."},
    {cu::kJitCompilationDisabled, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "Unset CUDA_DISABLE_PTX_JIT."},
    {cu::kOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM",
     "The operating system refused a call of the driver: see the kernel log."},
    {cu::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "The object was closed or belongs to another context."},
    {cu::kNotFound, "CUDA_ERROR_NOT_FOUND",
     "The name is not in the module: declare kernels extern \"C\", or ask by their mangled name."},
    {cu::kNotReady, "CUDA_ERROR_NOT_READY",
     "Work did not complete in time: look for Xid messages in the kernel log, and for the IOMMU or PCIe ACS "
     "between "
     "the GPUs; the staged path (.peerAccess(false)) does not use the link between them."},
    {cu::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "Device code touched memory that it may not: look at indices and sizes, at peer access when the buffer "
     "is "
     "on another GPU, and with compute-sanitizer." P2P_LOST},
    {cu::kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "The block asks for more threads, registers or shared memory than a multiprocessor has: use a smaller "
     "block."},
    {cu::kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT",
     "A kernel ran into the display's time limit: use a GPU without a display." P2P_LOST},
    {cu::kPeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "Peer access is already on."},
    {cu::kPeerAccessNotEnabled, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "Peer access is already off."},
    {cu::kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED",
     "The GPU's context is gone: restart the kernel."},
    {cu::kAssert, "CUDA_ERROR_ASSERT", "An assert() of device code failed; its text is on stderr." P2P_LOST},
    {cu::kTooManyPeers, "CUDA_ERROR_TOO_MANY_PEERS",
     "A GPU maps at most 8 peers at a time where there is no NVSwitch: disable peer access of pairs not in "
     "use."},
    {cu::kHardwareStackError, "CUDA_ERROR_HARDWARE_STACK_ERROR",
     "The call stack of device code overflowed or was corrupted." P2P_LOST},
    {cu::kIllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
     "Device code met an illegal instruction." P2P_LOST},
    {cu::kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS",
     "Device code loaded or stored at an address that is no multiple of the value's size: look at "
     "offsets." P2P_LOST},
    {cu::kInvalidAddressSpace, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
     "Device code used an address of the wrong kind of memory." P2P_LOST},
    {cu::kInvalidPc, "CUDA_ERROR_INVALID_PC", "Device code jumped out of its program." P2P_LOST},
    {cu::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED",
     "Device code failed in a way that has no name of its own; compute-sanitizer may find it." P2P_LOST},
    {cu::kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", "The driver or the container forbids it to this user."},
    {cu::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED",
     "This GPU, driver or mode does not offer it; with confidential computing on, direct peer copies are "
     "refused: run "
     "the staged path."},
    {cu::kSystemNotReady, "CUDA_ERROR_SYSTEM_NOT_READY",
     "The NVSwitch fabric is not up: check systemctl status nvidia-fabricmanager; its version must equal the "
     "driver's."},
    {cu::kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "Kernel module and user library are of different versions (/proc/driver/nvidia/version): reboot after "
     "an update, "
     "or pass the matching libraries into the container."},
    {cu::kCompatNotSupportedOnDevice, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "The forward-compatibility libcuda does not support this GPU: take it out of LD_LIBRARY_PATH."},
    {cu::kStreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "This call cannot be part of a graph: make it before or after the capture."},
    {cu::kStreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "An earlier call broke the capture: look for one that waits or allocates inside it."},
    {cu::kStreamCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "Two captures would become one: join streams inside one capture only."},
    {cu::kStreamCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "This stream began no capture."},
    {cu::kStreamCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "A stream that joined the capture was not joined back: record an event on it and let the captured "
     "stream "
     "wait for it."},
    {cu::kStreamCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "A captured stream waits for an event that was recorded outside the capture: record it inside."},
    {cu::kStreamCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "The capture met work of the default stream: use streams of cuda.stream()."},
    {cu::kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     "The event was recorded inside a capture and has no time of its own: record it outside."},
    {cu::kStreamCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "A capture ends on the thread that began it."},
    {cu::kUnknown, "CUDA_ERROR_UNKNOWN",
     "See the kernel log for Xid messages; after a suspend, reload the nvidia_uvm module."},
};

const Known* find(cu::Result result) {
  for (const Known& known : kKnown) {
    if (known.result == result) return &known;
  }
  return nullptr;
}

std::atomic<long> releaseFailures{0};

}  // namespace

Failure usage(const std::string& message, const std::string& hint) {
  return Failure(FailureCode::kUsage, message, hint);
}

Failure notAvailable(const std::string& message, const std::string& hint) {
  return Failure(FailureCode::kNotAvailable, message, hint);
}

Failure compileFailure(const std::string& file, const std::string& log) {
  Failure failure(FailureCode::kCompile, "NVRTC cannot compile " + file + "\n" + log,
                  "Numbers in brackets are lines of the source, counted from 1.");
  failure.log = log;
  return failure;
}

std::string resultName(cu::Result result) {
  const Known* known = find(result);
  return known ? known->name : "CUresult " + std::to_string(result);
}

std::string hintFor(cu::Result result, std::string_view call) {
  if (result == cu::kNotSupported && call.starts_with("cuMemcpy"))
    return "The driver refuses this copy, as it does between GPUs in confidential computing: run the staged "
           "path.";
  const Known* known = find(result);
  return known ? known->hint : "Look the result up in the CUDA driver API reference (CUresult).";
}

Failure cudaFailure(cu::Result result, const char* call, const std::string& detail) {
  const std::string name = resultName(result);
  Failure failure(FailureCode::kCuda,
                  std::string(call) + " failed: " + name + " (" + std::to_string(result) + ")",
                  detail.empty() ? hintFor(result, call) : detail + " " + hintFor(result, call));
  failure.result = result;
  failure.resultName = name;
  failure.call = call;
  return failure;
}

bool contextLost(cu::Result result) {
  switch (result) {
    case cu::kEccUncorrectable:
    case cu::kNvlinkUncorrectable:
    case cu::kIllegalAddress:
    case cu::kLaunchTimeout:
    case cu::kContextIsDestroyed:
    case cu::kAssert:
    case cu::kHardwareStackError:
    case cu::kIllegalInstruction:
    case cu::kMisalignedAddress:
    case cu::kInvalidAddressSpace:
    case cu::kInvalidPc:
    case cu::kLaunchFailed:
      return true;
    default:
      return false;
  }
}

void noteRelease(cu::Result result) noexcept {
  if (result != cu::kSuccess) releaseFailures.fetch_add(1, std::memory_order_relaxed);
}

long failedReleases() noexcept {
  return releaseFailures.load(std::memory_order_relaxed);
}

}  // namespace p2p
