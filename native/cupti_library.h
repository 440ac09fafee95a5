// libcupti, looked for without loading it and opened at the first trace: a library that is not there cannot
// disturb a timing pass.
#pragma once

#include <string>
#include <vector>

#include "cupti_api.h"

namespace p2p {

struct CuptiState {
  // Opened, or found and not yet opened.
  bool available = false;
  std::string reason;
  // As cuptiGetVersion gives it; 0 until it is opened.
  int version = 0;
  // File that was opened or would be tried first.
  std::string path;
};

// Says whether there is a libcupti. Does not open it.
CuptiState cuptiState();

// Opens it on the first call. Throws a kNotAvailable failure when there is none that can be opened.
const cupti::EntryPoints& cuptiEntryPoints();

// Throws a kNotAvailable failure with what to do for any result but success.
void checkCupti(cupti::Result result, const char* call);

// Files that may be a libcupti, best first; exposed for the tests.
std::vector<std::string> cuptiCandidates();

}  // namespace p2p
