// The part of NVRTC (the run-time compiler of CUDA C++) that this addon uses, declared by us. All of it is in
// NVRTC since CUDA 11.2; test/native/nvrtc_drift.cc holds it against a real nvrtc.h where there is one.
#pragma once

#include <cstddef>

struct _nvrtcProgram;

namespace p2p::nvrtc {

using Result = int;
using Program = _nvrtcProgram*;

enum : Result {
  kSuccess = 0,
  kOutOfMemory = 1,
  kInvalidOption = 5,
  kCompilation = 6,
  kBuiltinOperationFailure = 7,
  kNameExpressionNotValid = 10,
  kInternalError = 11,
};

#define P2P_NVRTC_ENTRY_POINTS(X)                                                            \
  X(Result, nvrtcVersion, int*, int*)                                                        \
  X(const char*, nvrtcGetErrorString, Result)                                                \
  X(Result, nvrtcGetNumSupportedArchs, int*)                                                 \
  X(Result, nvrtcGetSupportedArchs, int*)                                                    \
  X(Result, nvrtcCreateProgram, Program*, const char*, const char*, int, const char* const*, \
    const char* const*)                                                                      \
  X(Result, nvrtcDestroyProgram, Program*)                                                   \
  X(Result, nvrtcCompileProgram, Program, int, const char* const*)                           \
  X(Result, nvrtcGetPTXSize, Program, std::size_t*)                                          \
  X(Result, nvrtcGetPTX, Program, char*)                                                     \
  X(Result, nvrtcGetCUBINSize, Program, std::size_t*)                                        \
  X(Result, nvrtcGetCUBIN, Program, char*)                                                   \
  X(Result, nvrtcGetProgramLogSize, Program, std::size_t*)                                   \
  X(Result, nvrtcGetProgramLog, Program, char*)                                              \
  X(Result, nvrtcAddNameExpression, Program, const char*)                                    \
  X(Result, nvrtcGetLoweredName, Program, const char*, const char**)

struct EntryPoints {
#define P2P_DECLARE(result, name, ...) result (*name)(__VA_ARGS__) = nullptr;
  P2P_NVRTC_ENTRY_POINTS(P2P_DECLARE)
#undef P2P_DECLARE
};

}  // namespace p2p::nvrtc
