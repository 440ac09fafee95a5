// A stand-in libcupti for tests: records of the copies that the stand-in libcuda makes, on a clock as large
// as the real one. See README.md for what the environment changes.
#include <dlfcn.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
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
bool driverOn = false;
// Filled by the threads that do the copies.
std::mutex copiesMutex;
std::vector<FakeCopy> copies;

long number(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::strtol(value, nullptr, 10) : 0;
}

void sink(const FakeCopy& copy) {
  const std::lock_guard lock(copiesMutex);
  copies.push_back(copy);
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
  if (kind == kActivityDriver) driverOn = true;
  return kSuccess;
}

Result cuptiActivityDisable(ActivityKind kind) {
  if (kind == kActivityMemcpy) memcpyOn = false;
  if (kind == kActivityMemcpy2) peerOn = false;
  if (kind == kActivityDriver) driverOn = false;
  return kSuccess;
}

Result cuptiActivityFlushAll(std::uint32_t) {
  Writer writer;
  const std::lock_guard lock(copiesMutex);
  // From the last to the first: real records come in no order either.
  for (auto it = copies.rbegin(); it != copies.rend(); ++it) {
    const std::uint64_t start = kEpochNs + it->startNs;
    const std::uint64_t end = kEpochNs + it->endNs;
    if (it->kind == kPtoP && peerOn) {
      writer.add(ActivityMemcpyPtoP{kActivityMemcpy2, it->kind, 3, 3, 0, it->bytes, start, end, it->device, 1,
                                    7, it->device, 1, 1, 2, it->correlation});
    } else if (it->kind != kPtoP && memcpyOn) {
      writer.add(ActivityMemcpy{kActivityMemcpy, it->kind, 1, 3, 0, it->bytes, start, end, it->device, 1, 7,
                                it->correlation});
    }
    if (driverOn) {
      writer.add(ActivityApi{kActivityDriver, it->cbid, kEpochNs + it->apiStartNs, kEpochNs + it->apiEndNs, 1,
                             1, it->correlation, 0});
    }
  }
  copies.clear();
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
  *name = cbid == kCbidMemcpyAsync ? "cuMemcpyAsync" : "cuMemcpyPeerAsync";
  return kSuccess;
}

Result cuptiFinalize() {
  connect(nullptr);
  const std::lock_guard lock(copiesMutex);
  copies.clear();
  return kSuccess;
}

}  // extern "C"
