// The kernels of kernels.cu by name: a context loads all of them, and asks for one by its enumerator.
#pragma once

#include <cstddef>

// X(enumerator, name in the PTX)
// One kernel a line, so that lines can be added without touching others.
// clang-format off
#define P2P_KERNELS(X) \
  X(kFill, p2p_fill) \
  X(kCheck, p2p_check) \
  X(kEmpty, p2p_empty) \
  X(kCopy, p2p_copy) \
  X(kCompute, p2p_compute) \
  X(kGate, p2p_gate) \
  X(kPutFlag, p2p_put_flag) \
  X(kPutLl, p2p_put_ll) \
  X(kPutLl128, p2p_put_ll128) \
  X(kReceiveFlag, p2p_receive_flag) \
  X(kReceiveLl, p2p_receive_ll) \
  X(kReceiveLl128, p2p_receive_ll128) \
  X(kProbeClock, p2p_probe_clock) \
  X(kProbeLink, p2p_probe_link) \
  X(kProbeSurvey, p2p_probe_survey) \
  X(kProbeTouch, p2p_probe_touch) \
  X(kProbeLoad, p2p_probe_load) \
  X(kProbePingPong, p2p_probe_ping_pong) \
  X(kProbeAtomic, p2p_probe_atomic) \
  X(kProbeFence, p2p_probe_fence) \
  X(kProbeMessages, p2p_probe_messages) \
  X(kProbeWords, p2p_probe_words)
// clang-format on

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
