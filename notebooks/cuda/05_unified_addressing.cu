// Chapter 05: what the driver knows of an address, and one GPU reading another's memory through it.
// Build and run (the last part needs two GPUs that grant each other peer access):
//   nvcc -O2 -std=c++17 -o 05_unified_addressing 05_unified_addressing.cu && ./05_unified_addressing
// Prints the attributes of device, pinned, registered, managed and pageable memory, then lets a kernel on GPU
// 0 read memory of GPU 1 by its address. Exits with 1 when what it reads is wrong.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check((call), #call, __LINE__)

static const char* nameOf(cudaMemoryType type) {
  switch (type) {
    case cudaMemoryTypeUnregistered:
      return "unregistered";
    case cudaMemoryTypeHost:
      return "host";
    case cudaMemoryTypeDevice:
      return "device";
    case cudaMemoryTypeManaged:
      return "managed";
  }
  return "unknown";
}

static void show(const char* name, const void* address) {
  cudaPointerAttributes facts = {};
  CHECK(cudaPointerGetAttributes(&facts, address));
  std::printf("%-11s %-13s gpu %2d  host %-18p device %-18p\n", name, nameOf(facts.type), facts.device,
              facts.hostPointer, facts.devicePointer);
}

// Each thread adds up its share; the addresses may be of any memory that the GPU can reach.
__global__ void sum(const std::uint32_t* values, size_t count, unsigned long long* total) {
  unsigned long long own = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
    own += values[i];
  atomicAdd(total, own);
}

// Sums by a kernel on GPU 0 and gives the rate, GB/s.
static double read_gbps(const std::uint32_t* values, size_t count, unsigned long long expected,
                        const char* name) {
  unsigned long long *total = nullptr, seen = 0;
  CHECK(cudaMalloc(&total, sizeof *total));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  float best_ms = 1e30f;
  for (int i = 0; i < 5; ++i) {
    CHECK(cudaMemset(total, 0, sizeof *total));
    CHECK(cudaEventRecord(begin));
    sum<<<512, 256>>>(values, count, total);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (ms < best_ms) best_ms = ms;
    CHECK(cudaMemcpy(&seen, total, sizeof seen, cudaMemcpyDefault));
    if (seen != expected) {
      std::fprintf(stderr, "%s: the kernel summed %llu instead of %llu\n", name, seen, expected);
      std::exit(1);
    }
  }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaFree(total));
  return count * sizeof(std::uint32_t) / (best_ms * 1e6);
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 1) {
    std::fprintf(stderr, "this example needs a GPU\n");
    return 1;
  }
  constexpr size_t kCount = size_t{16} << 20;
  constexpr size_t kBytes = kCount * sizeof(std::uint32_t);
  std::vector<std::uint32_t> pageable(kCount);
  unsigned long long expected = 0;
  for (size_t i = 0; i < kCount; ++i) expected += pageable[i] = static_cast<std::uint32_t>(i * 2654435761u);

  CHECK(cudaSetDevice(0));
  std::uint32_t *local = nullptr, *pinned = nullptr, *managed = nullptr;
  std::vector<std::uint32_t> registered = pageable;
  CHECK(cudaMalloc(&local, kBytes));
  CHECK(cudaMallocHost(&pinned, kBytes));
  CHECK(cudaMallocManaged(&managed, kBytes));
  CHECK(cudaHostRegister(registered.data(), kBytes, cudaHostRegisterPortable));
  show("device", local);
  show("pinned", pinned);
  show("registered", registered.data());
  show("managed", managed);
  show("pageable", pageable.data());

  // No direction anywhere: the addresses tell it.
  CHECK(cudaMemcpy(local, pageable.data(), kBytes, cudaMemcpyDefault));
  CHECK(cudaMemcpy(pinned, local, kBytes, cudaMemcpyDefault));
  std::printf("\na kernel on GPU 0 reads\n");
  std::printf("%-22s %8.1f GB/s\n", "its own memory", read_gbps(local, kCount, expected, "device"));
  std::printf("%-22s %8.1f GB/s\n", "pinned host memory", read_gbps(pinned, kCount, expected, "pinned"));
  std::printf("%-22s %8.1f GB/s\n", "registered host memory",
              read_gbps(registered.data(), kCount, expected, "registered"));

  int granted = 0;
  if (devices > 1) CHECK(cudaDeviceCanAccessPeer(&granted, 0, 1));
  if (granted) {
    std::uint32_t* remote = nullptr;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&remote, kBytes));
    CHECK(cudaMemcpy(remote, local, kBytes, cudaMemcpyDefault));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    show("\npeer", remote);
    std::printf("%-22s %8.1f GB/s\n", "memory of GPU 1", read_gbps(remote, kCount, expected, "peer"));
    CHECK(cudaFree(remote));
  } else {
    std::printf("memory of GPU 1: %s\n", devices > 1 ? "no peer access" : "there is one GPU");
  }

  CHECK(cudaHostUnregister(registered.data()));
  CHECK(cudaFree(managed));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(local));
  return 0;
}
