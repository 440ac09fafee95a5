// Holds native/cupti_api.h against the real cupti.h: it compiles, or they have drifted.

// Ours first, because cuda.h renames functions by macros.
// clang-format off
#include "cupti_api.h"
#include <cuda.h>
#include <cupti.h>
// clang-format on

#include <cstddef>

#include "drift.h"

namespace cupti = p2p::cupti;

namespace {

#define SAME_CUPTI_CALL(name, ...) \
  static_assert(SameCall<decltype(cupti::EntryPoints::name), decltype(&::name)>::value, #name);
P2P_CUPTI_ENTRY_POINTS(SAME_CUPTI_CALL)
#if CUDA_VERSION >= 12030
P2P_CUPTI_OPTIONAL_ENTRY_POINTS(SAME_CUPTI_CALL)
#endif

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
SAME(cupti::kActivityMemset, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(cupti::kActivitySynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
SAME(cupti::kEventSynchronize, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
SAME(cupti::kStreamWaitEvent, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
SAME(cupti::kStreamSynchronize, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
SAME(cupti::kContextSynchronize, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
SAME(cupti::kNoStream, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
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
SAME(cupti::kCbidEventQuery, CUPTI_DRIVER_TRACE_CBID_cuEventQuery);
SAME(cupti::kCbidMemsetD8Async, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
SAME(cupti::kCbidMemsetD16Async, CUPTI_DRIVER_TRACE_CBID_cuMemsetD16Async);
SAME(cupti::kCbidMemsetD32Async, CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async);
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

#define SAME_MEMSET(theirs)                     \
  SAME_FIELD(ActivityMemset, theirs, kind);     \
  SAME_FIELD(ActivityMemset, theirs, bytes);    \
  SAME_FIELD(ActivityMemset, theirs, start);    \
  SAME_FIELD(ActivityMemset, theirs, end);      \
  SAME_FIELD(ActivityMemset, theirs, deviceId); \
  SAME_FIELD(ActivityMemset, theirs, streamId); \
  SAME_FIELD(ActivityMemset, theirs, correlationId)

#define SAME_SYNC(theirs)                                     \
  SAME_FIELD(ActivitySynchronization, theirs, kind);          \
  SAME_FIELD(ActivitySynchronization, theirs, type);          \
  SAME_FIELD(ActivitySynchronization, theirs, start);         \
  SAME_FIELD(ActivitySynchronization, theirs, end);           \
  SAME_FIELD(ActivitySynchronization, theirs, correlationId); \
  SAME_FIELD(ActivitySynchronization, theirs, streamId)

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
SAME_MEMSET(CUpti_ActivityMemset3);
SAME_MEMSET(CUpti_ActivityMemset4);
SAME_SYNC(CUpti_ActivitySynchronization);
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
SAME_SYNC(CUpti_ActivitySynchronization2);
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
