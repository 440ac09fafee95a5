#include "tracer.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unordered_set>

#include "cupti_library.h"
#include "errors.h"

namespace p2p {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
// Upper bound of what one step leaves behind: a copy, an API and a synchronisation record, 330 bytes together
// in CUPTI 13.
constexpr std::size_t kBytesPerStep = 512;

struct Free {
  void operator()(std::uint8_t* data) const { std::free(data); }
};
using Buffer = std::unique_ptr<std::uint8_t, Free>;

// What CUPTI's callbacks work on. They come from threads of CUPTI's own at any time while it is attached, so
// that all of it lives to the end of the process. Full buffers are only put aside; they are read after the
// pass.
struct Pool {
  std::mutex mutex;
  std::vector<Buffer> empty;
  std::vector<Buffer> lent;
  struct Full {
    Buffer data;
    std::size_t bytes;
  };
  std::vector<Full> full;
};

Pool& pool() {
  static Pool& once = *new Pool();
  return once;
}

std::mutex& passMutex() {
  static std::mutex& once = *new std::mutex();
  return once;
}

Buffer allocate() {
  return Buffer(static_cast<std::uint8_t*>(std::aligned_alloc(4096, kBufferBytes)));
}

void requested(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords) noexcept {
  Pool& buffers = pool();
  const std::lock_guard lock(buffers.mutex);
  Buffer next;
  if (buffers.empty.empty()) {
    next = allocate();
  } else {
    next = std::move(buffers.empty.back());
    buffers.empty.pop_back();
  }
  *buffer = next.get();
  // Without memory CUPTI is told so by a size of 0, and counts what it drops.
  *size = next ? kBufferBytes : 0;
  *maxRecords = 0;
  if (next) buffers.lent.push_back(std::move(next));
}

void completed(cu::Context, std::uint32_t, std::uint8_t* buffer, std::size_t,
               std::size_t validSize) noexcept {
  Pool& buffers = pool();
  const std::lock_guard lock(buffers.mutex);
  const auto it = std::find_if(buffers.lent.begin(), buffers.lent.end(),
                               [&](const Buffer& lent) { return lent.get() == buffer; });
  if (it == buffers.lent.end()) return;
  buffers.full.push_back({std::move(*it), validSize});
  buffers.lent.erase(it);
}

void noteCupti(cupti::Result result) noexcept {
  noteRelease(result == cupti::kSuccess ? cu::kSuccess : cu::kUnknown);
}

const char* copyName(std::uint8_t kind) {
  switch (kind) {
    case cupti::kHtoD:
      return "HtoD";
    case cupti::kDtoH:
      return "DtoH";
    case cupti::kDtoD:
      return "DtoD";
    case cupti::kHtoH:
      return "HtoH";
    case cupti::kPtoP:
      return "PtoP";
    default:
      return "copy";
  }
}

const char* syncName(std::uint32_t type) {
  switch (type) {
    case cupti::kEventSynchronize:
      return "event synchronize";
    case cupti::kStreamWaitEvent:
      return "stream waits for event";
    case cupti::kStreamSynchronize:
      return "stream synchronize";
    case cupti::kContextSynchronize:
      return "context synchronize";
    default:
      return "synchronize";
  }
}

// The poll that found its work complete is no synchronisation; polls are known by having no record of their
// call.
void dropPolls(std::vector<TraceRecord>& records) {
  std::unordered_set<double> calls;
  for (const TraceRecord& record : records) {
    if (record.kind == TraceRecord::Kind::kApi) calls.insert(record.correlation);
  }
  std::erase_if(records, [&](const TraceRecord& record) {
    return record.kind == TraceRecord::Kind::kSync && !calls.contains(record.correlation);
  });
}

}  // namespace

Tracer::Tracer(TraceOf what, std::size_t steps) : only_(passMutex()), cupti_(cuptiEntryPoints()) {
  {
    Pool& buffers = pool();
    const std::lock_guard lock(buffers.mutex);
    buffers.full.clear();
    const std::size_t wanted = std::min<std::size_t>(2 + steps * kBytesPerStep / kBufferBytes, 64);
    while (buffers.empty.size() < wanted) {
      Buffer buffer = allocate();
      if (!buffer) throw usage("the host has no memory left for trace buffers", "Trace fewer iterations.");
      // Touched now, so that no page fault falls into the pass.
      std::fill_n(buffer.get(), kBufferBytes, std::uint8_t{0});
      buffers.empty.push_back(std::move(buffer));
    }
    buffers.full.reserve(wanted * 2);
    buffers.lent.reserve(wanted * 2);
  }
  attached_ = true;
  try {
    attach(what);
  } catch (...) {
    stop();
    leave();
    throw;
  }
}

Tracer::~Tracer() {
  stop();
  leave();
}

void Tracer::abandon() noexcept {
  attached_ = false;
  recording_ = false;
}

void Tracer::attach(TraceOf what) {
  checkCupti(cupti_.cuptiActivityRegisterCallbacks(requested, completed), "cuptiActivityRegisterCallbacks");
  recording_ = true;
  const auto enable = [&](cupti::ActivityKind kind) {
    checkCupti(cupti_.cuptiActivityEnable(kind), "cuptiActivityEnable");
    kinds_.push_back(kind);
  };
  enable(cupti::kActivityMemcpy);
  enable(cupti::kActivityMemcpy2);
  if (what.kernels) enable(cupti::kActivityConcurrentKernel);
  if (!what.calls) return;
  enable(cupti::kActivityMemset);
  // Only where polls can be left out: a spinning sync would leave thousands of records.
  if (cupti_.cuptiActivityEnableAllSyncRecords) {
    checkCupti(cupti_.cuptiActivityEnableAllSyncRecords(0), "cuptiActivityEnableAllSyncRecords");
    enable(cupti::kActivitySynchronization);
  }
  // The kind first, then the calls to leave out: it overrides what was chosen before. Choosing calls without
  // the kind, as cupti_activity.h allows, gives records only where it is done before cuInit (tried:
  // CUDA 13.0, driver 580), and the driver runs long before a trace is asked for.
  enable(cupti::kActivityDriver);
  if (!cupti_.cuptiActivityEnableDriverApi) return;
  for (const std::uint32_t call : {cupti::kCbidStreamQuery, cupti::kCbidEventQuery})
    checkCupti(cupti_.cuptiActivityEnableDriverApi(call, 0), "cuptiActivityEnableDriverApi");
}

// Ends the recording. Every answer is looked at: the pass is over in any case, but a tracer that did not let
// go is counted, as a release that failed.
void Tracer::stop() noexcept {
  if (!recording_) return;
  recording_ = false;
  for (const cupti::ActivityKind kind : kinds_) noteCupti(cupti_.cuptiActivityDisable(kind));
  noteCupti(cupti_.cuptiActivityFlushAll(1));
  std::size_t lost = 0;
  noteCupti(cupti_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &lost));
  dropped_ += lost;
}

// Takes CUPTI out of the process; all work is complete and flushed by now, as cuptiFinalize asks.
void Tracer::leave() noexcept {
  if (!attached_) return;
  attached_ = false;
  noteCupti(cupti_.cuptiFinalize());
}

std::vector<TraceRecord> Tracer::finish(std::uint64_t zeroNs) {
  // Flushed before the kinds are disabled, so that nothing is thrown away with them.
  checkCupti(cupti_.cuptiActivityFlushAll(1), "cuptiActivityFlushAll");
  stop();
  std::vector<Pool::Full> full;
  {
    Pool& buffers = pool();
    const std::lock_guard lock(buffers.mutex);
    full.swap(buffers.full);
  }
  std::vector<TraceRecord> records;
  for (const Pool::Full& buffer : full) {
    cupti::Activity* record = nullptr;
    while (cupti_.cuptiActivityGetNextRecord(buffer.data.get(), buffer.bytes, &record) == cupti::kSuccess)
      read(*record, zeroNs, records);
  }
  {
    Pool& buffers = pool();
    const std::lock_guard lock(buffers.mutex);
    for (Pool::Full& buffer : full) buffers.empty.push_back(std::move(buffer.data));
  }
  // Only now: names of kernels belong to CUPTI.
  leave();
  dropPolls(records);
  std::stable_sort(records.begin(), records.end(),
                   [](const TraceRecord& a, const TraceRecord& b) { return a.startNs < b.startNs; });
  return records;
}

void Tracer::read(const cupti::Activity& record, std::uint64_t zeroNs, std::vector<TraceRecord>& out) const {
  const auto add = [&](TraceRecord::Kind kind, std::uint64_t start, std::uint64_t end, std::uint64_t bytes,
                       std::uint32_t correlation, std::uint32_t device, std::uint32_t stream,
                       const char* name) {
    // A start of 0 means that CUPTI could not tell the time; earlier work belongs to the warm-up.
    if (start < zeroNs || start == 0) return;
    out.push_back({kind, static_cast<double>(start - zeroNs), static_cast<double>(end - zeroNs),
                   static_cast<double>(bytes), static_cast<double>(correlation), static_cast<int>(device),
                   static_cast<double>(stream), name ? name : "?"});
  };
  switch (record.kind) {
    case cupti::kActivityMemcpy: {
      const auto& copy = reinterpret_cast<const cupti::ActivityMemcpy&>(record);
      add(TraceRecord::Kind::kCopy, copy.start, copy.end, copy.bytes, copy.correlationId, copy.deviceId,
          copy.streamId, copyName(copy.copyKind));
      break;
    }
    case cupti::kActivityMemcpy2: {
      const auto& copy = reinterpret_cast<const cupti::ActivityMemcpyPtoP&>(record);
      add(TraceRecord::Kind::kCopy, copy.start, copy.end, copy.bytes, copy.correlationId, copy.deviceId,
          copy.streamId, copyName(copy.copyKind));
      break;
    }
    case cupti::kActivityConcurrentKernel: {
      const auto& kernel = reinterpret_cast<const cupti::ActivityKernel&>(record);
      add(TraceRecord::Kind::kKernel, kernel.start, kernel.end, 0, kernel.correlationId, kernel.deviceId,
          kernel.streamId, kernel.name);
      break;
    }
    case cupti::kActivityMemset: {
      const auto& set = reinterpret_cast<const cupti::ActivityMemset&>(record);
      add(TraceRecord::Kind::kMemset, set.start, set.end, set.bytes, set.correlationId, set.deviceId,
          set.streamId, "memset");
      break;
    }
    case cupti::kActivitySynchronization: {
      const auto& sync = reinterpret_cast<const cupti::ActivitySynchronization&>(record);
      add(TraceRecord::Kind::kSync, sync.start, sync.end, 0, sync.correlationId, 0,
          sync.streamId == cupti::kNoStream ? 0 : sync.streamId, syncName(sync.type));
      break;
    }
    case cupti::kActivityDriver: {
      const auto& api = reinterpret_cast<const cupti::ActivityApi&>(record);
      if (api.cbid == cupti::kCbidStreamQuery || api.cbid == cupti::kCbidEventQuery) break;
      const char* name = nullptr;
      if (cupti_.cuptiGetCallbackName(cupti::kDomainDriverApi, api.cbid, &name) != cupti::kSuccess)
        name = nullptr;
      add(TraceRecord::Kind::kApi, api.start, api.end, 0, api.correlationId, 0, 0, name);
      break;
    }
    default:
      break;
  }
}

}  // namespace p2p
