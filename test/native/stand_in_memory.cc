// Memory of the stand-in driver: who reaches it, what faults make of it, and the devices that have it.
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "nvml_pair.h"
#include "pointer_facts.h"
#include "stand_in.h"

extern char** environ;

namespace p2p {

namespace {

// The fault that the environment orders.
std::string mode() {
  const char* const set = std::getenv("P2PLAB_FAKE_MODE");
  return set ? set : "none";
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
void window() {
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
  if (mode() == "none") {
    EXPECT(wrong(stored, 5) == 0 && wrong(copied, 6) == 0);
  } else if (mode() == "corrupt") {
    EXPECT(comparePattern(stored.data(), kBytes, 5, 0).firstWrong == 77 && wrong(stored, 5) == 1);
    EXPECT(comparePattern(copied.data(), kBytes, 6, 0).firstWrong == 77 && wrong(copied, 6) == 1);
  } else if (mode() == "lost-flag") {
    EXPECT(stored == before && wrong(copied, 6) == 0);
  } else {
    EXPECT(stored == before && copied == before);
  }
  // What GPU 0 itself reads back: what it wrote where its writes are mirrored, else what the owner has.
  OK(driver().cuMemcpyAsync(two.memory[0].address(), theirs, kBytes, two.streams[0].handle()));
  OK(settle(two.streams[0].handle()));
  const std::vector<std::byte> back = bytesOf(two.contexts[0], two.memory[0].address());
  if (mode() == "mirror") EXPECT(wrong(back, 6) == 0);
  if (mode() == "none" || mode() == "lost-flag") EXPECT(back == copied);
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
  cu::DevicePtr reached = 0;
  OK(driver().cuPointerGetAttribute(&reached, cu::kPointerDevicePointer, address));
  EXPECT(reached == address);
  const Stream stream(context);
  OK(fill(context, stream.handle(), address, 2));
  OK(settle(stream.handle()));
  EXPECT(comparePattern(memory.data(), kBytes, 2, 0).wrong == 0);
  OK(driver().cuMemHostUnregister(memory.data()));
  EXPECT_RESULT(driver().cuMemHostUnregister(memory.data()), cu::kHostMemoryNotRegistered);
}

// Under which address a GPU reaches memory is a question of the current context; whose memory it is, is not.
void pointersWithoutContext() {
  const SharedContext context = DeviceContext::of(0);
  const DeviceMemory memory(context, kBytes);
  int owner = -1;
  OK(driver().cuPointerGetAttribute(&owner, cu::kPointerDeviceOrdinal, memory.address()));
  EXPECT(owner == 0);
  cu::DevicePtr reached = 0;
  EXPECT_RESULT(driver().cuPointerGetAttribute(&reached, cu::kPointerDevicePointer, memory.address()),
                cu::kInvalidContext);
  EXPECT(pointerFacts(memory.address()).devicePointer == memory.address());
}

// Memory of this process in a child: the child sees our bytes, and we see what it writes.
void ipc() {
  const char* const program = "/proc/self/exe";
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
  EXPECT(setenv("P2PLAB_TEST_HANDLE", text.c_str(), 1) == 0);
  const char* arguments[] = {program, "ipc-child", nullptr};
  pid_t child = 0;
  EXPECT(posix_spawn(&child, program, nullptr, nullptr, const_cast<char**>(arguments), environ) == 0);
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(wrong(bytesOf(context, memory.address()), 4) == 0);
}

void ipcChild() {
  const char* const text = std::getenv("P2PLAB_TEST_HANDLE");
  EXPECT(text != nullptr);
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

// A GPU takes eight peers, and one more when one of them is let go.
void peers() {
  const SharedContext own = DeviceContext::of(0);
  std::vector<SharedContext> others;
  for (int gpu = 1; gpu <= 9; ++gpu) others.push_back(DeviceContext::of(gpu));
  const CurrentContext current(*own);
  for (int i = 0; i < 8; ++i) OK(driver().cuCtxEnablePeerAccess(others[i]->handle(), 0));
  EXPECT_RESULT(driver().cuCtxEnablePeerAccess(others[0]->handle(), 0), cu::kPeerAccessAlreadyEnabled);
  EXPECT_RESULT(driver().cuCtxEnablePeerAccess(others[8]->handle(), 0), cu::kTooManyPeers);
  OK(driver().cuCtxDisablePeerAccess(others[0]->handle()));
  EXPECT_RESULT(driver().cuCtxDisablePeerAccess(others[0]->handle()), cu::kPeerAccessNotEnabled);
  OK(driver().cuCtxEnablePeerAccess(others[8]->handle(), 0));
}

// What CUDA and NVML say of peer access both ways.
void access() {
  for (const int from : {0, 1}) {
    const int to = 1 - from;
    int can = -1;
    int supported = -1;
    OK(driver().cuDeviceCanAccessPeer(&can, from, to));
    OK(driver().cuDeviceGetP2PAttribute(&supported, cu::kPeerAccessSupported, from, to));
    const GpuPair pair = gpuPair(from, to);
    std::printf("%d %d %s %s; ", can, supported, pair.read.value->c_str(), pair.write.value->c_str());
  }
}

// The optional functions that the library lacks.
void optional() {
#define P2P_TELL(since, name, ...) \
  if (!driver().name) std::printf("%s came with CUDA %s\n", #name, since);
  P2P_OPTIONAL_ENTRY_POINTS(P2P_TELL)
#undef P2P_TELL
}

}  // namespace

Tests memoryTests() {
  return {{"illegal", illegal},
          {"window", window},
          {"grants", grants},
          {"registered", registered},
          {"pointers", pointersWithoutContext},
          {"ipc", ipc},
          {"ipc-child", ipcChild},
          {"ordered", ordered},
          {"devices", devices},
          {"optional", optional},
          {"access", access},
          {"peers", peers}};
}

}  // namespace p2p
