// Ranges with a name on the timeline of a profiler that listens (NVTX 3): in the report, driver calls lie in
// the range of the program that made them. Where no profiler listens, a range costs one look at a flag.
#pragma once

#include <string>

namespace p2p {

// Whether a profiler asked for ranges: it names its library in NVTX_INJECTION64_PATH. Looked for once.
bool rangesWanted();

// A range of this thread for a scope. Ranges of a thread nest.
class NamedRange {
 public:
  explicit NamedRange(const std::string& name);
  ~NamedRange();
  NamedRange(const NamedRange&) = delete;
  NamedRange& operator=(const NamedRange&) = delete;

 private:
  bool open_ = false;
};

}  // namespace p2p
