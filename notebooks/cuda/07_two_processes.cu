// Chapter 07: two processes, one allocation. The owner allocates on GPU 1 and hands over names of its memory:
// 64 bytes of CUDA IPC, and a file descriptor of virtual memory, sent over a Unix socket. The other process
// opens both and copies into them from GPU 0; the owner then looks whether the bytes are there. A control
// tells what of the difference is the other process being there at all: the same copy into memory of the
// copying process, before the owner touches a GPU and beside it. Build and run on a machine with two GPUs
// that grant each other peer access; with one GPU both processes use that one, and the copies stay on it:
//   nvcc -O2 -std=c++17 -o 07_two_processes 07_two_processes.cu -lcuda && ./07_two_processes
// Prints what opening costs, and what a copy costs each way. Exits with 1 when a call fails or the owner sees
// wrong bytes.
#include <cuda.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(CUresult result, const char* call, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "process %d, line %d: %s: %s\n", getpid(), line, call, name ? name : "unknown error");
  std::exit(1);
}
#define CHECK(call) check((call), #call, __LINE__)

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "process %d: %s\n", getpid(), what);
  std::exit(1);
}

constexpr size_t kBytes = size_t{64} << 20;
constexpr unsigned char kIpcByte = 0x5a, kFileByte = 0xa5;
constexpr int kUserGpu = 0;

// What crosses the socket beside the descriptor.
struct Names {
  CUipcMemHandle ipc;
  size_t mappedBytes;
};

// A descriptor means nothing in another process: the kernel makes a new one of the same file there.
static void send_names(int socket, const Names& names, int file) {
  iovec data{const_cast<Names*>(&names), sizeof names};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(control), &file, sizeof file);
  require(sendmsg(socket, &message, 0) == static_cast<ssize_t>(sizeof names), "the names could not be sent");
}

static int receive_names(int socket, Names& names) {
  iovec data{&names, sizeof names};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  require(recvmsg(socket, &message, MSG_WAITALL) == static_cast<ssize_t>(sizeof names), "no names came");
  const cmsghdr* control = CMSG_FIRSTHDR(&message);
  require(control != nullptr && control->cmsg_type == SCM_RIGHTS, "no descriptor came");
  int file = -1;
  std::memcpy(&file, CMSG_DATA(control), sizeof file);
  return file;
}

static CUcontext use(int gpu) {
  CUdevice device;
  CUcontext context;
  CHECK(cuDeviceGet(&device, gpu));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  return context;
}

static CUmemAllocationProp shareable_on(int gpu) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu};
  return properties;
}

static CUdeviceptr map_for(CUmemGenericAllocationHandle memory, size_t bytes, const std::vector<int>& gpus) {
  CUdeviceptr address;
  CHECK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
  CHECK(cuMemMap(address, bytes, 0, memory, 0));
  for (const int gpu : gpus) {
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemSetAccess(address, bytes, &access, 1));
  }
  return address;
}

static double us_of(const std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

// One copy from GPU 0, submitted and waited for; median of many.
static double copy_us(CUdeviceptr destination, CUdeviceptr source, CUstream stream, size_t bytes) {
  std::vector<double> times;
  for (int i = 0; i < 60; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(cuMemcpyAsync(destination, source, bytes, stream));
    CHECK(cuStreamSynchronize(stream));
    if (i >= 10) times.push_back(us_of(begin));
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

struct Destination {
  const char* name;
  CUdeviceptr memory;
  std::vector<double> us;
};

// Times the destinations in turn, in several rounds, so that what drifts meanwhile does not count for one of
// them.
static void time_in_turn(std::vector<Destination>& destinations, CUdeviceptr source, CUstream stream,
                         size_t bytes) {
  for (int round = 0; round < 5; ++round) {
    for (Destination& destination : destinations)
      destination.us.push_back(copy_us(destination.memory, source, stream, bytes));
  }
  for (Destination& destination : destinations) {
    std::sort(destination.us.begin(), destination.us.end());
    std::printf("copy of %9zu bytes into %-34s %8.2f us (%.2f to %.2f)\n", bytes, destination.name,
                destination.us[destination.us.size() / 2], destination.us.front(), destination.us.back());
  }
}

static bool holds(CUdeviceptr memory, unsigned char byte) {
  std::vector<unsigned char> seen(kBytes);
  CHECK(cuMemcpyDtoH(seen.data(), memory, kBytes));
  return std::all_of(seen.begin(), seen.end(), [byte](unsigned char value) { return value == byte; });
}

static int owner(int socket, int gpu) {
  char alone = 0;
  require(read(socket, &alone, 1) == 1, "the other process ended before it had timed its own copy");
  CHECK(cuInit(0));
  use(gpu);
  Names names{};
  CUdeviceptr plain;
  CHECK(cuMemAlloc(&plain, kBytes));
  CHECK(cuMemsetD8(plain, 0, kBytes));
  CHECK(cuIpcGetMemHandle(&names.ipc, plain));
  const CUmemAllocationProp properties = shareable_on(gpu);
  size_t unit;
  CHECK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  names.mappedBytes = (kBytes + unit - 1) / unit * unit;
  CUmemGenericAllocationHandle memory;
  CHECK(cuMemCreate(&memory, names.mappedBytes, &properties, 0));
  const CUdeviceptr mapped = map_for(memory, names.mappedBytes, {gpu});
  CHECK(cuMemsetD8(mapped, 0, kBytes));
  CHECK(cuCtxSynchronize());
  int file = -1;
  CHECK(cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  send_names(socket, names, file);
  char done = 0;
  require(read(socket, &done, 1) == 1, "the other process ended before it had copied");
  const bool right = holds(plain, kIpcByte) && holds(mapped, kFileByte);
  std::printf("the owner sees the bytes of the other process: %s\n", right ? "yes" : "NO");
  CHECK(cuMemFree(plain));
  CHECK(cuMemUnmap(mapped, names.mappedBytes));
  CHECK(cuMemAddressFree(mapped, names.mappedBytes));
  CHECK(cuMemRelease(memory));
  return right ? 0 : 1;
}

static int user(int socket, int owner_gpu) {
  CHECK(cuInit(0));
  use(kUserGpu);
  CUstream stream;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr source;
  CHECK(cuMemAlloc(&source, kBytes));
  CHECK(cuMemsetD8Async(source, kIpcByte, kBytes, stream));

  // The control: memory of this process on the owner's GPU, mapped for GPU 0 as the imported memory will be.
  const CUmemAllocationProp properties = shareable_on(owner_gpu);
  size_t unit;
  CHECK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const size_t own_bytes = (kBytes + unit - 1) / unit * unit;
  CUmemGenericAllocationHandle own_memory;
  CHECK(cuMemCreate(&own_memory, own_bytes, &properties, 0));
  const CUdeviceptr own = map_for(own_memory, own_bytes, {kUserGpu, owner_gpu});
  for (const size_t bytes : {size_t{8}, kBytes}) {
    std::vector<Destination> alone{{"own memory, no other process", own, {}}};
    time_in_turn(alone, source, stream, bytes);
  }

  const char go = 1;
  require(write(socket, &go, 1) == 1, "the owner is gone");
  Names names{};
  const int file = receive_names(socket, names);

  auto begin = std::chrono::steady_clock::now();
  CUdeviceptr opened;
  CHECK(cuIpcOpenMemHandle(&opened, names.ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  std::printf("%-44s %10.1f us\n", "cuIpcOpenMemHandle, first", us_of(begin));
  begin = std::chrono::steady_clock::now();
  CUdeviceptr again;
  CHECK(cuIpcOpenMemHandle(&again, names.ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  std::printf("%-44s %10.1f us\n", "cuIpcOpenMemHandle, while it is open", us_of(begin));
  CHECK(cuIpcCloseMemHandle(again));

  begin = std::chrono::steady_clock::now();
  CUmemGenericAllocationHandle memory;
  CHECK(cuMemImportFromShareableHandle(&memory, reinterpret_cast<void*>(static_cast<uintptr_t>(file)),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  std::printf("%-44s %10.1f us\n", "cuMemImportFromShareableHandle", us_of(begin));
  begin = std::chrono::steady_clock::now();
  const CUdeviceptr mapped = map_for(memory, names.mappedBytes, {kUserGpu, owner_gpu});
  std::printf("%-44s %10.1f us\n", "reserve, map and grant access", us_of(begin));

  for (const size_t bytes : {size_t{8}, kBytes}) {
    std::vector<Destination> beside{{"own memory, beside the owner", own, {}},
                                    {"the owner's memory, by descriptor", mapped, {}},
                                    {"the owner's memory, by IPC", opened, {}}};
    time_in_turn(beside, source, stream, bytes);
  }
  CHECK(cuMemsetD8Async(source, kFileByte, kBytes, stream));
  CHECK(cuMemcpyAsync(mapped, source, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));

  CHECK(cuIpcCloseMemHandle(opened));
  CHECK(cuMemUnmap(mapped, names.mappedBytes));
  CHECK(cuMemAddressFree(mapped, names.mappedBytes));
  CHECK(cuMemRelease(memory));
  CHECK(cuMemUnmap(own, own_bytes));
  CHECK(cuMemAddressFree(own, own_bytes));
  CHECK(cuMemRelease(own_memory));
  CHECK(cuMemFree(source));
  CHECK(cuStreamDestroy(stream));
  close(file);
  const char done = 1;
  return write(socket, &done, 1) == 1 ? 0 : 1;
}

constexpr int kNone = 255;

// The owner's GPU, or kNone. CUDA does not survive a fork: GPUs are looked at by a process that ends again.
static int look_for_gpu() {
  int count = 0, granted = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) return kNone;
  if (count == 1) return kUserGpu;
  CHECK(cuDeviceCanAccessPeer(&granted, kUserGpu, 1));
  if (!granted)
    std::fprintf(stderr, "GPU %d has no peer access to GPU 1: see nvidia-smi topo -p2p r\n", kUserGpu);
  return granted ? 1 : kNone;
}

int main() {
  std::fflush(nullptr);
  int status = 0;
  const pid_t looking = fork();
  if (looking == 0) std::_Exit(look_for_gpu());
  require(waitpid(looking, &status, 0) == looking && WIFEXITED(status), "the look at the GPUs was cut short");
  const int owner_gpu = WEXITSTATUS(status);
  if (owner_gpu == kNone) {
    std::fprintf(stderr, "nothing was measured: a driver, and one GPU or two with peer access, are needed\n");
    return 1;
  }
  if (owner_gpu == kUserGpu) std::printf("one GPU: both processes use it\n");
  std::fflush(nullptr);
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no socket pair");
  const pid_t other = fork();
  if (other == 0) {
    close(ends[0]);
    std::exit(user(ends[1], owner_gpu));
  }
  close(ends[1]);
  const int own = owner(ends[0], owner_gpu);
  require(waitpid(other, &status, 0) == other, "the other process was lost");
  return own != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0 ? 1 : 0;
}
