// The part of the CUDA driver API that this addon uses, declared by us so that neither building nor loading
// needs a CUDA toolkit. Handles are the driver's own opaque structs; numbers are those of cuda.h since
// CUDA 11. Where a real cuda.h is on the machine, test/native/api_drift.cc compiles it against this file.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;

namespace p2p::cu {

using Result = int;
using Device = int;
using DevicePtr = std::uint64_t;
using Context = CUctx_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Module = CUmod_st*;
using Function = CUfunc_st*;

struct Uuid {
  unsigned char bytes[16];
};

enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kInsufficientDriver = 35,
  kCallRequiresNewerDriver = 36,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kMapFailed = 205,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kPeerAccessUnsupported = 217,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kJitCompilationDisabled = 223,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kContextIsDestroyed = 709,
  kTooManyPeers = 711,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kCompatNotSupportedOnDevice = 804,
  kUnknown = 999,
};

enum DeviceAttribute : int {
  kAttributeClockRate = 13,
  kAttributeMultiprocessorCount = 16,
  kAttributeCanMapHostMemory = 19,
  kAttributePciBusId = 33,
  kAttributePciDeviceId = 34,
  kAttributeMemoryClockRate = 36,
  kAttributeL2CacheSize = 38,
  kAttributeAsyncEngineCount = 40,
  kAttributeUnifiedAddressing = 41,
  kAttributePciDomainId = 50,
  kAttributeComputeMajor = 75,
  kAttributeComputeMinor = 76,
};

enum PeerAttribute : int {
  kPeerPerformanceRank = 1,
  kPeerAccessSupported = 2,
  kPeerNativeAtomicSupported = 3,
  kPeerArrayAccessSupported = 4,
};

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kMemHostAllocPortable = 1;
inline constexpr int kFuncAttributeNumRegs = 4;
inline constexpr int kJitErrorLogBuffer = 5;
inline constexpr int kJitErrorLogBufferSizeBytes = 6;

// Every entry point, by the name the library exports: versioned where the plain name means an older
// signature.
#define P2P_DRIVER_ENTRY_POINTS(X)                                                                          \
  X(cuInit, unsigned)                                                                                       \
  X(cuDriverGetVersion, int*)                                                                               \
  X(cuGetErrorName, Result, const char**)                                                                   \
  X(cuGetErrorString, Result, const char**)                                                                 \
  X(cuDeviceGetCount, int*)                                                                                 \
  X(cuDeviceGet, Device*, int)                                                                              \
  X(cuDeviceGetName, char*, int, Device)                                                                    \
  X(cuDeviceGetUuid, Uuid*, Device)                                                                         \
  X(cuDeviceTotalMem_v2, std::size_t*, Device)                                                              \
  X(cuDeviceGetAttribute, int*, DeviceAttribute, Device)                                                    \
  X(cuDeviceCanAccessPeer, int*, Device, Device)                                                            \
  X(cuDeviceGetP2PAttribute, int*, PeerAttribute, Device, Device)                                           \
  X(cuDevicePrimaryCtxRetain, Context*, Device)                                                             \
  X(cuDevicePrimaryCtxRelease_v2, Device)                                                                   \
  X(cuCtxSetCurrent, Context)                                                                               \
  X(cuCtxPushCurrent_v2, Context)                                                                           \
  X(cuCtxPopCurrent_v2, Context*)                                                                           \
  X(cuCtxEnablePeerAccess, Context, unsigned)                                                               \
  X(cuCtxDisablePeerAccess, Context)                                                                        \
  X(cuMemAlloc_v2, DevicePtr*, std::size_t)                                                                 \
  X(cuMemFree_v2, DevicePtr)                                                                                \
  X(cuMemHostAlloc, void**, std::size_t, unsigned)                                                          \
  X(cuMemFreeHost, void*)                                                                                   \
  X(cuMemcpyAsync, DevicePtr, DevicePtr, std::size_t, Stream)                                               \
  X(cuMemcpyPeerAsync, DevicePtr, Context, DevicePtr, Context, std::size_t, Stream)                         \
  X(cuStreamCreate, Stream*, unsigned)                                                                      \
  X(cuStreamDestroy_v2, Stream)                                                                             \
  X(cuStreamQuery, Stream)                                                                                  \
  X(cuStreamSynchronize, Stream)                                                                            \
  X(cuStreamWaitEvent, Stream, Event, unsigned)                                                             \
  X(cuEventCreate, Event*, unsigned)                                                                        \
  X(cuEventDestroy_v2, Event)                                                                               \
  X(cuEventRecord, Event, Stream)                                                                           \
  X(cuModuleLoadDataEx, Module*, const void*, unsigned, int*, void**)                                       \
  X(cuModuleUnload, Module)                                                                                 \
  X(cuModuleGetFunction, Function*, Module, const char*)                                                    \
  X(cuFuncGetAttribute, int*, int, Function)                                                                \
  X(cuLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, \
    void**, void**)

// Functions that drivers of the CUDA 11.0 age may lack: X(CUDA release that brought it, name, parameters...).
// They stay null where the driver has none; ask for them through P2P_OPTIONAL, which says which driver has
// it.
#define P2P_OPTIONAL_ENTRY_POINTS(X) X("11.4", cuDeviceGetUuid_v2, Uuid*, Device)

// The driver's functions, resolved.
struct EntryPoints {
#define P2P_DECLARE(name, ...) Result (*name)(__VA_ARGS__) = nullptr;
#define P2P_DECLARE_OPTIONAL(since, name, ...) Result (*name)(__VA_ARGS__) = nullptr;
  P2P_DRIVER_ENTRY_POINTS(P2P_DECLARE)
  P2P_OPTIONAL_ENTRY_POINTS(P2P_DECLARE_OPTIONAL)
#undef P2P_DECLARE_OPTIONAL
#undef P2P_DECLARE
};

}  // namespace p2p::cu
