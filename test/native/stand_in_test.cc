// The stand-in driver held to what it promises its users. Runs the test named by its argument;
// stand_in.test.ts sets the environment. Exit code 0: passed.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "context.h"
#include "driver_library.h"
#include "kernel_list.h"
#include "objects.h"
#include "peers.h"
#include "verify.h"

extern char** environ;

using namespace p2p;

namespace {

[[noreturn]] void fail(int line, const std::string& what) {
  std::fprintf(stderr, "line %d: %s\n", line, what.c_str());
  std::exit(1);
}

#define EXPECT(condition)                                      \
  do {                                                         \
    if (!(condition)) fail(__LINE__, "not true: " #condition); \
  } while (false)

#define EXPECT_RESULT(call, expected)                                                                    \
  do {                                                                                                   \
    const cu::Result result = (call);                                                                    \
    if (result != (expected)) fail(__LINE__, std::string(#call) + " answers " + std::to_string(result)); \
  } while (false)

#define OK(call) EXPECT_RESULT(call, cu::kSuccess)

constexpr std::size_t kBytes = 4096;

using SharedContext = std::shared_ptr<DeviceContext>;

// Contexts of both GPUs, a stream and memory in each.
struct Two {
  SharedContext contexts[2] = {DeviceContext::of(0), DeviceContext::of(1)};
  Stream streams[2] = {Stream(contexts[0]), Stream(contexts[1])};
  DeviceMemory memory[2] = {DeviceMemory(contexts[0], kBytes), DeviceMemory(contexts[1], kBytes)};
};

cu::Result settle(cu::Stream stream) {
  return driver().cuStreamSynchronize(stream);
}

void peer(int from, int to) {
  Peers::instance().set({DeviceContext::of(from), DeviceContext::of(to), true});
}

// Fills memory with the pattern of a seed by a kernel of that GPU.
cu::Result fill(const SharedContext& context, cu::Stream stream, cu::DevicePtr address, std::uint64_t seed,
                std::uint64_t bytes = kBytes) {
  std::uint64_t offset = 0;
  std::uint32_t complement = 0;
  void* arguments[] = {&address, &bytes, &seed, &offset, &complement};
  const CurrentContext current(*context);
  return driver().cuLaunchKernel(context->kernel(Kernel::kFill), 1, 1, 1, 32, 1, 1, 0, stream, arguments,
                                 nullptr);
}

// Bytes of device memory, read by its owner.
std::vector<std::byte> bytesOf(const SharedContext& owner, cu::DevicePtr address,
                               std::size_t bytes = kBytes) {
  std::vector<std::byte> data(bytes);
  const CurrentContext current(*owner);
  const Stream stream(owner);
  OK(driver().cuMemcpyAsync(reinterpret_cast<cu::DevicePtr>(data.data()), address, bytes, stream.handle()));
  OK(settle(stream.handle()));
  return data;
}

std::uint64_t wrong(const std::vector<std::byte>& data, std::uint64_t seed) {
  return comparePattern(data.data(), data.size(), seed, 0).wrong;
}

std::uint32_t wordOf(const SharedContext& owner, cu::DevicePtr address) {
  std::uint32_t word = 0;
  const std::vector<std::byte> data = bytesOf(owner, address, sizeof word);
  std::memcpy(&word, data.data(), sizeof word);
  return word;
}

// Work behind a gate waits, work of other streams does not, and an event carries the wait from one to the
// other.
void order() {
  Two two;
  const PinnedMemory gate(two.contexts[0], 8);
  std::memset(gate.data(), 0, 8);
  const auto flag = reinterpret_cast<cu::DevicePtr>(gate.data());
  const Event event(two.contexts[0]);
  OK(driver().cuStreamWaitValue32_v2(two.streams[0].handle(), flag, 1, cu::kWaitValueGeq));
  OK(fill(two.contexts[0], two.streams[0].handle(), two.memory[0].address(), 1));
  {
    const CurrentContext current(*two.contexts[0]);
    OK(driver().cuEventRecord(event.handle(), two.streams[0].handle()));
  }
  OK(driver().cuStreamWaitEvent(two.streams[1].handle(), event.handle(), 0));
  OK(fill(two.contexts[1], two.streams[1].handle(), two.memory[1].address(), 2));
  const Stream free(two.contexts[1]);
  OK(fill(two.contexts[1], free.handle(), two.memory[1].address(), 3));
  OK(settle(free.handle()));
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 3) == 0);
  EXPECT_RESULT(driver().cuStreamQuery(two.streams[0].handle()), cu::kNotReady);
  EXPECT_RESULT(driver().cuStreamQuery(two.streams[1].handle()), cu::kNotReady);
  EXPECT_RESULT(driver().cuEventQuery(event.handle()), cu::kNotReady);
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(gate.data())).store(1);
  OK(settle(two.streams[1].handle()));
  OK(driver().cuEventQuery(event.handle()));
  EXPECT(wrong(bytesOf(two.contexts[0], two.memory[0].address()), 1) == 0);
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 2) == 0);
}

// Two streams that answer each other's word run at the same time.
void conversation() {
  Two two;
  peer(0, 1);
  peer(1, 0);
  for (int gpu : {0, 1})
    OK(driver().cuMemsetD32Async(two.memory[gpu].address(), 0, 1, two.streams[gpu].handle()));
  for (int gpu : {0, 1}) OK(settle(two.streams[gpu].handle()));
  for (std::uint32_t round = 1; round <= 20; ++round) {
    OK(driver().cuStreamWriteValue32_v2(two.streams[0].handle(), two.memory[1].address(), round, 0));
    OK(driver().cuStreamWaitValue32_v2(two.streams[0].handle(), two.memory[0].address(), round, 0));
    OK(driver().cuStreamWaitValue32_v2(two.streams[1].handle(), two.memory[1].address(), round, 0));
    OK(driver().cuStreamWriteValue32_v2(two.streams[1].handle(), two.memory[0].address(), round, 0));
  }
  for (int gpu : {0, 1}) OK(settle(two.streams[gpu].handle()));
  EXPECT(wordOf(two.contexts[0], two.memory[0].address()) == 20);
}

// A kernel without peer access breaks its context, and nothing of that context works afterwards.
void illegal() {
  const SharedContext context = DeviceContext::of(0);
  const SharedContext other = DeviceContext::of(1);
  auto stream = std::make_unique<Stream>(context);
  const DeviceMemory theirs(other, kBytes);
  OK(fill(context, stream->handle(), theirs.address(), 1));
  EXPECT_RESULT(settle(stream->handle()), cu::kIllegalAddress);
  EXPECT_RESULT(fill(context, stream->handle(), theirs.address(), 1), cu::kIllegalAddress);
  EXPECT_RESULT(driver().cuStreamQuery(stream->handle()), cu::kIllegalAddress);
  {
    const CurrentContext current(*context);
    cu::DevicePtr address = 0;
    EXPECT_RESULT(driver().cuMemAlloc_v2(&address, 64), cu::kIllegalAddress);
  }
  (void)bytesOf(other, theirs.address());
  stream.reset();
  EXPECT(failedReleases() == 1);
}

// What a fault makes of a kernel's stores through the window, of copies and of words.
void window(const std::string& mode) {
  Two two;
  peer(0, 1);
  const cu::DevicePtr theirs = two.memory[1].address();
  const std::vector<std::byte> before = bytesOf(two.contexts[1], theirs);
  OK(fill(two.contexts[0], two.streams[0].handle(), theirs, 5));
  OK(settle(two.streams[0].handle()));
  const std::vector<std::byte> stored = bytesOf(two.contexts[1], theirs);
  OK(fill(two.contexts[0], two.streams[0].handle(), two.memory[0].address(), 6));
  OK(driver().cuMemcpyAsync(theirs, two.memory[0].address(), kBytes, two.streams[0].handle()));
  OK(settle(two.streams[0].handle()));
  const std::vector<std::byte> copied = bytesOf(two.contexts[1], theirs);
  if (mode == "none") {
    EXPECT(wrong(stored, 5) == 0 && wrong(copied, 6) == 0);
  } else if (mode == "corrupt") {
    EXPECT(comparePattern(stored.data(), kBytes, 5, 0).firstWrong == 77 && wrong(stored, 5) == 1);
    EXPECT(comparePattern(copied.data(), kBytes, 6, 0).firstWrong == 77 && wrong(copied, 6) == 1);
  } else if (mode == "lost-flag") {
    EXPECT(stored == before && wrong(copied, 6) == 0);
  } else {
    EXPECT(stored == before && copied == before);
  }
  // What GPU 0 itself reads back: what it wrote where its writes are mirrored, else what the owner has.
  OK(driver().cuMemcpyAsync(two.memory[0].address(), theirs, kBytes, two.streams[0].handle()));
  OK(settle(two.streams[0].handle()));
  const std::vector<std::byte> back = bytesOf(two.contexts[0], two.memory[0].address());
  if (mode == "mirror") EXPECT(wrong(back, 6) == 0);
  if (mode == "none" || mode == "lost-flag") EXPECT(back == copied);
}

// Memory of pools and of mappings is reached by whom it is granted to, peer access or not.
void grants() {
  Two two;
  const CurrentContext current(*two.contexts[1]);
  cu::MemoryPool pool = nullptr;
  OK(driver().cuDeviceGetDefaultMemPool(&pool, 1));
  cu::DevicePtr pooled = 0;
  OK(driver().cuMemAllocAsync(&pooled, kBytes, two.streams[1].handle()));
  EXPECT_RESULT(driver().cuStreamWriteValue32_v2(two.streams[0].handle(), pooled, 1, 0), cu::kInvalidValue);
  cu::MemoryAccessDesc access{{cu::kLocationDevice, 0}, cu::kAccessReadWrite};
  OK(driver().cuMemPoolSetAccess(pool, &access, 1));
  OK(driver().cuStreamWriteValue32_v2(two.streams[0].handle(), pooled, 9, 0));
  OK(settle(two.streams[0].handle()));
  EXPECT(wordOf(two.contexts[1], pooled) == 9);
  OK(driver().cuMemFreeAsync(pooled, two.streams[1].handle()));
  OK(settle(two.streams[1].handle()));
  EXPECT_RESULT(driver().cuMemFreeAsync(pooled, two.streams[1].handle()), cu::kInvalidValue);

  const cu::MemoryAllocationProp prop{
      cu::kAllocationPinned, cu::kHandleNone, {cu::kLocationDevice, 1}, nullptr, {}};
  std::size_t granule = 0;
  OK(driver().cuMemGetAllocationGranularity(&granule, &prop, cu::kGranularityMinimum));
  cu::MemoryHandle handle = 0;
  EXPECT_RESULT(driver().cuMemCreate(&handle, granule + 1, &prop, 0), cu::kInvalidValue);
  OK(driver().cuMemCreate(&handle, granule, &prop, 0));
  cu::DevicePtr ranges[2] = {};
  for (cu::DevicePtr& range : ranges) {
    OK(driver().cuMemAddressReserve(&range, granule, 0, 0, 0));
    OK(driver().cuMemMap(range, granule, 0, handle, 0));
  }
  EXPECT_RESULT(driver().cuStreamWriteValue32_v2(two.streams[1].handle(), ranges[0], 1, 0),
                cu::kInvalidValue);
  access.location.id = 1;
  for (const cu::DevicePtr range : ranges) OK(driver().cuMemSetAccess(range, granule, &access, 1));
  access.location.id = 0;
  OK(driver().cuMemSetAccess(ranges[1], granule, &access, 1));
  OK(driver().cuMemRelease(handle));
  OK(driver().cuStreamWriteValue32_v2(two.streams[0].handle(), ranges[1], 11, 0));
  OK(settle(two.streams[0].handle()));
  // The same memory at both addresses.
  EXPECT(wordOf(two.contexts[1], ranges[0]) == 11);
  EXPECT_RESULT(driver().cuMemAddressFree(ranges[0], granule), cu::kInvalidValue);
  for (const cu::DevicePtr range : ranges) {
    OK(driver().cuMemUnmap(range, granule));
    OK(driver().cuMemAddressFree(range, granule));
  }
  std::size_t free = 0;
  std::size_t total = 0;
  OK(driver().cuMemGetInfo_v2(&free, &total));
  EXPECT(total - free == 2 * kBytes);
}

// A graph of two streams: each launch does all of it again, with the dependencies that were captured.
void capture() {
  Two two;
  peer(0, 1);
  const Event fork(two.contexts[0]);
  const Event join(two.contexts[1]);
  const auto record = [&](int gpu, const Event& event) {
    const CurrentContext current(*two.contexts[gpu]);
    OK(driver().cuEventRecord(event.handle(), two.streams[gpu].handle()));
  };
  const auto captured = [&](std::uint64_t seed, bool joined) {
    OK(driver().cuStreamBeginCapture_v2(two.streams[0].handle(), cu::kCaptureRelaxed));
    OK(fill(two.contexts[0], two.streams[0].handle(), two.memory[0].address(), seed));
    record(0, fork);
    OK(driver().cuStreamWaitEvent(two.streams[1].handle(), fork.handle(), 0));
    OK(driver().cuMemcpyAsync(two.memory[1].address(), two.memory[0].address(), kBytes,
                              two.streams[1].handle()));
    record(1, join);
    if (joined) OK(driver().cuStreamWaitEvent(two.streams[0].handle(), join.handle(), 0));
    cu::Graph graph = nullptr;
    EXPECT_RESULT(driver().cuStreamEndCapture(two.streams[0].handle(), &graph),
                  joined ? cu::kSuccess : cu::kStreamCaptureUnjoined);
    return graph;
  };
  const std::vector<std::byte> before = bytesOf(two.contexts[1], two.memory[1].address());
  EXPECT(captured(1, false) == nullptr);
  const cu::Graph first = captured(1, true);
  EXPECT(bytesOf(two.contexts[1], two.memory[1].address()) == before);
  std::size_t count = 0;
  OK(driver().cuGraphGetNodes(first, nullptr, &count));
  EXPECT(count == 2);
  cu::GraphNode nodes[2] = {};
  OK(driver().cuGraphGetNodes(first, nodes, &count));
  cu::GraphNodeType type = cu::kNodeEmpty;
  OK(driver().cuGraphNodeGetType(nodes[1], &type));
  EXPECT(type == cu::kNodeMemcpy);

  cu::GraphExec executable = nullptr;
  {
    const CurrentContext current(*two.contexts[0]);
    OK(driver().cuGraphInstantiateWithFlags(&executable, first, 0));
  }
  OK(driver().cuGraphLaunch(executable, two.streams[0].handle()));
  OK(settle(two.streams[0].handle()));
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 1) == 0);
  const cu::Graph second = captured(2, true);
  cu::GraphUpdateInfo info{};
  OK(driver().cuGraphExecUpdate_v2(executable, second, &info));
  for (int launch = 0; launch < 3; ++launch) OK(driver().cuGraphLaunch(executable, two.streams[0].handle()));
  OK(settle(two.streams[0].handle()));
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 2) == 0);

  // Another shape is no update, and a captured stream cannot be asked whether it is done.
  OK(driver().cuStreamBeginCapture_v2(two.streams[0].handle(), cu::kCaptureRelaxed));
  OK(fill(two.contexts[0], two.streams[0].handle(), two.memory[0].address(), 3));
  cu::Graph other = nullptr;
  OK(driver().cuStreamEndCapture(two.streams[0].handle(), &other));
  EXPECT_RESULT(driver().cuGraphExecUpdate_v2(executable, other, &info), cu::kGraphExecUpdateFailure);
  EXPECT(info.result == cu::kGraphUpdateTopologyChanged);
  OK(driver().cuStreamBeginCapture_v2(two.streams[0].handle(), cu::kCaptureRelaxed));
  EXPECT_RESULT(driver().cuStreamQuery(two.streams[0].handle()), cu::kStreamCaptureUnsupported);
  cu::Graph none = nullptr;
  EXPECT_RESULT(driver().cuStreamEndCapture(two.streams[0].handle(), &none), cu::kStreamCaptureInvalidated);
  for (const cu::Graph graph : {first, second, other}) OK(driver().cuGraphDestroy(graph));
  OK(driver().cuGraphExecDestroy(executable));
}

// Memory of this process in a child: the child sees our bytes, and we see what it writes.
void ipc(const char* program) {
  const SharedContext context = DeviceContext::of(0);
  const CurrentContext current(*context);
  const DeviceMemory memory(context, kBytes);
  const Stream stream(context);
  OK(fill(context, stream.handle(), memory.address(), 3));
  OK(settle(stream.handle()));
  cu::IpcMemoryHandle handle{};
  OK(driver().cuIpcGetMemHandle(&handle, memory.address()));
  cu::DevicePtr own = 0;
  EXPECT_RESULT(driver().cuIpcOpenMemHandle_v2(&own, handle, cu::kIpcLazyEnablePeerAccess),
                cu::kInvalidContext);
  std::string text;
  for (const char byte : handle.reserved) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(byte));
    text += hex;
  }
  const char* arguments[] = {program, "ipc-child", text.c_str(), nullptr};
  pid_t child = 0;
  EXPECT(posix_spawn(&child, program, nullptr, nullptr, const_cast<char**>(arguments), environ) == 0);
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(wrong(bytesOf(context, memory.address()), 4) == 0);
}

void ipcChild(const char* text) {
  cu::IpcMemoryHandle handle{};
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i)
    handle.reserved[i] = static_cast<char>(std::stoi(std::string(text + 2 * i, 2), nullptr, 16));
  const SharedContext context = DeviceContext::of(1);
  const SharedContext owner = DeviceContext::of(0);
  const CurrentContext current(*context);
  cu::DevicePtr memory = 0;
  OK(driver().cuIpcOpenMemHandle_v2(&memory, handle, cu::kIpcLazyEnablePeerAccess));
  EXPECT(wrong(bytesOf(owner, memory), 3) == 0);
  const Stream stream(context);
  OK(fill(context, stream.handle(), memory, 4));
  OK(settle(stream.handle()));
  OK(driver().cuIpcCloseMemHandle(memory));
  EXPECT_RESULT(driver().cuIpcCloseMemHandle(memory), cu::kInvalidValue);
}

// Batches name the copy that is refused, and move all of them otherwise.
void batch() {
  Two two;
  peer(0, 1);
  OK(fill(two.contexts[0], two.streams[0].handle(), two.memory[0].address(), 8));
  cu::DevicePtr sources[] = {two.memory[0].address(), two.memory[0].address() + 1024};
  cu::DevicePtr destinations[] = {two.memory[1].address(), two.memory[1].address() + 1024};
  std::size_t sizes[] = {1024, kBytes - 1024};
  cu::CopyAttributes attributes{cu::kSourceOrderStream, {}, {}, 0};
  std::size_t first = 0;
  std::size_t failed = 0;
  const cu::Stream stream = two.streams[0].handle();
  OK(driver().cuMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, &first, 1, &failed, stream));
  OK(driver().cuMemcpyBatchAsync_v2(destinations, sources, sizes, 2, &attributes, &first, 1, stream));
  OK(settle(stream));
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 8) == 0);
  sizes[1] = kBytes;
  EXPECT_RESULT(
      driver().cuMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, &first, 1, &failed, stream),
      cu::kInvalidValue);
  EXPECT(failed == 1);
  attributes.sourceOrder = static_cast<cu::CopySourceOrder>(0);
  EXPECT_RESULT(
      driver().cuMemcpyBatchAsync_v2(destinations, sources, sizes, 2, &attributes, &first, 1, stream),
      cu::kInvalidValue);
  OK(settle(stream));
}

// Page-locked by registration: known to the driver from then on.
void registered() {
  const SharedContext context = DeviceContext::of(0);
  const CurrentContext current(*context);
  PageableMemory memory(kBytes);
  const auto address = reinterpret_cast<cu::DevicePtr>(memory.data());
  unsigned type = 0;
  EXPECT_RESULT(driver().cuPointerGetAttribute(&type, cu::kPointerMemoryType, address), cu::kInvalidValue);
  OK(driver().cuMemHostRegister_v2(memory.data(), kBytes, 0));
  EXPECT_RESULT(driver().cuMemHostRegister_v2(memory.data() + 64, 64, 0), cu::kHostMemoryAlreadyRegistered);
  OK(driver().cuPointerGetAttribute(&type, cu::kPointerMemoryType, address));
  EXPECT(type == cu::kMemoryTypeHost);
  const Stream stream(context);
  OK(fill(context, stream.handle(), address, 2));
  OK(settle(stream.handle()));
  EXPECT(comparePattern(memory.data(), kBytes, 2, 0).wrong == 0);
  OK(driver().cuMemHostUnregister(memory.data()));
  EXPECT_RESULT(driver().cuMemHostUnregister(memory.data()), cu::kHostMemoryNotRegistered);
}

// Events that time measure what lies between them, and only those.
void elapsed() {
  const SharedContext context = DeviceContext::of(0);
  const CurrentContext current(*context);
  const Stream stream(context);
  const DeviceMemory memory(context, kBytes);
  cu::Event events[2] = {};
  for (cu::Event& event : events) OK(driver().cuEventCreate(&event, 0));
  float ms = 0;
  EXPECT_RESULT(driver().cuEventElapsedTime(&ms, events[0], events[1]), cu::kInvalidHandle);
  OK(driver().cuEventRecord(events[0], stream.handle()));
  OK(driver().cuMemcpyAsync(memory.address(), memory.address() + 64, 64, stream.handle()));
  OK(driver().cuEventRecord(events[1], stream.handle()));
  OK(driver().cuEventSynchronize(events[1]));
  OK(driver().cuEventElapsedTime(&ms, events[0], events[1]));
  EXPECT(ms >= 2.0F);
  const Event untimed(context);
  OK(driver().cuEventRecord(untimed.handle(), stream.handle()));
  OK(settle(stream.handle()));
  EXPECT_RESULT(driver().cuEventElapsedTime(&ms, events[0], untimed.handle()), cu::kInvalidHandle);
  for (cu::Event event : events) OK(driver().cuEventDestroy_v2(event));
}

// The process ends with work in every stream that never completes, and streams destroyed before it does.
void endless() {
  Two two;
  const PinnedMemory gate(two.contexts[0], 8);
  std::memset(gate.data(), 0, 8);
  const auto flag = reinterpret_cast<cu::DevicePtr>(gate.data());
  for (Stream& stream : two.streams) OK(driver().cuStreamWaitValue32_v2(stream.handle(), flag, 1, 0));
  const Stream destroyed(two.contexts[0]);
  OK(driver().cuStreamWaitValue32_v2(destroyed.handle(), flag, 1, 0));
  std::exit(0);
}

// UUIDs, in order, of the devices that CUDA shows.
void devices() {
  for (int device = 0; device < driverState().deviceCount; ++device) {
    cu::Uuid plain{};
    cu::Uuid own{};
    OK(driver().cuDeviceGetUuid(&plain, device));
    OK(driver().cuDeviceGetUuid_v2(&own, device));
    int bus = 0;
    OK(driver().cuDeviceGetAttribute(&bus, cu::kAttributePciBusId, device));
    std::printf("%d/%d/%02x ", plain.bytes[0], own.bytes[0], bus);
  }
}

// From the second allocation on there is no memory; from the third copy on the context is broken.
void ordered() {
  const SharedContext context = DeviceContext::of(0);
  const CurrentContext current(*context);
  {
    cu::DevicePtr first = 0;
    cu::DevicePtr second = 0;
    OK(driver().cuMemAlloc_v2(&first, 64));
    EXPECT_RESULT(driver().cuMemAlloc_v2(&second, 64), cu::kOutOfMemory);
    const Stream stream(context);
    for (int i = 0; i < 2; ++i) OK(driver().cuMemcpyAsync(first, first + 8, 8, stream.handle()));
    EXPECT_RESULT(driver().cuMemcpyAsync(first, first + 8, 8, stream.handle()), cu::kIllegalAddress);
    EXPECT_RESULT(driver().cuStreamQuery(stream.handle()), cu::kIllegalAddress);
    EXPECT_RESULT(driver().cuMemFree_v2(first), cu::kIllegalAddress);
  }
}

const char* mode() {
  const char* const set = std::getenv("P2PLAB_FAKE_MODE");
  return set ? set : "none";
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> tests = {
      {"order", order},
      {"conversation", conversation},
      {"illegal", illegal},
      {"window", [] { window(mode()); }},
      {"grants", grants},
      {"capture", capture},
      {"ipc", [&] { ipc(argv[0]); }},
      {"ipc-child", [&] { ipcChild(argv[2]); }},
      {"batch", batch},
      {"registered", registered},
      {"elapsed", elapsed},
      {"endless", endless},
      {"devices", devices},
      {"ordered", ordered},
  };
  const auto test = tests.find(argc >= 2 ? argv[1] : "");
  if (test == tests.end()) return 2;
  try {
    test->second();
  } catch (const std::exception& exception) {
    fail(0, std::string("thrown: ") + exception.what());
  }
  return 0;
}
