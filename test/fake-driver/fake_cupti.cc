// A stand-in libcupti for tests: records of the calls, copies and kernels of the stand-in libcuda, on a clock
// as large as the real one. See README.md for what the environment changes.
#include <dlfcn.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../../native/cupti_api.h"
#include "fake_trace.h"

using namespace p2p::cupti;

namespace {

// CUPTI's clock counts from 1970: too large for a double to hold its nanoseconds.
constexpr std::uint64_t kEpochNs = 1'900'000'000'000'000'000;
// Every record takes this much room, more than the declared fields, as in real versions.
constexpr std::size_t kRecordBytes = 128;

BufferRequested requestBuffer = nullptr;
BufferCompleted completeBuffer = nullptr;
bool memcpyOn = false;
bool peerOn = false;
bool kernelOn = false;
bool driverOn = false;
bool memsetOn = false;
bool syncOn = false;
// Whether polls that find work unfinished leave synchronisation records.
bool pollsOn = true;
std::set<std::uint32_t> callsOff;
// Filled by the threads that do the work.
std::mutex activitiesMutex;
std::vector<FakeActivity> activities;
std::set<std::string> names;

long number(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::strtol(value, nullptr, 10) : 0;
}

void sink(const FakeActivity& activity) {
  const std::lock_guard lock(activitiesMutex);
  activities.push_back(activity);
  // The name goes with its module, records stay.
  if (activity.name) activities.back().name = names.insert(activity.name).first->c_str();
}

using SetSink = void (*)(FakeTraceSink);

void connect(FakeTraceSink to) {
  const char* file = std::getenv("P2PLAB_LIBCUDA");
  void* cuda = file ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  if (!cuda) return;
  if (const auto set = reinterpret_cast<SetSink>(dlsym(cuda, "p2plab_fake_trace"))) set(to);
  dlclose(cuda);
}

class Writer {
 public:
  ~Writer() { finish(); }

  template <typename Record>
  void add(const Record& record) {
    static_assert(sizeof(Record) <= kRecordBytes);
    if (!buffer_ || used_ + kRecordBytes > size_) {
      finish();
      std::size_t most = 0;
      requestBuffer(&buffer_, &size_, &most);
      if (!buffer_ || size_ < kRecordBytes) return;
    }
    std::memset(buffer_ + used_, 0xee, kRecordBytes);
    std::memcpy(buffer_ + used_, &record, sizeof record);
    used_ += kRecordBytes;
  }

 private:
  void finish() {
    if (buffer_) completeBuffer(nullptr, 0, buffer_, size_, used_);
    buffer_ = nullptr;
    used_ = 0;
  }

  std::uint8_t* buffer_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

// CUPTI's type of synchronisation by this call; 0: none.
std::uint32_t syncType(const FakeActivity& call) {
  switch (call.cbid) {
    case kCbidStreamSynchronize:
      return kStreamSynchronize;
    case kCbidStreamWaitEvent:
      return kStreamWaitEvent;
    case kCbidStreamQuery:
      if (!pollsOn && call.unfinished) return 0;
      return kStreamSynchronize;
    case kCbidEventQuery:
      if (!pollsOn && call.unfinished) return 0;
      return kEventSynchronize;
    default:
      return 0;
  }
}

void write(Writer& writer, const FakeActivity& activity) {
  const std::uint64_t start = kEpochNs + activity.startNs;
  const std::uint64_t end = kEpochNs + activity.endNs;
  switch (activity.what) {
    case FakeActivity::What::kCall:
      if (driverOn && !callsOff.contains(activity.cbid))
        writer.add(ActivityApi{kActivityDriver, activity.cbid, start, end, 1, 1, activity.correlation, 0});
      if (const auto type = syncType(activity); syncOn && type)
        writer.add(ActivitySynchronization{kActivitySynchronization, type, start, end, activity.correlation,
                                           1, activity.stream ? activity.stream : kNoStream});
      break;
    case FakeActivity::What::kMemset:
      if (memsetOn)
        writer.add(ActivityMemset{kActivityMemset, activity.value, activity.bytes, start, end,
                                  activity.device, 1, activity.stream, activity.correlation});
      break;
    case FakeActivity::What::kCopy:
      if (activity.kind == kPtoP && peerOn) {
        writer.add(ActivityMemcpyPtoP{kActivityMemcpy2, activity.kind, 3, 3, 0, activity.bytes, start, end,
                                      activity.device, 1, activity.stream, activity.srcDevice, 1,
                                      activity.dstDevice, 2, activity.correlation});
      } else if (activity.kind != kPtoP && memcpyOn) {
        writer.add(ActivityMemcpy{kActivityMemcpy, activity.kind, 1, 3, 0, activity.bytes, start, end,
                                  activity.device, 1, activity.stream, activity.correlation});
      }
      break;
    case FakeActivity::What::kKernel: {
      if (!kernelOn) break;
      ActivityKernel kernel{};
      kernel.kind = kActivityConcurrentKernel;
      kernel.start = start;
      kernel.end = end;
      kernel.deviceId = activity.device;
      kernel.contextId = 1;
      kernel.streamId = activity.stream;
      kernel.grid[0] = static_cast<std::int32_t>(activity.blocks);
      kernel.grid[1] = kernel.grid[2] = kernel.block[1] = kernel.block[2] = 1;
      kernel.block[0] = static_cast<std::int32_t>(activity.threads);
      kernel.correlationId = activity.correlation;
      kernel.name = activity.name;
      writer.add(kernel);
      break;
    }
  }
}

}  // namespace

extern "C" {

Result cuptiGetVersion(std::uint32_t* version) {
  *version = 130000;
  return kSuccess;
}

Result cuptiGetResultString(Result result, const char** text) {
  *text = result == kMultipleSubscribersNotSupported ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                                     : "CUPTI_ERROR_FAKE";
  return kSuccess;
}

Result cuptiGetTimestamp(std::uint64_t* now) {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  *now = kEpochNs + static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
  return kSuccess;
}

Result cuptiActivityRegisterCallbacks(BufferRequested requested, BufferCompleted completed) {
  requestBuffer = requested;
  completeBuffer = completed;
  connect(sink);
  return kSuccess;
}

Result cuptiActivityEnable(ActivityKind kind) {
  if (const long forced = number("P2PLAB_FAKE_CUPTI_ENABLE")) return static_cast<Result>(forced);
  if (kind == kActivityMemcpy) memcpyOn = true;
  if (kind == kActivityMemcpy2) peerOn = true;
  if (kind == kActivityDriver) {
    driverOn = true;
    // It overrides what was chosen before.
    callsOff.clear();
  }
  if (kind == kActivityConcurrentKernel) kernelOn = true;
  if (kind == kActivityMemset) memsetOn = true;
  if (kind == kActivitySynchronization) syncOn = true;
  return kSuccess;
}

Result cuptiActivityDisable(ActivityKind kind) {
  if (kind == kActivityMemcpy) memcpyOn = false;
  if (kind == kActivityMemcpy2) peerOn = false;
  if (kind == kActivityDriver) driverOn = false;
  if (kind == kActivityConcurrentKernel) kernelOn = false;
  if (kind == kActivityMemset) memsetOn = false;
  if (kind == kActivitySynchronization) syncOn = false;
  return kSuccess;
}

// Leaves out single calls of the driver. Without their kind there is no record of any: that is what
// CUPTI 13.0 did on driver 580.
Result cuptiActivityEnableDriverApi(std::uint32_t cbid, std::uint8_t enable) {
  if (enable)
    callsOff.erase(cbid);
  else
    callsOff.insert(cbid);
  return kSuccess;
}

Result cuptiActivityEnableAllSyncRecords(std::uint8_t enable) {
  pollsOn = enable != 0;
  return kSuccess;
}

Result cuptiActivityFlushAll(std::uint32_t) {
  Writer writer;
  const std::lock_guard lock(activitiesMutex);
  // From the last to the first: real records come in no order either.
  for (auto it = activities.rbegin(); it != activities.rend(); ++it) write(writer, *it);
  activities.clear();
  return kSuccess;
}

Result cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t validBytes, Activity** record) {
  std::uint8_t* next = *record ? reinterpret_cast<std::uint8_t*>(*record) + kRecordBytes : buffer;
  if (next + kRecordBytes > buffer + validBytes) return kMaxLimitReached;
  *record = reinterpret_cast<Activity*>(next);
  return kSuccess;
}

Result cuptiActivityGetNumDroppedRecords(p2p::cu::Context, std::uint32_t, std::size_t* dropped) {
  *dropped = static_cast<std::size_t>(number("P2PLAB_FAKE_CUPTI_DROPPED"));
  return kSuccess;
}

Result cuptiGetCallbackName(std::uint32_t, std::uint32_t cbid, const char** name) {
  static const auto& all = *new std::map<std::uint32_t, const char*>{
      {kCbidEventRecord, "cuEventRecord"},
      {kCbidStreamSynchronize, "cuStreamSynchronize"},
      {kCbidStreamQuery, "cuStreamQuery"},
      {kCbidEventQuery, "cuEventQuery"},
      {kCbidMemsetD8Async, "cuMemsetD8Async"},
      {kCbidMemsetD16Async, "cuMemsetD16Async"},
      {kCbidMemsetD32Async, "cuMemsetD32Async"},
      {kCbidStreamWaitEvent, "cuStreamWaitEvent"},
      {kCbidMemcpyAsync, "cuMemcpyAsync"},
      {kCbidMemcpyPeerAsync, "cuMemcpyPeerAsync"},
      {321, "cuMemcpy3DPeerAsync"},
      {307, "cuLaunchKernel"},
      {514, "cuGraphLaunch"},
      {659, "cuStreamWaitValue32_v2"},
      {663, "cuStreamWriteValue32_v2"},
      {776, "cuMemcpyBatchAsync"},
      {796, "cuMemcpyBatchAsync_v2"},
  };
  const auto it = all.find(cbid);
  if (it == all.end()) return kNotSupported;
  *name = it->second;
  return kSuccess;
}

Result cuptiFinalize() {
  connect(nullptr);
  callsOff.clear();
  pollsOn = true;
  memcpyOn = peerOn = kernelOn = driverOn = memsetOn = syncOn = false;
  const std::lock_guard lock(activitiesMutex);
  activities.clear();
  return kSuccess;
}

}  // extern "C"
