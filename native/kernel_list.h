// The kernels of kernels.cu by name: a context loads all of them, and asks for one by its enumerator.
#pragma once

#include <cstddef>

// X(enumerator, name in the PTX)
#define P2P_KERNELS(X) \
  X(kFill, p2p_fill)   \
  X(kCheck, p2p_check) \
  X(kEmpty, p2p_empty)

namespace p2p {

enum class Kernel : std::size_t {
#define P2P_ENUMERATOR(enumerator, name) enumerator,
  P2P_KERNELS(P2P_ENUMERATOR)
#undef P2P_ENUMERATOR
};

#define P2P_ONE(enumerator, name) +1
inline constexpr std::size_t kKernelCount = 0 P2P_KERNELS(P2P_ONE);
#undef P2P_ONE

#define P2P_NAME(enumerator, name) #name,
inline constexpr const char* kKernelNames[] = {P2P_KERNELS(P2P_NAME)};
#undef P2P_NAME

}  // namespace p2p
