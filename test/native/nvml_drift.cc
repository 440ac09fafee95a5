// Holds native/nvml_api.h against a real nvml.h (of CUDA 12.4 or newer): it compiles, or they have drifted.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include <cstddef>
#include <type_traits>

#include "nvml_api.h"

namespace ours = p2p::nvml;

namespace {

// Same size and same register class: a pointer for a pointer, a whole number or enum for a whole number or
// enum.
template <typename A, typename B>
constexpr bool sameShape = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                           (std::is_integral_v<A> || std::is_enum_v<A>) ==
                               (std::is_integral_v<B> || std::is_enum_v<B>);

// What is pointed at, too: NVML writes through these pointers.
template <typename A, typename B>
constexpr bool sameArgument = sameShape<A, B>;
template <typename A, typename B>
constexpr bool sameArgument<A*, B*> = sizeof(A) == sizeof(B) && alignof(A) == alignof(B);

template <typename A, typename B>
struct SameCall : std::false_type {};

template <typename R1, typename... A1, typename R2, typename... A2>
struct SameCall<R1 (*)(A1...), R2 (*)(A2...)> {
  static constexpr bool test() {
    if constexpr (sizeof...(A1) == sizeof...(A2))
      return sameShape<R1, R2> && (sameArgument<A1, A2> && ...);
    else
      return false;
  }
  static constexpr bool value = test();
};

// An opaque handle has no size; it is the same struct.
template <>
constexpr bool sameArgument<nvmlDevice_st*, nvmlDevice_st*> = true;

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define SAME_CALL(name, ...) \
  static_assert(SameCall<decltype(ours::EntryPoints::name), decltype(&::name)>::value, #name);
P2P_NVML_ENTRY_POINTS(SAME_CALL)
#define SAME_OPTIONAL_CALL(since, name, ...) SAME_CALL(name)

// The fabric's structure grew a version: the newest header declares the call with the third, of which ours is
// the second with the same beginning.
static_assert(sizeof(ours::FabricInfo) == sizeof(nvmlGpuFabricInfo_v2_t));
static_assert(ours::kFabricInfoVersion == nvmlGpuFabricInfo_v2);
static_assert(offsetof(ours::FabricInfo, clusterUuid) == offsetof(nvmlGpuFabricInfo_v2_t, clusterUuid));
static_assert(offsetof(ours::FabricInfo, status) == offsetof(nvmlGpuFabricInfo_v2_t, status));
static_assert(offsetof(ours::FabricInfo, cliqueId) == offsetof(nvmlGpuFabricInfo_v2_t, cliqueId));
static_assert(offsetof(ours::FabricInfo, state) == offsetof(nvmlGpuFabricInfo_v2_t, state));
static_assert(offsetof(ours::FabricInfo, healthMask) == offsetof(nvmlGpuFabricInfo_v2_t, healthMask));
template <>
constexpr bool sameArgument<ours::FabricInfo*, nvmlGpuFabricInfoV_t*> = true;

P2P_NVML_OPTIONAL_ENTRY_POINTS(SAME_OPTIONAL_CALL)

#define SAME(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)

SAME(ours::kSuccess, NVML_SUCCESS);
SAME(ours::kUninitialized, NVML_ERROR_UNINITIALIZED);
SAME(ours::kInvalidArgument, NVML_ERROR_INVALID_ARGUMENT);
SAME(ours::kNotSupported, NVML_ERROR_NOT_SUPPORTED);
SAME(ours::kNoPermission, NVML_ERROR_NO_PERMISSION);
SAME(ours::kNotFound, NVML_ERROR_NOT_FOUND);
SAME(ours::kInsufficientSize, NVML_ERROR_INSUFFICIENT_SIZE);
SAME(ours::kInsufficientPower, NVML_ERROR_INSUFFICIENT_POWER);
SAME(ours::kDriverNotLoaded, NVML_ERROR_DRIVER_NOT_LOADED);
SAME(ours::kTimeout, NVML_ERROR_TIMEOUT);
SAME(ours::kIrqIssue, NVML_ERROR_IRQ_ISSUE);
SAME(ours::kLibraryNotFound, NVML_ERROR_LIBRARY_NOT_FOUND);
SAME(ours::kFunctionNotFound, NVML_ERROR_FUNCTION_NOT_FOUND);
SAME(ours::kCorruptedInforom, NVML_ERROR_CORRUPTED_INFOROM);
SAME(ours::kGpuIsLost, NVML_ERROR_GPU_IS_LOST);
SAME(ours::kResetRequired, NVML_ERROR_RESET_REQUIRED);
SAME(ours::kOperatingSystem, NVML_ERROR_OPERATING_SYSTEM);
SAME(ours::kLibRmVersionMismatch, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
SAME(ours::kInUse, NVML_ERROR_IN_USE);
SAME(ours::kMemory, NVML_ERROR_MEMORY);
SAME(ours::kNoData, NVML_ERROR_NO_DATA);
SAME(ours::kInsufficientResources, NVML_ERROR_INSUFFICIENT_RESOURCES);
SAME(ours::kArgumentVersionMismatch, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
SAME(ours::kDeprecated, NVML_ERROR_DEPRECATED);
SAME(ours::kNotReady, NVML_ERROR_NOT_READY);
SAME(ours::kGpuNotFound, NVML_ERROR_GPU_NOT_FOUND);
SAME(ours::kInvalidState, NVML_ERROR_INVALID_STATE);
SAME(ours::kUnknown, NVML_ERROR_UNKNOWN);

SAME(ours::kClockSm, NVML_CLOCK_SM);
SAME(ours::kClockMemory, NVML_CLOCK_MEM);
SAME(ours::kTemperatureGpu, NVML_TEMPERATURE_GPU);
SAME(ours::kErrorUncorrected, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME(ours::kEccVolatile, NVML_VOLATILE_ECC);
SAME(ours::kNvLinkErrorReplay, NVML_NVLINK_ERROR_DL_REPLAY);
SAME(ours::kNvLinkErrorRecovery, NVML_NVLINK_ERROR_DL_RECOVERY);
SAME(ours::kNvLinkErrorCrcFlit, NVML_NVLINK_ERROR_DL_CRC_FLIT);
SAME(ours::kNvLinkErrorCrcData, NVML_NVLINK_ERROR_DL_CRC_DATA);
SAME(ours::kNvLinkGpu, NVML_NVLINK_DEVICE_TYPE_GPU);
SAME(ours::kNvLinkIbmNpu, NVML_NVLINK_DEVICE_TYPE_IBMNPU);
SAME(ours::kNvLinkSwitch, NVML_NVLINK_DEVICE_TYPE_SWITCH);
SAME(ours::kNvLinkUnknown, NVML_NVLINK_DEVICE_TYPE_UNKNOWN);
SAME(ours::kTopologyInternal, NVML_TOPOLOGY_INTERNAL);
SAME(ours::kTopologySingle, NVML_TOPOLOGY_SINGLE);
SAME(ours::kTopologyMultiple, NVML_TOPOLOGY_MULTIPLE);
SAME(ours::kTopologyHostBridge, NVML_TOPOLOGY_HOSTBRIDGE);
SAME(ours::kTopologyNode, NVML_TOPOLOGY_NODE);
SAME(ours::kTopologySystem, NVML_TOPOLOGY_SYSTEM);
SAME(ours::kP2pRead, NVML_P2P_CAPS_INDEX_READ);
SAME(ours::kP2pWrite, NVML_P2P_CAPS_INDEX_WRITE);
SAME(ours::kP2pNvLink, NVML_P2P_CAPS_INDEX_NVLINK);
SAME(ours::kP2pAtomics, NVML_P2P_CAPS_INDEX_ATOMICS);
SAME(ours::kP2pPci, NVML_P2P_CAPS_INDEX_PROP);
SAME(ours::kP2pOk, NVML_P2P_STATUS_OK);
SAME(ours::kP2pChipsetNotSupported, NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED);
SAME(ours::kP2pGpuNotSupported, NVML_P2P_STATUS_GPU_NOT_SUPPORTED);
SAME(ours::kP2pTopologyNotSupported, NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED);
SAME(ours::kP2pDisabledByRegkey, NVML_P2P_STATUS_DISABLED_BY_REGKEY);
SAME(ours::kP2pNotSupported, NVML_P2P_STATUS_NOT_SUPPORTED);
SAME(ours::kP2pUnknown, NVML_P2P_STATUS_UNKNOWN);
SAME(ours::kComputeDefault, NVML_COMPUTEMODE_DEFAULT);
SAME(ours::kComputeProhibited, NVML_COMPUTEMODE_PROHIBITED);
SAME(ours::kComputeExclusiveProcess, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
SAME(ours::kVirtualizationNone, NVML_GPU_VIRTUALIZATION_MODE_NONE);
SAME(ours::kVirtualizationPassthrough, NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH);
SAME(ours::kVirtualizationVgpu, NVML_GPU_VIRTUALIZATION_MODE_VGPU);
SAME(ours::kVirtualizationHostVgpu, NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU);
SAME(ours::kVirtualizationHostVsga, NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA);
SAME(ours::kFabricNotSupported, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
SAME(ours::kFabricNotStarted, NVML_GPU_FABRIC_STATE_NOT_STARTED);
SAME(ours::kFabricInProgress, NVML_GPU_FABRIC_STATE_IN_PROGRESS);
SAME(ours::kFabricCompleted, NVML_GPU_FABRIC_STATE_COMPLETED);

SAME(ours::kEventGpuIdle, nvmlClocksEventReasonGpuIdle);
SAME(ours::kEventApplicationsClocksSetting, nvmlClocksEventReasonApplicationsClocksSetting);
SAME(ours::kEventSwPowerCap, nvmlClocksEventReasonSwPowerCap);
SAME(ours::kEventHwSlowdown, nvmlClocksThrottleReasonHwSlowdown);
SAME(ours::kEventSyncBoost, nvmlClocksEventReasonSyncBoost);
SAME(ours::kEventSwThermalSlowdown, nvmlClocksEventReasonSwThermalSlowdown);
SAME(ours::kEventHwThermalSlowdown, nvmlClocksThrottleReasonHwThermalSlowdown);
SAME(ours::kEventHwPowerBrakeSlowdown, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
SAME(ours::kEventDisplayClockSetting, nvmlClocksEventReasonDisplayClockSetting);

SAME(ours::kFieldNvLinkSpeedCommon, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON);
SAME(ours::kFieldNvLinkCount, NVML_FI_DEV_NVLINK_LINK_COUNT);
SAME(ours::kFieldNvLinkDataTxKib, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX);
SAME(ours::kFieldNvLinkDataRxKib, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX);
SAME(ours::kFieldNvLinkReplay, NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY);
SAME(ours::kFieldNvLinkRecovery, NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY);
SAME(ours::kFieldNvLinkCrc, NVML_FI_DEV_NVLINK_ERROR_DL_CRC);
SAME(ours::kFieldNvLinkSpeed, NVML_FI_DEV_NVLINK_GET_SPEED);
SAME(ours::kFieldNvLinkState, NVML_FI_DEV_NVLINK_GET_STATE);
// What came after 12.4, with the fields of NVLink 5.
#ifdef NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES
SAME(ours::kValueUnsignedShort, NVML_VALUE_TYPE_UNSIGNED_SHORT);
SAME(ours::kFieldPcieTxBytes, NVML_FI_DEV_PCIE_COUNT_TX_BYTES);
SAME(ours::kFieldPcieRxBytes, NVML_FI_DEV_PCIE_COUNT_RX_BYTES);
SAME(ours::kFieldNvLinkXmitBytes, NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES);
SAME(ours::kFieldNvLinkRcvBytes, NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES);
SAME(ours::kFieldNvLinkRcvErrors, NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS);
SAME(ours::kFieldNvLinkRecoveryEvents, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS);
#endif

SAME(ours::kValueDouble, NVML_VALUE_TYPE_DOUBLE);
SAME(ours::kValueUnsignedInt, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME(ours::kValueUnsignedLong, NVML_VALUE_TYPE_UNSIGNED_LONG);
SAME(ours::kValueUnsignedLongLong, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
SAME(ours::kValueSignedLongLong, NVML_VALUE_TYPE_SIGNED_LONG_LONG);
SAME(ours::kValueSignedInt, NVML_VALUE_TYPE_SIGNED_INT);

SAME(sizeof(ours::FieldValue), sizeof(nvmlFieldValue_t));
SAME(offsetof(ours::FieldValue, scopeId), offsetof(nvmlFieldValue_t, scopeId));
SAME(offsetof(ours::FieldValue, valueType), offsetof(nvmlFieldValue_t, valueType));
SAME(offsetof(ours::FieldValue, result), offsetof(nvmlFieldValue_t, nvmlReturn));
SAME(offsetof(ours::FieldValue, value), offsetof(nvmlFieldValue_t, value));
SAME(sizeof(ours::PciInfo), sizeof(nvmlPciInfo_t));
SAME(offsetof(ours::PciInfo, domain), offsetof(nvmlPciInfo_t, domain));
SAME(offsetof(ours::PciInfo, bus), offsetof(nvmlPciInfo_t, bus));
SAME(offsetof(ours::PciInfo, device), offsetof(nvmlPciInfo_t, device));
SAME(sizeof(ours::Bar1Memory), sizeof(nvmlBAR1Memory_t));
SAME(offsetof(ours::Bar1Memory, totalBytes), offsetof(nvmlBAR1Memory_t, bar1Total));
SAME(sizeof(ours::ProcessInfo), sizeof(nvmlProcessInfo_t));
SAME(offsetof(ours::ProcessInfo, pid), offsetof(nvmlProcessInfo_t, pid));
SAME(offsetof(ours::ProcessInfo, usedGpuMemory), offsetof(nvmlProcessInfo_t, usedGpuMemory));
SAME(ours::kVersionBufferSize, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);
SAME(ours::kVersionBufferSize, NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE);
static_assert(ours::kMaxLinks >= NVML_NVLINK_MAX_LINKS);

#ifdef P2P_DRIFT_EXAMPLE
// drift.test.ts sets it to see that a difference is found.
SAME(ours::kP2pDisabledByRegkey, NVML_P2P_STATUS_NOT_SUPPORTED);
#endif

}  // namespace
