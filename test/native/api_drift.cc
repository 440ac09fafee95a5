// Holds native/cuda_api.h and native/cupti_api.h against the real headers: it compiles, or they have drifted.
// clang-format off: ours first, because cuda.h defines macros of the names that it versions
#include "cuda_api.h"
#include "cupti_api.h"

#include <cuda.h>
#include <cupti.h>
// clang-format on

#include <cstddef>
#include <type_traits>

namespace cu = p2p::cu;
namespace cupti = p2p::cupti;

namespace {

// Same size and same register class: a pointer for a pointer, a whole number or enum for a whole number or
// enum.
template <typename A, typename B>
constexpr bool sameShape = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                           (std::is_integral_v<A> || std::is_enum_v<A>) ==
                               (std::is_integral_v<B> || std::is_enum_v<B>);

template <typename A, typename B>
struct SameCall : std::false_type {};

template <typename R1, typename... A1, typename R2, typename... A2>
struct SameCall<R1 (*)(A1...), R2 (*)(A2...)> {
  static constexpr bool test() {
    if constexpr (sizeof...(A1) == sizeof...(A2))
      return sameShape<R1, R2> && (sameShape<A1, A2> && ...);
    else
      return false;
  }
  static constexpr bool value = test();
};

#define SAME_DRIVER_CALL(name, ...) \
  static_assert(SameCall<decltype(cu::EntryPoints::name), decltype(&::name)>::value, #name);
P2P_DRIVER_ENTRY_POINTS(SAME_DRIVER_CALL)
#define SAME_OPTIONAL_CALL(since, name, ...) SAME_DRIVER_CALL(name)
P2P_OPTIONAL_ENTRY_POINTS(SAME_OPTIONAL_CALL)

#define SAME_CUPTI_CALL(name, ...) \
  static_assert(SameCall<decltype(cupti::EntryPoints::name), decltype(&::name)>::value, #name);
P2P_CUPTI_ENTRY_POINTS(SAME_CUPTI_CALL)
#if CUDA_VERSION >= 12030
P2P_CUPTI_OPTIONAL_ENTRY_POINTS(SAME_CUPTI_CALL)
#endif

#define SAME(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)

SAME(sizeof(cu::Uuid), sizeof(CUuuid));
SAME(sizeof(cu::DevicePtr), sizeof(CUdeviceptr));
SAME(cu::kSuccess, CUDA_SUCCESS);
SAME(cu::kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(cu::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(cu::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(cu::kDeinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(cu::kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(cu::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(cu::kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME(cu::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(cu::kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(cu::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(cu::kMapFailed, CUDA_ERROR_MAP_FAILED);
SAME(cu::kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(cu::kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(cu::kPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
SAME(cu::kInvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(cu::kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(cu::kJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME(cu::kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(cu::kJitCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED);
SAME(cu::kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
SAME(cu::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(cu::kNotFound, CUDA_ERROR_NOT_FOUND);
SAME(cu::kNotReady, CUDA_ERROR_NOT_READY);
SAME(cu::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(cu::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(cu::kPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME(cu::kPeerAccessNotEnabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
SAME(cu::kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(cu::kTooManyPeers, CUDA_ERROR_TOO_MANY_PEERS);
SAME(cu::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(cu::kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME(cu::kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(cu::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(cu::kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(cu::kCompatNotSupportedOnDevice, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME(cu::kUnknown, CUDA_ERROR_UNKNOWN);

SAME(cu::kAttributeClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(cu::kAttributeMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(cu::kAttributeCanMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
SAME(cu::kAttributePciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(cu::kAttributePciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(cu::kAttributeMemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(cu::kAttributeL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(cu::kAttributeAsyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
SAME(cu::kAttributeUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(cu::kAttributePciDomainId, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(cu::kAttributeComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(cu::kAttributeComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(cu::kPeerPerformanceRank, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
SAME(cu::kPeerAccessSupported, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED);
SAME(cu::kPeerNativeAtomicSupported, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
SAME(cu::kPeerArrayAccessSupported, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED);
SAME(cu::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(cu::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(cu::kMemHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME(cu::kFuncAttributeNumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(cu::kJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(cu::kJitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

SAME(cupti::kSuccess, CUPTI_SUCCESS);
SAME(cupti::kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(cupti::kNotCompatible, CUPTI_ERROR_NOT_COMPATIBLE);
SAME(cupti::kNotInitialized, CUPTI_ERROR_NOT_INITIALIZED);
SAME(cupti::kHardwareBusy, CUPTI_ERROR_HARDWARE_BUSY);
SAME(cupti::kNotSupported, CUPTI_ERROR_NOT_SUPPORTED);
SAME(cupti::kVirtualizedDeviceNotSupported, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME(cupti::kInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(cupti::kMultipleSubscribersNotSupported, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(cupti::kVirtualizedDeviceInsufficientPrivileges, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(cupti::kConfidentialComputingNotSupported, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
SAME(cupti::kMigDeviceNotSupported, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
SAME(cupti::kWslDeviceNotSupported, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
SAME(cupti::kActivityMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(cupti::kActivityDriver, CUPTI_ACTIVITY_KIND_DRIVER);
SAME(cupti::kActivityConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(cupti::kActivityMemcpy2, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(cupti::kHtoD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
SAME(cupti::kDtoH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
SAME(cupti::kDtoD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
SAME(cupti::kHtoH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
SAME(cupti::kPtoP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
SAME(cupti::kDomainDriverApi, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(cupti::kCbidEventRecord, CUPTI_DRIVER_TRACE_CBID_cuEventRecord);
SAME(cupti::kCbidStreamQuery, CUPTI_DRIVER_TRACE_CBID_cuStreamQuery);
SAME(cupti::kCbidStreamSynchronize, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
SAME(cupti::kCbidStreamWaitEvent, CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent);
SAME(cupti::kCbidMemcpyAsync, CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync);
SAME(cupti::kCbidMemcpyPeerAsync, CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync);

#define SAME_FIELD(ours, theirs, field)                                    \
  static_assert(offsetof(cupti::ours, field) == offsetof(theirs, field) && \
                    sizeof(cupti::ours::field) == sizeof(theirs::field),   \
                #theirs "::" #field)

#define SAME_MEMCPY(theirs)                     \
  SAME_FIELD(ActivityMemcpy, theirs, kind);     \
  SAME_FIELD(ActivityMemcpy, theirs, copyKind); \
  SAME_FIELD(ActivityMemcpy, theirs, bytes);    \
  SAME_FIELD(ActivityMemcpy, theirs, start);    \
  SAME_FIELD(ActivityMemcpy, theirs, end);      \
  SAME_FIELD(ActivityMemcpy, theirs, deviceId); \
  SAME_FIELD(ActivityMemcpy, theirs, streamId); \
  SAME_FIELD(ActivityMemcpy, theirs, correlationId)

#define SAME_PEER(theirs)                           \
  SAME_FIELD(ActivityMemcpyPtoP, theirs, kind);     \
  SAME_FIELD(ActivityMemcpyPtoP, theirs, copyKind); \
  SAME_FIELD(ActivityMemcpyPtoP, theirs, bytes);    \
  SAME_FIELD(ActivityMemcpyPtoP, theirs, start);    \
  SAME_FIELD(ActivityMemcpyPtoP, theirs, end);      \
  SAME_FIELD(ActivityMemcpyPtoP, theirs, deviceId); \
  SAME_FIELD(ActivityMemcpyPtoP, theirs, streamId); \
  SAME_FIELD(ActivityMemcpyPtoP, theirs, correlationId)

#define SAME_KERNEL(theirs)                          \
  SAME_FIELD(ActivityKernel, theirs, kind);          \
  SAME_FIELD(ActivityKernel, theirs, start);         \
  SAME_FIELD(ActivityKernel, theirs, end);           \
  SAME_FIELD(ActivityKernel, theirs, deviceId);      \
  SAME_FIELD(ActivityKernel, theirs, streamId);      \
  SAME_FIELD(ActivityKernel, theirs, correlationId); \
  SAME_FIELD(ActivityKernel, theirs, name)

// Every version of a record since CUDA 11 that the header still knows: the fields we read have never moved.
#if CUDA_VERSION >= 12000
SAME_MEMCPY(CUpti_ActivityMemcpy4);
SAME_MEMCPY(CUpti_ActivityMemcpy5);
SAME_PEER(CUpti_ActivityMemcpyPtoP3);
SAME_PEER(CUpti_ActivityMemcpyPtoP4);
SAME_KERNEL(CUpti_ActivityKernel5);
SAME_KERNEL(CUpti_ActivityKernel6);
SAME_KERNEL(CUpti_ActivityKernel7);
SAME_KERNEL(CUpti_ActivityKernel8);
SAME_KERNEL(CUpti_ActivityKernel9);
#endif
#if CUDA_VERSION >= 13000
SAME_MEMCPY(CUpti_ActivityMemcpy6);
SAME_KERNEL(CUpti_ActivityKernel10);
#endif
SAME_FIELD(ActivityApi, CUpti_ActivityAPI, kind);
SAME_FIELD(ActivityApi, CUpti_ActivityAPI, cbid);
SAME_FIELD(ActivityApi, CUpti_ActivityAPI, start);
SAME_FIELD(ActivityApi, CUpti_ActivityAPI, end);
SAME_FIELD(ActivityApi, CUpti_ActivityAPI, correlationId);

#ifdef P2P_DRIFT_EXAMPLE
// drift.test.ts sets it to see that a difference is found.
SAME(cupti::kHtoD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
#endif

}  // namespace
