// The part of CUPTI's activity API that this addon uses, declared by us. Of each record only the leading
// fields are declared, which have stood at the same offsets in every version since CUDA 11;
// test/native/api_drift.cc holds them against a real cupti.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_api.h"

namespace p2p::cupti {

using Result = int;

enum : Result {
  kSuccess = 0,
  kNotCompatible = 14,
  kMaxLimitReached = 12,
  kNotInitialized = 15,
  kHardwareBusy = 26,
  kNotSupported = 27,
  kVirtualizedDeviceNotSupported = 33,
  kInsufficientPrivileges = 35,
  kOldProfilerApiInitialized = 36,
  kLegacyProfilerNotSupported = 38,
  kMultipleSubscribersNotSupported = 39,
  kVirtualizedDeviceInsufficientPrivileges = 40,
  kConfidentialComputingNotSupported = 41,
  kMigDeviceNotSupported = 43,
  kWslDeviceNotSupported = 45,
};

enum ActivityKind : std::uint32_t {
  kActivityMemcpy = 1,
  kActivityMemset = 2,
  kActivityDriver = 4,
  kActivityConcurrentKernel = 10,
  kActivityMemcpy2 = 22,
  kActivitySynchronization = 38,
};

enum MemcpyKind : std::uint8_t {
  kHtoD = 1,
  kDtoH = 2,
  kDtoD = 8,
  kHtoH = 9,
  kPtoP = 10,
};

enum SynchronizationType : std::uint32_t {
  kEventSynchronize = 1,
  kStreamWaitEvent = 2,
  kStreamSynchronize = 3,
  kContextSynchronize = 4,
};

// In place of a stream's id where a record is of none.
inline constexpr std::uint32_t kNoStream = 0xffffffff;

inline constexpr std::uint32_t kDomainDriverApi = 1;

// Callback ids of driver calls.
enum DriverCallback : std::uint32_t {
  kCbidEventRecord = 119,
  kCbidEventQuery = 120,
  kCbidStreamQuery = 125,
  kCbidStreamSynchronize = 126,
  kCbidMemsetD8Async = 216,
  kCbidMemsetD16Async = 218,
  kCbidMemsetD32Async = 220,
  kCbidStreamWaitEvent = 295,
  kCbidMemcpyAsync = 306,
  kCbidMemcpyPeerAsync = 319,
};

struct Activity {
  std::uint32_t kind;
};

struct ActivityMemcpy {
  std::uint32_t kind;
  std::uint8_t copyKind;
  std::uint8_t srcKind;
  std::uint8_t dstKind;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t deviceId;
  std::uint32_t contextId;
  std::uint32_t streamId;
  std::uint32_t correlationId;
};

struct ActivityMemcpyPtoP {
  std::uint32_t kind;
  std::uint8_t copyKind;
  std::uint8_t srcKind;
  std::uint8_t dstKind;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t deviceId;
  std::uint32_t contextId;
  std::uint32_t streamId;
  std::uint32_t srcDeviceId;
  std::uint32_t srcContextId;
  std::uint32_t dstDeviceId;
  std::uint32_t dstContextId;
  std::uint32_t correlationId;
};

struct ActivityMemset {
  std::uint32_t kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t deviceId;
  std::uint32_t contextId;
  std::uint32_t streamId;
  std::uint32_t correlationId;
};

struct ActivitySynchronization {
  std::uint32_t kind;
  std::uint32_t type;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t correlationId;
  std::uint32_t contextId;
  std::uint32_t streamId;
};

struct ActivityApi {
  std::uint32_t kind;
  std::uint32_t cbid;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t processId;
  std::uint32_t threadId;
  std::uint32_t correlationId;
  std::uint32_t returnValue;
};

struct ActivityKernel {
  std::uint32_t kind;
  std::uint32_t configuration;  // cache, shared memory, registers
  std::uint32_t globalCacheRequested;
  std::uint32_t globalCacheExecuted;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t completed;
  std::uint32_t deviceId;
  std::uint32_t contextId;
  std::uint32_t streamId;
  std::int32_t grid[3];
  std::int32_t block[3];
  std::int32_t staticSharedMemory;
  std::int32_t dynamicSharedMemory;
  std::uint32_t localMemoryPerThread;
  std::uint32_t localMemoryTotal;
  std::uint32_t correlationId;
  std::int64_t gridId;
  const char* name;
};

using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords);
using BufferCompleted = void (*)(cu::Context context, std::uint32_t streamId, std::uint8_t* buffer,
                                 std::size_t size, std::size_t validSize);

#define P2P_CUPTI_ENTRY_POINTS(X)                                                \
  X(cuptiGetVersion, std::uint32_t*)                                             \
  X(cuptiGetResultString, Result, const char**)                                  \
  X(cuptiGetTimestamp, std::uint64_t*)                                           \
  X(cuptiActivityRegisterCallbacks, BufferRequested, BufferCompleted)            \
  X(cuptiActivityEnable, ActivityKind)                                           \
  X(cuptiActivityDisable, ActivityKind)                                          \
  X(cuptiActivityFlushAll, std::uint32_t)                                        \
  X(cuptiActivityGetNextRecord, std::uint8_t*, std::size_t, Activity**)          \
  X(cuptiActivityGetNumDroppedRecords, cu::Context, std::uint32_t, std::size_t*) \
  X(cuptiGetCallbackName, std::uint32_t, std::uint32_t, const char**)            \
  X(cuptiFinalize)

// Only of CUDA 12 and later: chooses single driver calls, and leaves out polls that found work unfinished.
#define P2P_CUPTI_OPTIONAL_ENTRY_POINTS(X)                     \
  X(cuptiActivityEnableDriverApi, std::uint32_t, std::uint8_t) \
  X(cuptiActivityEnableAllSyncRecords, std::uint8_t)

struct EntryPoints {
#define P2P_DECLARE(name, ...) Result (*name)(__VA_ARGS__) = nullptr;
  P2P_CUPTI_ENTRY_POINTS(P2P_DECLARE)
  P2P_CUPTI_OPTIONAL_ENTRY_POINTS(P2P_DECLARE)
#undef P2P_DECLARE
};

}  // namespace p2p::cupti
