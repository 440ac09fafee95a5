// Chapter 03: what every ordered pair of GPUs carries, one way and both ways at once.
// Build and run on a machine with two or more GPUs:
//   nvcc -O2 -std=c++17 -o 03_peer_bandwidth 03_peer_bandwidth.cu && ./03_peer_bandwidth
// Prints a matrix of rates in GB/s one way (from row to column; the diagonal is a copy within a GPU's own
// memory), then one of both ways together. A pair without peer access is marked: its copies are staged by the
// driver. Exits with 1 when bytes arrive wrong.
#include <cuda_runtime.h>

#include <algorithm>
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

constexpr size_t kBytes = size_t{64} << 20;
constexpr int kCopies = 20;

struct Gpu {
  std::uint8_t* out = nullptr;
  std::uint8_t* in = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
};

// Copies queue up in the stream of their source, so that the time between its two events holds no work of the
// host.
static void queue(const Gpu& from, int gpu, const Gpu& to) {
  CHECK(cudaSetDevice(gpu));
  CHECK(cudaEventRecord(from.begin, from.stream));
  for (int i = 0; i < kCopies; ++i)
    CHECK(cudaMemcpyAsync(to.in, from.out, kBytes, cudaMemcpyDefault, from.stream));
  CHECK(cudaEventRecord(from.end, from.stream));
}

static double gbps(const Gpu& gpu) {
  float ms = 0;
  CHECK(cudaEventSynchronize(gpu.end));
  CHECK(cudaEventElapsedTime(&ms, gpu.begin, gpu.end));
  return kCopies * static_cast<double>(kBytes) / (ms * 1e6);
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::fprintf(stderr, "this example needs two GPUs, there %s %d\n", devices == 1 ? "is" : "are", devices);
    return 1;
  }
  std::vector<std::vector<int>> access(devices, std::vector<int>(devices, 1));
  for (int from = 0; from < devices; ++from) {
    CHECK(cudaSetDevice(from));
    for (int to = 0; to < devices; ++to) {
      if (from == to) continue;
      CHECK(cudaDeviceCanAccessPeer(&access[from][to], from, to));
      // A GPU has room for a limited number of peers: the copy is staged then, and the pair is marked so.
      if (access[from][to] && cudaDeviceEnablePeerAccess(to, 0) != cudaSuccess) {
        (void)cudaGetLastError();
        access[from][to] = 0;
      }
    }
  }

  std::vector<std::uint8_t> sent(kBytes), received(kBytes);
  std::vector<Gpu> gpus(devices);
  for (int gpu = 0; gpu < devices; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMalloc(&gpus[gpu].out, kBytes));
    CHECK(cudaMalloc(&gpus[gpu].in, kBytes));
    CHECK(cudaStreamCreateWithFlags(&gpus[gpu].stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&gpus[gpu].begin));
    CHECK(cudaEventCreate(&gpus[gpu].end));
  }

  const auto verify = [&](int from, int to) {
    for (size_t i = 0; i < kBytes; ++i) sent[i] = static_cast<std::uint8_t>((i * 2654435761u >> 13) + from);
    CHECK(cudaSetDevice(from));
    CHECK(cudaMemcpy(gpus[from].out, sent.data(), kBytes, cudaMemcpyDefault));
    CHECK(cudaSetDevice(to));
    CHECK(cudaMemset(gpus[to].in, 0xA5, kBytes));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(from));
    CHECK(cudaMemcpyAsync(gpus[to].in, gpus[from].out, kBytes, cudaMemcpyDefault, gpus[from].stream));
    CHECK(cudaStreamSynchronize(gpus[from].stream));
    CHECK(cudaSetDevice(to));
    CHECK(cudaMemcpy(received.data(), gpus[to].in, kBytes, cudaMemcpyDeviceToHost));
    if (received == sent) return;
    std::fprintf(stderr, "GPU %d -> GPU %d: bytes did not arrive as they were sent\n", from, to);
    std::exit(1);
  };

  for (const bool both : {false, true}) {
    std::printf("%s, GB/s (* staged by the driver)\n", both ? "\nboth ways together" : "one way");
    for (int from = 0; from < devices; ++from) {
      for (int to = 0; to < devices; ++to) {
        if (both && from == to) {
          std::printf("%10s", "-");
          continue;
        }
        if (!both) verify(from, to);
        for (int round = 0; round < 2; ++round) {  // the first wakes clocks and links
          queue(gpus[from], from, gpus[to]);
          if (both) queue(gpus[to], to, gpus[from]);
          CHECK(cudaStreamSynchronize(gpus[from].stream));
          if (both) CHECK(cudaStreamSynchronize(gpus[to].stream));
        }
        const double rate = both ? gbps(gpus[from]) + gbps(gpus[to]) : gbps(gpus[from]);
        std::printf("%9.1f%c", rate, access[from][to] ? ' ' : '*');
      }
      std::printf("\n");
    }
  }

  for (Gpu& gpu : gpus) {
    CHECK(cudaEventDestroy(gpu.begin));
    CHECK(cudaEventDestroy(gpu.end));
    CHECK(cudaStreamDestroy(gpu.stream));
    CHECK(cudaFree(gpu.in));
    CHECK(cudaFree(gpu.out));
  }
  return 0;
}
