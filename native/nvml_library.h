// libnvidia-ml.so.1, opened and initialised on first use, and the table of its entry points. Optional: what
// it would have told is unknown without it, and nothing else changes.
#pragma once

#include <string>

#include "nvml_api.h"

namespace p2p {

struct NvmlLibraryState {
  bool available = false;
  // Why not, one sentence, and what to do; empty when available.
  std::string reason;
  std::string hint;
  // As the library gives them, such as 13.580.95.05 and 580.95.05; empty when unknown.
  std::string version;
  std::string driverVersion;
  std::string path;
};

// Opens libnvidia-ml.so.1 (or the file that P2PLAB_NVML names) and calls nvmlInit; the answer is kept for the
// life of the process. Never throws.
const NvmlLibraryState& nvmlLibraryState();

// The entry points. Throws a kNotAvailable failure when there is no usable NVML.
const nvml::EntryPoints& nvmlEntryPoints();

// Symbolic name of an nvmlReturn_t, from our own table.
std::string nvmlResultName(nvml::Result result);

}  // namespace p2p
