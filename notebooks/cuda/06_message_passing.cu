// Chapter 06: one GPU tells another that data is ready, without the host.
// Build and run on a machine with two GPUs that grant each other peer access:
//   nvcc -O2 -std=c++17 -o 06_message_passing 06_message_passing.cu && ./06_message_passing
// The data lies on GPU 0, the flag on GPU 1: the sender stores data, then flag; the receiver waits for the
// flag, then loads the data over the link. Prints for no fence, __threadfence and __threadfence_system how
// often the flag was new and the data old, and half of the round trip. Exits with 1 when the system-scope
// fence let old data through, or a kernel hung.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

static void check(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check((call), #call, __LINE__)

enum Fence { kNone, kGpu, kSystem };

__device__ void fence(int kind) {
  if (kind == kGpu) __threadfence();
  if (kind == kSystem) __threadfence_system();
}

__device__ std::uint64_t now_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// A lost flag must end as an error, not as a kernel that never ends.
constexpr std::uint64_t kDeadlineNs = 5'000'000'000;

__device__ bool wait_for(volatile std::uint32_t* flag, std::uint32_t value) {
  const std::uint64_t limit = now_ns() + kDeadlineNs;
  while (*flag != value) {
    if (now_ns() > limit) return false;
  }
  return true;
}

struct Outcome {
  std::uint64_t ns;
  std::uint32_t old_data;
  std::uint32_t hung;
};

// Runs on GPU 0. `data` and `answer` are its own memory, `flag` is GPU 1's.
__global__ void send(volatile std::uint32_t* data, volatile std::uint32_t* flag,
                     volatile std::uint32_t* answer, std::uint32_t rounds, int kind, Outcome* outcome) {
  const std::uint64_t begin = now_ns();
  outcome->hung = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    *data = round;
    fence(kind);
    *flag = round;
    if (!wait_for(answer, round)) {
      outcome->hung = round;
      break;
    }
  }
  outcome->ns = now_ns() - begin;
}

// Runs on GPU 1. `flag` is its own memory, `data` and `answer` are GPU 0's.
__global__ void receive(volatile std::uint32_t* data, volatile std::uint32_t* flag,
                        volatile std::uint32_t* answer, std::uint32_t rounds, int kind, Outcome* outcome) {
  outcome->old_data = 0;
  outcome->hung = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    if (!wait_for(flag, round)) {
      outcome->hung = round;
      break;
    }
    fence(kind);
    if (*data != round) ++outcome->old_data;
    *answer = round;
  }
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::fprintf(stderr, "this example needs two GPUs, there %s %d\n", devices == 1 ? "is" : "are", devices);
    return 1;
  }
  for (int gpu = 0; gpu < 2; ++gpu) {
    int granted = 0;
    CHECK(cudaDeviceCanAccessPeer(&granted, gpu, 1 - gpu));
    if (!granted) {
      std::fprintf(stderr, "GPU %d has no peer access to GPU %d: see nvidia-smi topo -p2p r\n", gpu, 1 - gpu);
      return 1;
    }
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaDeviceEnablePeerAccess(1 - gpu, 0));
  }

  // Words of two GPUs, each a line of its own, so that no two share one.
  constexpr std::size_t kLine = 128;
  constexpr std::uint32_t kRounds = 100'000;
  std::uint32_t *data = nullptr, *answer = nullptr, *flag = nullptr;
  Outcome* outcomes[2] = {};
  cudaStream_t streams[2] = {};
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaStreamCreateWithFlags(&streams[gpu], cudaStreamNonBlocking));
    CHECK(cudaMalloc(&outcomes[gpu], sizeof(Outcome)));
  }
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&data, kLine));
  CHECK(cudaMalloc(&answer, kLine));
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&flag, kLine));

  const char* const names[] = {"none", "__threadfence", "__threadfence_system"};
  bool wrong = false;
  std::printf("%22s %10s %10s %12s\n", "fence", "rounds", "old_data", "one_way_ns");
  for (int kind = kNone; kind <= kSystem; ++kind) {
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemset(data, 0, kLine));
    CHECK(cudaMemset(answer, 0, kLine));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(1));
    CHECK(cudaMemset(flag, 0, kLine));
    CHECK(cudaDeviceSynchronize());
    receive<<<1, 1, 0, streams[1]>>>(data, flag, answer, kRounds, kind, outcomes[1]);
    CHECK(cudaGetLastError());
    CHECK(cudaSetDevice(0));
    send<<<1, 1, 0, streams[0]>>>(data, flag, answer, kRounds, kind, outcomes[0]);
    CHECK(cudaGetLastError());
    Outcome sent{}, received{};
    CHECK(cudaStreamSynchronize(streams[0]));
    CHECK(cudaStreamSynchronize(streams[1]));
    CHECK(cudaMemcpy(&sent, outcomes[0], sizeof sent, cudaMemcpyDefault));
    CHECK(cudaMemcpy(&received, outcomes[1], sizeof received, cudaMemcpyDefault));
    if (sent.hung != 0 || received.hung != 0) {
      std::fprintf(stderr, "a flag was lost in round %u: stores of kernels do not arrive (IOMMU, ACS?)\n",
                   sent.hung != 0 ? sent.hung : received.hung);
      return 1;
    }
    std::printf("%22s %10u %10u %12.0f\n", names[kind], kRounds, received.old_data,
                static_cast<double>(sent.ns) / kRounds / 2);
    wrong = wrong || (kind == kSystem && received.old_data > 0);
  }
  if (wrong) std::fprintf(stderr, "old data behind a new flag in spite of a system-scope fence\n");

  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaStreamDestroy(streams[gpu]));
    CHECK(cudaFree(outcomes[gpu]));
  }
  CHECK(cudaFree(data));
  CHECK(cudaFree(answer));
  CHECK(cudaFree(flag));
  return wrong ? 1 : 0;
}
