#include "nvml_reading.h"

#include <string_view>

#include "nvml_library.h"

namespace p2p {

namespace {

const char* sinceCuda(std::string_view function) {
#define P2P_SINCE(since, name, ...) \
  if (function == #name) return since;
  P2P_NVML_OPTIONAL_ENTRY_POINTS(P2P_SINCE)
#undef P2P_SINCE
  return nullptr;
}

}  // namespace

std::string reasonOf(const Unread& unread) {
  std::string reason = std::string(unread.call) + ": " + nvmlResultName(unread.result);
  if (unread.result == nvml::kFunctionNotFound) {
    if (const char* since = sinceCuda(unread.call))
      reason += std::string(" (it came with the driver of CUDA ") + since + ")";
  }
  return reason;
}

}  // namespace p2p
