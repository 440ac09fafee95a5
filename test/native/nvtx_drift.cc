// Our declarations of NVTX against the real headers; compiled, never run.
#include <nvtx3/nvToolsExt.h>

#include <cstddef>

#include "drift.h"
#include "nvtx_api.h"

namespace ours = p2p::nvtx;

SAME(ours::kVersion, NVTX_VERSION);
SAME(ours::kCallbacks, NVTX_ETID_CALLBACKS);
SAME(ours::kVersionInfo, NVTX_ETID_VERSIONINFO);
SAME(ours::kModules, NVTX_CB_MODULE_SIZE);
SAME(ours::kModuleSizes[NVTX_CB_MODULE_CORE], NVTX_CBID_CORE_SIZE);
SAME(ours::kModuleSizes[NVTX_CB_MODULE_CUDA], NVTX_CBID_CUDA_SIZE);
SAME(ours::kModuleSizes[NVTX_CB_MODULE_OPENCL], NVTX_CBID_OPENCL_SIZE);
SAME(ours::kModuleSizes[NVTX_CB_MODULE_CUDART], NVTX_CBID_CUDART_SIZE);
SAME(ours::kModuleSizes[NVTX_CB_MODULE_CORE2], NVTX_CBID_CORE2_SIZE);
SAME(ours::kModuleSizes[NVTX_CB_MODULE_SYNC], NVTX_CBID_SYNC_SIZE);
SAME(ours::kCore, NVTX_CB_MODULE_CORE);
SAME(ours::kRangePushA, NVTX_CBID_CORE_RangePushA);
SAME(ours::kRangePop, NVTX_CBID_CORE_RangePop);
SAME(sizeof(ours::CallbackTable), sizeof(NvtxExportTableCallbacks));
SAME(sizeof(ours::VersionTable), sizeof(NvtxExportTableVersionInfo));
SAME(offsetof(ours::VersionTable, setInjectionVersion),
     offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
static_assert(SameCall<ours::RangePushA, nvtxRangePushA_impl_fntype>::value);
static_assert(SameCall<ours::RangePop, nvtxRangePop_impl_fntype>::value);
static_assert(SameCall<ours::Initialize, NvtxInitializeInjectionNvtxFunc_t>::value);
