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
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
struct CUmemPoolHandle_st;

namespace p2p::cu {

using Result = int;
using Device = int;
using DevicePtr = std::uint64_t;
using Context = CUctx_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Module = CUmod_st*;
using Function = CUfunc_st*;
using Graph = CUgraph_st*;
using GraphExec = CUgraphExec_st*;
using GraphNode = CUgraphNode_st*;
using MemoryPool = CUmemPoolHandle_st*;
using MemoryHandle = unsigned long long;

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
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kTooManyPeers = 711,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kCompatNotSupportedOnDevice = 804,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kStreamCaptureMerge = 902,
  kStreamCaptureUnmatched = 903,
  kStreamCaptureUnjoined = 904,
  kStreamCaptureIsolation = 905,
  kStreamCaptureImplicit = 906,
  kCapturedEvent = 907,
  kStreamCaptureWrongThread = 908,
  kGraphExecUpdateFailure = 910,
  kUnknown = 999,
};

enum DeviceAttribute : int {
  kAttributeMaxThreadsPerBlock = 1,
  kAttributeMaxBlockX = 2,
  kAttributeMaxBlockY = 3,
  kAttributeMaxBlockZ = 4,
  kAttributeMaxGridX = 5,
  kAttributeMaxGridY = 6,
  kAttributeMaxGridZ = 7,
  kAttributeMaxSharedPerBlock = 8,
  kAttributeWarpSize = 10,
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
  kAttributeConcurrentManagedAccess = 89,
  kAttributeMaxSharedPerBlockOptIn = 97,
  kAttributeHostRegisterSupported = 99,
  kAttributeVirtualMemorySupported = 102,
  kAttributeMemoryPoolsSupported = 115,
  kAttributeGpuDirectRdmaSupported = 116,
  kAttributeDmaBufSupported = 124,
};

enum FunctionAttribute : int {
  kFuncAttributeMaxThreadsPerBlock = 0,
  kFuncAttributeSharedBytes = 1,
  kFuncAttributeConstBytes = 2,
  kFuncAttributeLocalBytes = 3,
  kFuncAttributeNumRegs = 4,
  kFuncAttributePtxVersion = 5,
  kFuncAttributeBinaryVersion = 6,
  kFuncAttributeMaxDynamicSharedBytes = 8,
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
inline constexpr int kJitErrorLogBuffer = 5;
inline constexpr int kJitErrorLogBufferSizeBytes = 6;

enum CaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };

enum GraphNodeType : int {
  kNodeKernel = 0,
  kNodeMemcpy = 1,
  kNodeMemset = 2,
  kNodeGraph = 4,
  kNodeEmpty = 5,
  kNodeBatchMemOp = 12,
};

enum GraphUpdateResult : int {
  kGraphUpdateSuccess = 0,
  kGraphUpdateTopologyChanged = 2,
  kGraphUpdateNodeTypeChanged = 3,
};

struct GraphUpdateInfo {
  GraphUpdateResult result;
  GraphNode errorNode;
  GraphNode errorFromNode;
};

// Stream memory operations: how cuStreamWaitValue32 compares (the first: (int32_t)(*address - value) >= 0).
inline constexpr unsigned kWaitValueGeq = 0;
inline constexpr unsigned kWaitValueEq = 1;

enum MemoryLocationType : int { kLocationDevice = 1, kLocationHost = 2 };
enum MemoryAllocationType : int { kAllocationPinned = 1 };
enum MemoryHandleType : int { kHandleNone = 0, kHandlePosixFile = 1, kHandleFabric = 8 };
enum MemoryAccess : int { kAccessNone = 0, kAccessRead = 1, kAccessReadWrite = 3 };
enum Granularity : int { kGranularityMinimum = 0, kGranularityRecommended = 1 };

struct MemoryLocation {
  MemoryLocationType type;
  int id;
};

struct MemoryAllocationProp {
  MemoryAllocationType type;
  MemoryHandleType requestedHandleTypes;
  MemoryLocation location;
  void* win32HandleMetaData;
  unsigned char allocFlags[8];
};

struct MemoryAccessDesc {
  MemoryLocation location;
  MemoryAccess flags;
};

struct MemoryPoolProps {
  MemoryAllocationType allocType;
  MemoryHandleType handleTypes;
  MemoryLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

enum MemoryPoolAttribute : int { kPoolReleaseThreshold = 4 };

enum CopySourceOrder : int { kSourceOrderStream = 1, kSourceOrderDuringCall = 2, kSourceOrderAny = 3 };

// How the copies of a batch are done.
struct CopyAttributes {
  CopySourceOrder sourceOrder;
  MemoryLocation sourceHint;
  MemoryLocation destinationHint;
  unsigned flags;
};

struct IpcMemoryHandle {
  char reserved[64];
};

inline constexpr unsigned kIpcLazyEnablePeerAccess = 1;

enum PointerAttribute : int {
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
};

inline constexpr unsigned kAttachGlobal = 1;

inline constexpr int kMemoryTypeHost = 1;
inline constexpr int kMemoryTypeDevice = 2;
inline constexpr int kMemoryTypeUnified = 4;

// A box of bytes copied between contexts; with a height and depth of 1 a plain stretch.
struct Copy3dPeer {
  struct End {
    std::size_t x;
    std::size_t y;
    std::size_t z;
    std::size_t lod;
    int memoryType;
    const void* host;
    DevicePtr device;
    void* array;
    Context context;
    std::size_t pitch;
    std::size_t height;
  };
  End src;
  End dst;
  std::size_t widthBytes;
  std::size_t height;
  std::size_t depth;
};

// One entry point a line, so that lines can be added without touching others.
// clang-format off

// Every entry point, by the name the library exports: versioned where the plain name means an older
// signature.
#define P2P_DRIVER_ENTRY_POINTS(X) \
  X(cuInit, unsigned) \
  X(cuDriverGetVersion, int*) \
  X(cuGetErrorName, Result, const char**) \
  X(cuGetErrorString, Result, const char**) \
  X(cuDeviceGetCount, int*) \
  X(cuDeviceGet, Device*, int) \
  X(cuDeviceGetName, char*, int, Device) \
  X(cuDeviceGetUuid, Uuid*, Device) \
  X(cuDeviceTotalMem_v2, std::size_t*, Device) \
  X(cuDeviceGetAttribute, int*, DeviceAttribute, Device) \
  X(cuDeviceCanAccessPeer, int*, Device, Device) \
  X(cuDeviceGetP2PAttribute, int*, PeerAttribute, Device, Device) \
  X(cuDevicePrimaryCtxRetain, Context*, Device) \
  X(cuDevicePrimaryCtxRelease_v2, Device) \
  X(cuCtxSetCurrent, Context) \
  X(cuCtxPushCurrent_v2, Context) \
  X(cuCtxPopCurrent_v2, Context*) \
  X(cuCtxEnablePeerAccess, Context, unsigned) \
  X(cuCtxDisablePeerAccess, Context) \
  X(cuMemAlloc_v2, DevicePtr*, std::size_t) \
  X(cuMemFree_v2, DevicePtr) \
  X(cuMemHostAlloc, void**, std::size_t, unsigned) \
  X(cuMemFreeHost, void*) \
  X(cuMemcpyAsync, DevicePtr, DevicePtr, std::size_t, Stream) \
  X(cuMemcpyPeerAsync, DevicePtr, Context, DevicePtr, Context, std::size_t, Stream) \
  X(cuMemcpy3DPeerAsync, const Copy3dPeer*, Stream) \
  X(cuMemAllocManaged, DevicePtr*, std::size_t, unsigned) \
  X(cuStreamCreate, Stream*, unsigned) \
  X(cuStreamDestroy_v2, Stream) \
  X(cuStreamQuery, Stream) \
  X(cuStreamSynchronize, Stream) \
  X(cuStreamWaitEvent, Stream, Event, unsigned) \
  X(cuEventCreate, Event*, unsigned) \
  X(cuEventDestroy_v2, Event) \
  X(cuEventRecord, Event, Stream) \
  X(cuModuleLoadDataEx, Module*, const void*, unsigned, int*, void**) \
  X(cuModuleUnload, Module) \
  X(cuModuleGetFunction, Function*, Module, const char*) \
  X(cuFuncGetAttribute, int*, FunctionAttribute, Function) \
  X(cuFuncSetAttribute, Function, FunctionAttribute, int) \
  X(cuEventQuery, Event) \
  X(cuEventSynchronize, Event) \
  X(cuEventElapsedTime, float*, Event, Event) \
  X(cuMemGetInfo_v2, std::size_t*, std::size_t*) \
  X(cuMemsetD8Async, DevicePtr, unsigned char, std::size_t, Stream) \
  X(cuMemsetD16Async, DevicePtr, unsigned short, std::size_t, Stream) \
  X(cuMemsetD32Async, DevicePtr, unsigned, std::size_t, Stream) \
  X(cuStreamBeginCapture_v2, Stream, CaptureMode) \
  X(cuStreamEndCapture, Stream, Graph*) \
  X(cuStreamIsCapturing, Stream, CaptureStatus*) \
  X(cuGraphGetNodes, Graph, GraphNode*, std::size_t*) \
  X(cuGraphNodeGetType, GraphNode, GraphNodeType*) \
  X(cuGraphDestroy, Graph) \
  X(cuGraphExecDestroy, GraphExec) \
  X(cuGraphLaunch, GraphExec, Stream) \
  X(cuMemHostRegister_v2, void*, std::size_t, unsigned) \
  X(cuMemHostUnregister, void*) \
  X(cuMemGetAllocationGranularity, std::size_t*, const MemoryAllocationProp*, Granularity) \
  X(cuMemCreate, MemoryHandle*, std::size_t, const MemoryAllocationProp*, unsigned long long) \
  X(cuMemRelease, MemoryHandle) \
  X(cuMemAddressReserve, DevicePtr*, std::size_t, std::size_t, DevicePtr, unsigned long long) \
  X(cuMemAddressFree, DevicePtr, std::size_t) \
  X(cuMemMap, DevicePtr, std::size_t, std::size_t, MemoryHandle, unsigned long long) \
  X(cuMemUnmap, DevicePtr, std::size_t) \
  X(cuMemSetAccess, DevicePtr, std::size_t, const MemoryAccessDesc*, std::size_t) \
  X(cuMemExportToShareableHandle, void*, MemoryHandle, MemoryHandleType, unsigned long long) \
  X(cuMemImportFromShareableHandle, MemoryHandle*, void*, MemoryHandleType) \
  X(cuIpcGetMemHandle, IpcMemoryHandle*, DevicePtr) \
  X(cuIpcOpenMemHandle_v2, DevicePtr*, IpcMemoryHandle, unsigned) \
  X(cuIpcCloseMemHandle, DevicePtr) \
  X(cuPointerGetAttribute, void*, PointerAttribute, DevicePtr) \
  X(cuLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**)

// Functions that drivers of the CUDA 11.0 age may lack: X(CUDA release that brought it, name, parameters...).
// They stay null where the driver has none; ask for them through P2P_OPTIONAL, which says which driver has
// it.
#define P2P_OPTIONAL_ENTRY_POINTS(X) \
  X("11.2", cuDeviceGetDefaultMemPool, MemoryPool*, Device) \
  X("11.2", cuMemPoolCreate, MemoryPool*, const MemoryPoolProps*) \
  X("11.2", cuMemPoolDestroy, MemoryPool) \
  X("11.2", cuMemPoolSetAttribute, MemoryPool, MemoryPoolAttribute, void*) \
  X("11.2", cuMemPoolSetAccess, MemoryPool, const MemoryAccessDesc*, std::size_t) \
  X("11.2", cuMemAllocAsync, DevicePtr*, std::size_t, Stream) \
  X("11.2", cuMemAllocFromPoolAsync, DevicePtr*, std::size_t, MemoryPool, Stream) \
  X("11.2", cuMemFreeAsync, DevicePtr, Stream) \
  X("11.4", cuDeviceGetUuid_v2, Uuid*, Device) \
  X("11.4", cuGraphInstantiateWithFlags, GraphExec*, Graph, unsigned long long) \
  X("11.7", cuStreamWriteValue32_v2, Stream, DevicePtr, std::uint32_t, unsigned) \
  X("11.7", cuStreamWaitValue32_v2, Stream, DevicePtr, std::uint32_t, unsigned) \
  X("12.0", cuGraphExecUpdate_v2, GraphExec, Graph, GraphUpdateInfo*) \
  X("12.4", cuFuncGetParamInfo, Function, std::size_t, std::size_t*, std::size_t*) \
  X("12.8", cuMemcpyBatchAsync, DevicePtr*, DevicePtr*, std::size_t*, std::size_t, CopyAttributes*, std::size_t*, std::size_t, std::size_t*, Stream) \
  X("13.0", cuMemcpyBatchAsync_v2, DevicePtr*, DevicePtr*, std::size_t*, std::size_t, CopyAttributes*, std::size_t*, std::size_t, Stream)

// clang-format on

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
