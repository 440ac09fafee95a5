// The part of NVML that this addon uses, declared by us so that neither building nor loading needs a toolkit.
// Numbers are those of nvml.h, which have not changed since CUDA 11.0; where a real nvml.h is on the machine,
// test/native/nvml_drift.cc compiles it against this file.
#pragma once

#include <cstddef>

struct nvmlDevice_st;

namespace p2p::nvml {

using Result = int;
using Device = nvmlDevice_st*;

enum : Result {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kInsufficientPower = 8,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kIrqIssue = 11,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kCorruptedInforom = 14,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kLibRmVersionMismatch = 18,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kInsufficientResources = 23,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
  kNotReady = 27,
  kGpuNotFound = 28,
  kInvalidState = 29,
  kUnknown = 999,
};

enum ClockType : int { kClockSm = 1, kClockMemory = 2 };
enum TemperatureSensor : int { kTemperatureGpu = 0 };
enum MemoryErrorType : int { kErrorUncorrected = 1 };
enum EccCounterType : int { kEccVolatile = 0 };

enum NvLinkErrorCounter : int {
  kNvLinkErrorReplay = 0,
  kNvLinkErrorRecovery = 1,
  kNvLinkErrorCrcFlit = 2,
  kNvLinkErrorCrcData = 3,
};

enum NvLinkDeviceType : int {
  kNvLinkGpu = 0,
  kNvLinkIbmNpu = 1,
  kNvLinkSwitch = 2,
  kNvLinkUnknown = 255,
};

enum TopologyLevel : int {
  kTopologyInternal = 0,
  kTopologySingle = 10,
  kTopologyMultiple = 20,
  kTopologyHostBridge = 30,
  kTopologyNode = 40,
  kTopologySystem = 50,
};

enum P2pCapability : int {
  kP2pRead = 0,
  kP2pWrite = 1,
  kP2pNvLink = 2,
  kP2pAtomics = 3,
  kP2pPci = 4,
};

enum P2pStatus : int {
  kP2pOk = 0,
  kP2pChipsetNotSupported = 1,
  kP2pGpuNotSupported = 2,
  kP2pTopologyNotSupported = 3,
  kP2pDisabledByRegkey = 4,
  kP2pNotSupported = 5,
  kP2pUnknown = 6,
};

enum ComputeMode : int { kComputeDefault = 0, kComputeProhibited = 2, kComputeExclusiveProcess = 3 };

enum VirtualizationMode : int {
  kVirtualizationNone = 0,
  kVirtualizationPassthrough = 1,
  kVirtualizationVgpu = 2,
  kVirtualizationHostVgpu = 3,
  kVirtualizationHostVsga = 4,
};

enum FabricState : unsigned char {
  kFabricNotSupported = 0,
  kFabricNotStarted = 1,
  kFabricInProgress = 2,
  kFabricCompleted = 3,
};

// Bits of nvmlDeviceGetCurrentClocksEventReasons, called throttle reasons before CUDA 12.2.
enum ClocksEvent : unsigned long long {
  kEventGpuIdle = 0x1,
  kEventApplicationsClocksSetting = 0x2,
  kEventSwPowerCap = 0x4,
  kEventHwSlowdown = 0x8,
  kEventSyncBoost = 0x10,
  kEventSwThermalSlowdown = 0x20,
  kEventHwThermalSlowdown = 0x40,
  kEventHwPowerBrakeSlowdown = 0x80,
  kEventDisplayClockSetting = 0x100,
};

// Fields of nvmlDeviceGetFieldValues. Those of links take the link as scope.
enum Field : unsigned {
  kFieldNvLinkSpeedCommon = 90,
  kFieldNvLinkCount = 91,
  kFieldNvLinkDataTxKib = 138,
  kFieldNvLinkDataRxKib = 139,
  kFieldNvLinkReplay = 161,
  kFieldNvLinkRecovery = 162,
  kFieldNvLinkCrc = 163,
  kFieldNvLinkSpeed = 164,
  kFieldNvLinkState = 165,
  kFieldPcieTxBytes = 197,
  kFieldPcieRxBytes = 198,
  kFieldNvLinkXmitBytes = 202,
  kFieldNvLinkRcvBytes = 204,
  kFieldNvLinkRcvErrors = 208,
  kFieldNvLinkRecoveryEvents = 215,
};

enum ValueType : int {
  kValueDouble = 0,
  kValueUnsignedInt = 1,
  kValueUnsignedLong = 2,
  kValueUnsignedLongLong = 3,
  kValueSignedLongLong = 4,
  kValueSignedInt = 5,
  kValueUnsignedShort = 6,
};

union Value {
  double asDouble;
  int asInt;
  unsigned asUnsigned;
  unsigned long asUnsignedLong;
  unsigned long long asUnsignedLongLong;
  long long asLongLong;
  unsigned short asUnsignedShort;
};

struct FieldValue {
  unsigned fieldId;
  unsigned scopeId;
  long long timestampUs;
  long long latencyUs;
  ValueType valueType;
  Result result;
  Value value;
};

struct PciInfo {
  char busIdLegacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  char busId[32];
};

struct Bar1Memory {
  unsigned long long totalBytes;
  unsigned long long freeBytes;
  unsigned long long usedBytes;
};

// Of the second and third version of nvmlDeviceGetComputeRunningProcesses.
struct ProcessInfo {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};

struct FabricInfo {
  unsigned version;
  unsigned char clusterUuid[16];
  Result status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
};

// Says which version of the structure the caller has: its size, and the version from bit 24.
inline constexpr unsigned kFabricInfoVersion = static_cast<unsigned>(sizeof(FabricInfo)) | 2u << 24;

// nvmlProcessInfo's usedGpuMemory when NVML does not know it.
inline constexpr unsigned long long kValueNotAvailable = ~0ull;

inline constexpr unsigned kVersionBufferSize = 80;
// Of the newest header; older ones have fewer.
inline constexpr unsigned kMaxLinks = 36;

// Without these the library is of no use: X(name, parameters...).
#define P2P_NVML_ENTRY_POINTS(X)                     \
  X(nvmlInit_v2)                                     \
  X(nvmlSystemGetDriverVersion, char*, unsigned)     \
  X(nvmlSystemGetNVMLVersion, char*, unsigned)       \
  X(nvmlDeviceGetHandleByUUID, const char*, Device*) \
  X(nvmlDeviceGetHandleByPciBusId_v2, const char*, Device*)

// Each of these may be missing, as on Jetson, in WSL or in an old driver; what it tells is unknown then:
// X(CUDA release that brought it, name, parameters...).
#define P2P_NVML_OPTIONAL_ENTRY_POINTS(X)                                                               \
  X("11.0", nvmlDeviceGetDeviceHandleFromMigDeviceHandle, Device, Device*)                              \
  X("11.0", nvmlDeviceGetPciInfo_v3, Device, PciInfo*)                                                  \
  X("11.0", nvmlDeviceGetClockInfo, Device, ClockType, unsigned*)                                       \
  X("11.0", nvmlDeviceGetMaxClockInfo, Device, ClockType, unsigned*)                                    \
  X("11.0", nvmlDeviceGetCurrentClocksThrottleReasons, Device, unsigned long long*)                     \
  X("12.2", nvmlDeviceGetCurrentClocksEventReasons, Device, unsigned long long*)                        \
  X("11.0", nvmlDeviceGetTemperature, Device, TemperatureSensor, unsigned*)                             \
  X("11.0", nvmlDeviceGetPowerUsage, Device, unsigned*)                                                 \
  X("11.0", nvmlDeviceGetEnforcedPowerLimit, Device, unsigned*)                                         \
  X("11.0", nvmlDeviceGetPerformanceState, Device, int*)                                                \
  X("11.0", nvmlDeviceGetCurrPcieLinkGeneration, Device, unsigned*)                                     \
  X("11.0", nvmlDeviceGetCurrPcieLinkWidth, Device, unsigned*)                                          \
  X("11.0", nvmlDeviceGetMaxPcieLinkGeneration, Device, unsigned*)                                      \
  X("11.0", nvmlDeviceGetMaxPcieLinkWidth, Device, unsigned*)                                           \
  X("11.0", nvmlDeviceGetPcieReplayCounter, Device, unsigned*)                                          \
  X("11.0", nvmlDeviceGetNvLinkState, Device, unsigned, int*)                                           \
  X("11.0", nvmlDeviceGetNvLinkVersion, Device, unsigned, unsigned*)                                    \
  X("11.0", nvmlDeviceGetNvLinkRemotePciInfo_v2, Device, unsigned, PciInfo*)                            \
  X("11.4", nvmlDeviceGetNvLinkRemoteDeviceType, Device, unsigned, int*)                                \
  X("11.0", nvmlDeviceGetNvLinkErrorCounter, Device, unsigned, NvLinkErrorCounter, unsigned long long*) \
  X("11.0", nvmlDeviceGetFieldValues, Device, int, FieldValue*)                                         \
  X("11.0", nvmlDeviceGetTotalEccErrors, Device, MemoryErrorType, EccCounterType, unsigned long long*)  \
  X("11.0", nvmlDeviceGetEccMode, Device, int*, int*)                                                   \
  X("11.1", nvmlDeviceGetComputeRunningProcesses_v2, Device, unsigned*, ProcessInfo*)                   \
  X("11.6", nvmlDeviceGetComputeRunningProcesses_v3, Device, unsigned*, ProcessInfo*)                   \
  X("11.0", nvmlDeviceGetPersistenceMode, Device, int*)                                                 \
  X("11.0", nvmlDeviceGetComputeMode, Device, int*)                                                     \
  X("11.0", nvmlDeviceGetMigMode, Device, unsigned*, unsigned*)                                         \
  X("11.0", nvmlDeviceGetBAR1MemoryInfo, Device, Bar1Memory*)                                           \
  X("11.0", nvmlDeviceGetDisplayActive, Device, int*)                                                   \
  X("11.0", nvmlDeviceGetVirtualizationMode, Device, int*)                                              \
  X("12.4", nvmlDeviceGetGpuFabricInfoV, Device, FabricInfo*)                                           \
  X("11.0", nvmlDeviceGetP2PStatus, Device, Device, P2pCapability, int*)                                \
  X("11.0", nvmlDeviceGetTopologyCommonAncestor, Device, Device, int*)

struct EntryPoints {
#define P2P_DECLARE(name, ...) Result (*name)(__VA_ARGS__) = nullptr;
#define P2P_DECLARE_OPTIONAL(since, name, ...) Result (*name)(__VA_ARGS__) = nullptr;
  P2P_NVML_ENTRY_POINTS(P2P_DECLARE)
  P2P_NVML_OPTIONAL_ENTRY_POINTS(P2P_DECLARE_OPTIONAL)
#undef P2P_DECLARE_OPTIONAL
#undef P2P_DECLARE
};

}  // namespace p2p::nvml
