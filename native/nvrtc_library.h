// libnvrtc, looked for without loading it and opened at the first compilation.
#pragma once

#include <string>
#include <vector>

#include "nvrtc_api.h"

namespace p2p {

struct NvrtcState {
  // Opened, or found and not yet opened.
  bool available = false;
  std::string reason;
  // Like the driver's: 13000 = CUDA 13.0; 0 until it is opened.
  int version = 0;
  // File that was opened or would be tried first.
  std::string path;
};

// Says whether there is a libnvrtc. Does not open it.
NvrtcState nvrtcState();

// Opens it on the first call. Throws a kNotAvailable failure when there is none that can be opened.
const nvrtc::EntryPoints& nvrtcEntryPoints();

// Files that may be a libnvrtc, best first; exposed for the tests.
std::vector<std::string> nvrtcCandidates();

}  // namespace p2p
