// A stand-in libcuda.so.1 for tests: device memory is host memory, copies happen when they are submitted, and
// streams are complete after a delay. How it misbehaves is set by the environment; see README.md.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../../native/cuda_api.h"
#include "../../native/pattern.h"
#include "fake_trace.h"

using namespace p2p::cu;

struct CUctx_st {
  int gpu;
  int references = 0;
  std::set<int> peers;
};
struct CUstream_st {
  CUctx_st* context;
  std::uint64_t readyNs = 0;
};
struct CUevent_st {
  CUctx_st* context;
  std::uint64_t readyNs = 0;
};
struct CUmod_st {
  std::string text;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};
struct CUfunc_st {
  std::string name;
};

namespace {

constexpr std::uint64_t kNever = UINT64_MAX;

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

long number(const char* name, long otherwise) {
  const std::string text = setting(name);
  return text.empty() ? otherwise : std::strtol(text.c_str(), nullptr, 10);
}

std::uint64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

struct Allocation {
  std::size_t bytes;
  int gpu;  // -1: pinned host memory
  // What other GPUs see instead of the memory, where writes through the peer window are mirrored.
  std::map<int, std::vector<unsigned char>> mirrors;
};

struct Fake {
  std::mutex mutex;
  long devices = number("P2PLAB_FAKE_DEVICES", 2);
  std::string mode = setting("P2PLAB_FAKE_MODE");
  std::uint64_t delayNs = static_cast<std::uint64_t>(number("P2PLAB_FAKE_DELAY_NS", 0));
  std::size_t memoryBytes = static_cast<std::size_t>(number("P2PLAB_FAKE_MEMORY", 1L << 30));
  std::size_t usedBytes = 0;
  bool initialized = false;
  std::map<int, CUctx_st> contexts;
  std::map<DevicePtr, Allocation> allocations;
  std::set<CUstream_st*> streams;
  std::set<CUevent_st*> events;
  std::set<CUmod_st*> modules;
  std::map<std::string, long> calls;
  std::uint32_t correlation = 0;

  ~Fake() {
    const std::string file = setting("P2PLAB_FAKE_COUNTS");
    if (file.empty()) return;
    FILE* out = std::fopen(file.c_str(), "w");
    if (!out) return;
    int live = 0;
    for (const auto& [gpu, context] : contexts) live += context.references;
    std::fprintf(
        out,
        "{\"contexts\":%d,\"allocations\":%zu,\"streams\":%zu,\"events\":%zu,\"modules\":%zu,\"calls\":{",
        live, allocations.size(), streams.size(), events.size(), modules.size());
    const char* comma = "";
    for (const auto& [name, count] : calls) {
      std::fprintf(out, "%s\"%s\":%ld", comma, name.c_str(), count);
      comma = ",";
    }
    std::fprintf(out, "}}\n");
    std::fclose(out);
  }
};

Fake& fake() {
  static Fake once;
  return once;
}

thread_local std::vector<CUctx_st*> current;

CUctx_st* top() {
  return current.empty() ? nullptr : current.back();
}

// P2PLAB_FAKE_FAIL is NAME=CODE or NAME=CODE@N: the call answers CODE from its Nth time on.
Result enter(const char* name) {
  Fake& f = fake();
  const long times = ++f.calls[name];
  const std::string rule = setting("P2PLAB_FAKE_FAIL");
  const std::size_t equals = rule.find('=');
  if (equals == std::string::npos || rule.substr(0, equals) != name) return kSuccess;
  const std::size_t at = rule.find('@');
  if (at != std::string::npos && times < std::strtol(rule.c_str() + at + 1, nullptr, 10)) return kSuccess;
  return static_cast<Result>(std::strtol(rule.c_str() + equals + 1, nullptr, 10));
}

#define ENTER(name)                         \
  const std::lock_guard lock(fake().mutex); \
  if (const Result forced = enter(name)) return forced

// The allocation that holds an address; nullptr for pageable host memory.
std::pair<const DevicePtr, Allocation>* find(DevicePtr address) {
  auto it = fake().allocations.upper_bound(address);
  if (it == fake().allocations.begin()) return nullptr;
  --it;
  return address < it->first + it->second.bytes ? &*it : nullptr;
}

bool peering(int from, int to) {
  const auto it = fake().contexts.find(from);
  return it != fake().contexts.end() && it->second.peers.contains(to);
}

// Copies as the GPU of the stream would.
Result transfer(DevicePtr dst, DevicePtr src, std::size_t bytes, CUstream_st* stream, std::uint32_t cbid) {
  Fake& f = fake();
  if (!f.streams.contains(stream)) return kInvalidHandle;
  const std::uint64_t entered = nowNs();
  auto* to = find(dst);
  auto* from = find(src);
  if (to && dst + bytes > to->first + to->second.bytes) return kInvalidValue;
  if (from && src + bytes > from->first + from->second.bytes) return kInvalidValue;
  const int issuer = stream->context->gpu;
  const int dstGpu = to ? to->second.gpu : -1;
  const int srcGpu = from ? from->second.gpu : -1;
  const bool betweenGpus = dstGpu >= 0 && srcGpu >= 0 && dstGpu != srcGpu;
  const bool writesPeer = dstGpu >= 0 && dstGpu != issuer && peering(issuer, dstGpu);
  const bool direct = betweenGpus && (peering(issuer, dstGpu) || peering(issuer, srcGpu));
  const auto* data = reinterpret_cast<const unsigned char*>(src);
  if (f.mode == "mirror" && srcGpu >= 0 && srcGpu != issuer && peering(issuer, srcGpu)) {
    auto& mirrors = from->second.mirrors;
    if (const auto it = mirrors.find(issuer); it != mirrors.end())
      data = it->second.data() + (src - from->first);
  }
  const bool hangs = f.mode == "hang" && direct;
  if (f.mode == "mirror" && writesPeer) {
    auto& mirror = to->second.mirrors[issuer];
    mirror.resize(to->second.bytes);
    std::memcpy(mirror.data() + (dst - to->first), data, bytes);
  } else if (!(f.mode == "zero-write" && direct) && !hangs) {
    std::memcpy(reinterpret_cast<void*>(dst), data, bytes);
  }
  const std::uint64_t start = std::max(nowNs(), stream->readyNs == kNever ? 0 : stream->readyNs);
  if (hangs || stream->readyNs == kNever)
    stream->readyNs = kNever;
  else
    stream->readyNs = start + f.delayNs;
  if (fakeTraceSink) {
    const std::uint8_t kind = betweenGpus ? 10 : srcGpu >= 0 && dstGpu >= 0 ? 8 : srcGpu >= 0 ? 2 : 1;
    fakeTraceSink({++f.correlation, cbid, entered, nowNs(), start, start + f.delayNs, bytes, kind,
                   static_cast<std::uint32_t>(issuer)});
  }
  return kSuccess;
}

}  // namespace

FakeTraceSink fakeTraceSink = nullptr;

extern "C" {

void p2plab_fake_trace(FakeTraceSink sink) {
  const std::lock_guard lock(fake().mutex);
  fakeTraceSink = sink;
}

Result cuInit(unsigned) {
  ENTER("cuInit");
  if (fake().devices == 0) return kNoDevice;
  fake().initialized = true;
  return kSuccess;
}

Result cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number("P2PLAB_FAKE_VERSION", 13000));
  return kSuccess;
}

Result cuGetErrorName(Result, const char** name) {
  *name = "CUDA_ERROR_FAKE";
  return kSuccess;
}

Result cuGetErrorString(Result, const char** text) {
  *text = "an error of the stand-in driver";
  return kSuccess;
}

Result cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = static_cast<int>(fake().devices);
  return kSuccess;
}

Result cuDeviceGet(Device* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= fake().devices) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

Result cuDeviceGetName(char* name, int length, Device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU");
  return kSuccess;
}

Result cuDeviceGetUuid(Uuid* uuid, Device device) {
  std::memset(uuid->bytes, device, sizeof uuid->bytes);
  return kSuccess;
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, Device) {
  *bytes = fake().memoryBytes;
  return kSuccess;
}

Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  switch (attribute) {
    case kAttributePciBusId:
      *value = 0x10 + device;
      return kSuccess;
    case kAttributePciDeviceId:
    case kAttributePciDomainId:
      *value = 0;
      return kSuccess;
    case kAttributeComputeMajor:
      *value = 9;
      return kSuccess;
    case kAttributeComputeMinor:
      *value = 0;
      return kSuccess;
    case kAttributeMultiprocessorCount:
      *value = 4;
      return kSuccess;
    case kAttributeAsyncEngineCount:
      *value = 3;
      return kSuccess;
    default:
      *value = 1;
      return kSuccess;
  }
}

Result cuDeviceCanAccessPeer(int* can, Device from, Device to) {
  *can = from != to && setting("P2PLAB_FAKE_MODE") != "no-peer";
  return kSuccess;
}

#ifndef P2P_FAKE_OLD_DRIVER
Result cuDeviceGetP2PAttribute(int* value, PeerAttribute attribute, Device, Device) {
  *value = attribute == kPeerPerformanceRank ? 0 : setting("P2PLAB_FAKE_MODE") != "no-peer";
  return kSuccess;
}
#endif

Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
  ENTER("cuDevicePrimaryCtxRetain");
  CUctx_st& own = fake().contexts[device];
  own.gpu = device;
  ++own.references;
  *context = &own;
  return kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(Device device) {
  ENTER("cuDevicePrimaryCtxRelease_v2");
  CUctx_st& own = fake().contexts[device];
  if (own.references <= 0) return kInvalidContext;
  if (--own.references == 0) own.peers.clear();
  return kSuccess;
}

Result cuCtxSetCurrent(Context context) {
  ENTER("cuCtxSetCurrent");
  if (!current.empty()) current.pop_back();
  current.push_back(context);
  return kSuccess;
}

Result cuCtxPushCurrent_v2(Context context) {
  ENTER("cuCtxPushCurrent_v2");
  current.push_back(context);
  return kSuccess;
}

Result cuCtxPopCurrent_v2(Context* context) {
  ENTER("cuCtxPopCurrent_v2");
  if (current.empty()) return kInvalidContext;
  *context = current.back();
  current.pop_back();
  return kSuccess;
}

Result cuCtxEnablePeerAccess(Context peer, unsigned) {
  ENTER("cuCtxEnablePeerAccess");
  CUctx_st* own = top();
  if (!own) return kInvalidContext;
  if (fake().mode == "no-peer") return kPeerAccessUnsupported;
  if (own->peers.contains(peer->gpu)) return kPeerAccessAlreadyEnabled;
  if (static_cast<long>(own->peers.size()) >= number("P2PLAB_FAKE_MAX_PEERS", 8)) return kTooManyPeers;
  own->peers.insert(peer->gpu);
  return kSuccess;
}

Result cuCtxDisablePeerAccess(Context peer) {
  ENTER("cuCtxDisablePeerAccess");
  CUctx_st* own = top();
  if (!own) return kInvalidContext;
  return own->peers.erase(peer->gpu) ? kSuccess : kPeerAccessNotEnabled;
}

Result cuMemAlloc_v2(DevicePtr* address, std::size_t bytes) {
  ENTER("cuMemAlloc_v2");
  Fake& f = fake();
  if (!top()) return kInvalidContext;
  if (bytes == 0) return kInvalidValue;
  if (bytes > f.memoryBytes - f.usedBytes) return kOutOfMemory;
  void* data = std::malloc(bytes);
  if (!data) return kOutOfMemory;
  f.usedBytes += bytes;
  *address = reinterpret_cast<DevicePtr>(data);
  f.allocations[*address] = {bytes, top()->gpu, {}};
  return kSuccess;
}

Result cuMemFree_v2(DevicePtr address) {
  ENTER("cuMemFree_v2");
  const auto it = fake().allocations.find(address);
  if (it == fake().allocations.end() || it->second.gpu < 0) return kInvalidValue;
  fake().usedBytes -= it->second.bytes;
  fake().allocations.erase(it);
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}

Result cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  if (!top()) return kInvalidContext;
  *data = std::malloc(bytes);
  if (!*data) return kOutOfMemory;
  fake().allocations[reinterpret_cast<DevicePtr>(*data)] = {bytes, -1, {}};
  return kSuccess;
}

Result cuMemFreeHost(void* data) {
  ENTER("cuMemFreeHost");
  const auto it = fake().allocations.find(reinterpret_cast<DevicePtr>(data));
  if (it == fake().allocations.end() || it->second.gpu >= 0) return kInvalidValue;
  fake().allocations.erase(it);
  std::free(data);
  return kSuccess;
}

Result cuMemcpyAsync(DevicePtr dst, DevicePtr src, std::size_t bytes, Stream stream) {
  ENTER("cuMemcpyAsync");
  return transfer(dst, src, bytes, stream, 306);
}

Result cuMemcpyPeerAsync(DevicePtr dst, Context, DevicePtr src, Context, std::size_t bytes, Stream stream) {
  ENTER("cuMemcpyPeerAsync");
  return transfer(dst, src, bytes, stream, 319);
}

Result cuStreamCreate(Stream* stream, unsigned flags) {
  ENTER("cuStreamCreate");
  if (!top() || flags != kStreamNonBlocking) return kInvalidValue;
  *stream = new CUstream_st{top()};
  fake().streams.insert(*stream);
  return kSuccess;
}

Result cuStreamDestroy_v2(Stream stream) {
  ENTER("cuStreamDestroy_v2");
  if (!fake().streams.erase(stream)) return kInvalidHandle;
  delete stream;
  return kSuccess;
}

Result cuStreamQuery(Stream stream) {
  ENTER("cuStreamQuery");
  if (!fake().streams.contains(stream)) return kInvalidHandle;
  return nowNs() >= stream->readyNs ? kSuccess : kNotReady;
}

Result cuStreamSynchronize(Stream stream) {
  for (;;) {
    {
      ENTER("cuStreamSynchronize");
      if (!fake().streams.contains(stream)) return kInvalidHandle;
      if (nowNs() >= stream->readyNs) return kSuccess;
    }
    const timespec moment{0, 1000};
    nanosleep(&moment, nullptr);
  }
}

Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  ENTER("cuStreamWaitEvent");
  if (!fake().streams.contains(stream) || !fake().events.contains(event)) return kInvalidHandle;
  stream->readyNs = std::max(stream->readyNs, event->readyNs);
  return kSuccess;
}

Result cuEventCreate(Event* event, unsigned) {
  ENTER("cuEventCreate");
  if (!top()) return kInvalidContext;
  *event = new CUevent_st{top()};
  fake().events.insert(*event);
  return kSuccess;
}

Result cuEventDestroy_v2(Event event) {
  ENTER("cuEventDestroy_v2");
  if (!fake().events.erase(event)) return kInvalidHandle;
  delete event;
  return kSuccess;
}

Result cuEventRecord(Event event, Stream stream) {
  ENTER("cuEventRecord");
  if (!fake().streams.contains(stream) || !fake().events.contains(event)) return kInvalidHandle;
  if (event->context != stream->context || top() != stream->context) return kInvalidHandle;
  event->readyNs = stream->readyNs;
  return kSuccess;
}

Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, int* options, void** values) {
  ENTER("cuModuleLoadDataEx");
  if (!top()) return kInvalidContext;
  if (!std::strstr(static_cast<const char*>(image), ".version 7.0")) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == kJitErrorLogBuffer) std::strcpy(static_cast<char*>(values[i]), "not PTX 7.0");
    }
    return kUnsupportedPtxVersion;
  }
  *module = new CUmod_st{static_cast<const char*>(image), {}};
  fake().modules.insert(*module);
  return kSuccess;
}

Result cuModuleUnload(Module module) {
  ENTER("cuModuleUnload");
  if (!fake().modules.erase(module)) return kInvalidHandle;
  delete module;
  return kSuccess;
}

Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  ENTER("cuModuleGetFunction");
  if (module->text.find(".entry " + std::string(name) + "(") == std::string::npos) return kNotFound;
  module->functions.push_back(std::make_unique<CUfunc_st>(CUfunc_st{name}));
  *function = module->functions.back().get();
  return kSuccess;
}

Result cuFuncGetAttribute(int* value, int, Function) {
  *value = 16;
  return kSuccess;
}

Result cuLaunchKernel(Function function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      Stream stream, void** arguments, void**) {
  ENTER("cuLaunchKernel");
  if (!fake().streams.contains(stream) || stream->context != top()) return kInvalidHandle;
  const auto word = [&](int i) { return *static_cast<std::uint64_t*>(arguments[i]); };
  const DevicePtr address = word(0);
  const std::uint64_t bytes = word(1);
  // A kernel sees the memory of its own GPU only.
  auto* allocation = find(address);
  if (!allocation || allocation->second.gpu != stream->context->gpu ||
      address + bytes > allocation->first + allocation->second.bytes)
    return kIllegalAddress;
  auto* data = reinterpret_cast<std::uint8_t*>(address);
  if (function->name == "p2p_fill") {
    const bool complement = *static_cast<std::uint32_t*>(arguments[4]) != 0;
    for (std::uint64_t i = 0; i < bytes; ++i)
      data[i] = complement ? p2p::sentinelByte(word(2), word(3) + i) : p2p::patternByte(word(2), word(3) + i);
  } else if (function->name == "p2p_check") {
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) wrong += data[i] != p2p::patternByte(word(2), word(3) + i);
    *reinterpret_cast<std::uint64_t*>(word(4)) += wrong;
  } else {
    return kNotFound;
  }
  return kSuccess;
}

}  // extern "C"
