// The tracer: CUPTI's activity records of the copies, driver calls and kernels between attaching and
// finishing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "cupti_api.h"

namespace p2p {

struct TraceRecord {
  enum class Kind : std::uint8_t { kApi = 1, kCopy = 2, kKernel = 3, kMemset = 4, kSync = 5 };

  Kind kind;
  double startNs;
  double endNs;
  double bytes;
  double correlation;
  int device;
  double stream;
  std::string name;
};

// What is recorded beside copies.
struct TraceOf {
  bool kernels = false;
  bool calls = false;  // of the driver but polls, and with them memory sets and synchronisation
};

// One traced pass; a process has one at a time, a second waits. The constructor loads CUPTI if that has not
// happened, allocates buffers for about `steps` driver calls and attaches; copies are recorded, the
// rest where `what` says so. finish() (or the destructor) takes CUPTI out of the process again by
// cuptiFinalize, because a process that stays attached goes on paying at every call.
class Tracer {
 public:
  // Throws a kNotAvailable failure when CUPTI is missing or refuses.
  Tracer(TraceOf what, std::size_t steps);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Nanoseconds on the clock of the records.
  std::uint64_t now() const noexcept {
    std::uint64_t time = 0;
    // It fails for a null pointer only.
    (void)cupti_.cuptiGetTimestamp(&time);
    return time;
  }

  // Flushes, detaches and returns the records that start at `zeroNs` or later, ascending by start, times from
  // there. All traced work must be complete.
  std::vector<TraceRecord> finish(std::uint64_t zeroNs);
  std::uint64_t dropped() const { return dropped_; }

  // Work will never complete: leaves CUPTI attached, because flushing would wait for it.
  void abandon() noexcept;

 private:
  void attach(TraceOf what);
  void stop() noexcept;
  void leave() noexcept;
  void read(const cupti::Activity& record, std::uint64_t zeroNs, std::vector<TraceRecord>& out) const;

  std::unique_lock<std::mutex> only_;
  const cupti::EntryPoints& cupti_;
  std::vector<cupti::ActivityKind> kinds_;
  bool attached_ = false;
  bool recording_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace p2p
