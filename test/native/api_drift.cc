// Holds native/cuda_api.h against the real cuda.h: it compiles, or they have drifted.

// So that cuda.h declares every function by the name that the library exports, old versions beside new ones.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstddef>

#include "cuda_api.h"
#include "drift.h"

namespace cu = p2p::cu;

namespace {

#define SAME_DRIVER_CALL(name, ...) \
  static_assert(SameCall<decltype(cu::EntryPoints::name), decltype(&::name)>::value, #name);
P2P_DRIVER_ENTRY_POINTS(SAME_DRIVER_CALL)
#define SAME_OPTIONAL_CALL(since, name, ...) SAME_DRIVER_CALL(name)
P2P_OPTIONAL_ENTRY_POINTS(SAME_OPTIONAL_CALL)

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
SAME(cu::kIllegalState, CUDA_ERROR_ILLEGAL_STATE);
SAME(cu::kNotFound, CUDA_ERROR_NOT_FOUND);
SAME(cu::kNotReady, CUDA_ERROR_NOT_READY);
SAME(cu::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(cu::kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(cu::kAssert, CUDA_ERROR_ASSERT);
SAME(cu::kHostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(cu::kHostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME(cu::kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(cu::kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(cu::kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(cu::kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(cu::kInvalidPc, CUDA_ERROR_INVALID_PC);
SAME(cu::kStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(cu::kStreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(cu::kStreamCaptureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
SAME(cu::kStreamCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(cu::kStreamCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(cu::kStreamCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(cu::kStreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(cu::kCapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
SAME(cu::kStreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(cu::kGraphExecUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
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

SAME(cu::kAttributeMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(cu::kAttributeMaxBlockX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
SAME(cu::kAttributeMaxBlockY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
SAME(cu::kAttributeMaxBlockZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME(cu::kAttributeMaxGridX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(cu::kAttributeMaxGridY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
SAME(cu::kAttributeMaxGridZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME(cu::kAttributeMaxSharedPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(cu::kAttributeMaxSharedPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(cu::kAttributeWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
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
SAME(cu::kAttributeConcurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME(cu::kPeerPerformanceRank, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
SAME(cu::kPeerAccessSupported, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED);
SAME(cu::kPeerNativeAtomicSupported, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
SAME(cu::kPeerArrayAccessSupported, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED);
SAME(cu::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(cu::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(cu::kMemHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME(cu::kFuncAttributeNumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(cu::kAttributeHostRegisterSupported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
SAME(cu::kAttributeVirtualMemorySupported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(cu::kAttributeMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(cu::kAttributeGpuDirectRdmaSupported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
SAME(cu::kAttributeDmaBufSupported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
SAME(cu::kFuncAttributeMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(cu::kFuncAttributeSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(cu::kFuncAttributeConstBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME(cu::kFuncAttributeLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(cu::kFuncAttributePtxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
SAME(cu::kFuncAttributeBinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME(cu::kFuncAttributeMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(cu::kCaptureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(cu::kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(cu::kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(cu::kCaptureNone, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(cu::kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(cu::kCaptureInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(cu::kNodeKernel, CU_GRAPH_NODE_TYPE_KERNEL);
SAME(cu::kNodeMemcpy, CU_GRAPH_NODE_TYPE_MEMCPY);
SAME(cu::kNodeMemset, CU_GRAPH_NODE_TYPE_MEMSET);
SAME(cu::kNodeGraph, CU_GRAPH_NODE_TYPE_GRAPH);
SAME(cu::kNodeEmpty, CU_GRAPH_NODE_TYPE_EMPTY);
SAME(cu::kNodeBatchMemOp, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
SAME(cu::kGraphUpdateSuccess, CU_GRAPH_EXEC_UPDATE_SUCCESS);
SAME(cu::kGraphUpdateTopologyChanged, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
SAME(cu::kGraphUpdateNodeTypeChanged, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
SAME(cu::kWaitValueGeq, CU_STREAM_WAIT_VALUE_GEQ);
SAME(cu::kWaitValueEq, CU_STREAM_WAIT_VALUE_EQ);
SAME(cu::kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(cu::kLocationHost, CU_MEM_LOCATION_TYPE_HOST);
SAME(cu::kAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(cu::kHandleNone, CU_MEM_HANDLE_TYPE_NONE);
SAME(cu::kHandlePosixFile, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME(cu::kHandleFabric, CU_MEM_HANDLE_TYPE_FABRIC);
SAME(cu::kAccessNone, CU_MEM_ACCESS_FLAGS_PROT_NONE);
SAME(cu::kAccessRead, CU_MEM_ACCESS_FLAGS_PROT_READ);
SAME(cu::kAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(cu::kGranularityMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME(cu::kGranularityRecommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
SAME(cu::kPoolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(cu::kSourceOrderStream, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
SAME(cu::kSourceOrderDuringCall, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
SAME(cu::kSourceOrderAny, CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
SAME(cu::kIpcLazyEnablePeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
SAME(cu::kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME(cu::kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(cu::kPointerDevicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME(cu::kPointerHostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME(cu::kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(cu::kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(cu::kPointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(cu::kPointerRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(cu::kAttachGlobal, CU_MEM_ATTACH_GLOBAL);
SAME(cu::kMemoryTypeHost, CU_MEMORYTYPE_HOST);
SAME(cu::kMemoryTypeDevice, CU_MEMORYTYPE_DEVICE);
SAME(cu::kMemoryTypeUnified, CU_MEMORYTYPE_UNIFIED);
SAME(cu::kJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(cu::kJitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

// A struct of ours is theirs: as large, and each field that we name at its place.
#define SAME_PLACE(ours, field, theirs, theirField)                          \
  static_assert(offsetof(cu::ours, field) == offsetof(theirs, theirField) && \
                    sizeof(cu::ours::field) == sizeof(theirs::theirField),   \
                #theirs "::" #theirField)
SAME(sizeof(cu::MemoryLocation), sizeof(CUmemLocation));
SAME_PLACE(MemoryLocation, type, CUmemLocation, type);
SAME_PLACE(MemoryLocation, id, CUmemLocation, id);
SAME(sizeof(cu::MemoryAllocationProp), sizeof(CUmemAllocationProp));
SAME_PLACE(MemoryAllocationProp, type, CUmemAllocationProp, type);
SAME_PLACE(MemoryAllocationProp, requestedHandleTypes, CUmemAllocationProp, requestedHandleTypes);
SAME_PLACE(MemoryAllocationProp, location, CUmemAllocationProp, location);
SAME_PLACE(MemoryAllocationProp, allocFlags, CUmemAllocationProp, allocFlags);
SAME(sizeof(cu::MemoryAccessDesc), sizeof(CUmemAccessDesc));
SAME_PLACE(MemoryAccessDesc, location, CUmemAccessDesc, location);
SAME_PLACE(MemoryAccessDesc, flags, CUmemAccessDesc, flags);
SAME(sizeof(cu::MemoryPoolProps), sizeof(CUmemPoolProps));
SAME_PLACE(MemoryPoolProps, allocType, CUmemPoolProps, allocType);
SAME_PLACE(MemoryPoolProps, handleTypes, CUmemPoolProps, handleTypes);
SAME_PLACE(MemoryPoolProps, location, CUmemPoolProps, location);
SAME_PLACE(MemoryPoolProps, reserved, CUmemPoolProps, reserved);
SAME(sizeof(cu::IpcMemoryHandle), sizeof(CUipcMemHandle));
SAME(sizeof(cu::Copy3dPeer), sizeof(CUDA_MEMCPY3D_PEER));
SAME_PLACE(Copy3dPeer, src.memoryType, CUDA_MEMCPY3D_PEER, srcMemoryType);
SAME_PLACE(Copy3dPeer, src.device, CUDA_MEMCPY3D_PEER, srcDevice);
SAME_PLACE(Copy3dPeer, src.context, CUDA_MEMCPY3D_PEER, srcContext);
SAME_PLACE(Copy3dPeer, src.pitch, CUDA_MEMCPY3D_PEER, srcPitch);
SAME_PLACE(Copy3dPeer, src.height, CUDA_MEMCPY3D_PEER, srcHeight);
SAME_PLACE(Copy3dPeer, dst.memoryType, CUDA_MEMCPY3D_PEER, dstMemoryType);
SAME_PLACE(Copy3dPeer, dst.device, CUDA_MEMCPY3D_PEER, dstDevice);
SAME_PLACE(Copy3dPeer, dst.context, CUDA_MEMCPY3D_PEER, dstContext);
SAME_PLACE(Copy3dPeer, dst.height, CUDA_MEMCPY3D_PEER, dstHeight);
SAME_PLACE(Copy3dPeer, widthBytes, CUDA_MEMCPY3D_PEER, WidthInBytes);
SAME_PLACE(Copy3dPeer, height, CUDA_MEMCPY3D_PEER, Height);
SAME_PLACE(Copy3dPeer, depth, CUDA_MEMCPY3D_PEER, Depth);
#if CUDA_VERSION >= 12000
SAME(sizeof(cu::GraphUpdateInfo), sizeof(CUgraphExecUpdateResultInfo));
SAME_PLACE(GraphUpdateInfo, result, CUgraphExecUpdateResultInfo, result);
SAME_PLACE(GraphUpdateInfo, errorNode, CUgraphExecUpdateResultInfo, errorNode);
SAME_PLACE(GraphUpdateInfo, errorFromNode, CUgraphExecUpdateResultInfo, errorFromNode);
#endif
#if CUDA_VERSION >= 12080
SAME(sizeof(cu::CopyAttributes), sizeof(CUmemcpyAttributes));
SAME_PLACE(CopyAttributes, sourceOrder, CUmemcpyAttributes, srcAccessOrder);
SAME_PLACE(CopyAttributes, sourceHint, CUmemcpyAttributes, srcLocHint);
SAME_PLACE(CopyAttributes, destinationHint, CUmemcpyAttributes, dstLocHint);
SAME_PLACE(CopyAttributes, flags, CUmemcpyAttributes, flags);
#endif

}  // namespace
