// Chapter 01: the two ways from one GPU to another, timed one transfer at a time.
// Build and run on a machine with two GPUs that grant each other peer access:
//   nvcc -O2 -std=c++17 -o 01_two_paths 01_two_paths.cu && ./01_two_paths
// Prints, for each message size, the median time from the first submit call until the host knows that all
// bytes have arrived, by the direct path and staged through page-locked host memory. Exits with 1 when bytes
// arrive wrong.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

static void check(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check((call), #call, __LINE__)

// Waits by asking, not by sleeping: the shortest way for the host to learn of the completion.
static void spin(cudaStream_t stream) {
  cudaError_t status;
  while ((status = cudaStreamQuery(stream)) == cudaErrorNotReady) {
  }
  CHECK(status);
}

static double median_us(const std::function<void()>& transfer, int samples) {
  using clock = std::chrono::steady_clock;
  for (int i = 0; i < 20; ++i) transfer();  // warm-up
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) {
    const auto begin = clock::now();
    transfer();
    times.push_back(std::chrono::duration<double, std::micro>(clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  return times[samples / 2];
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::fprintf(stderr, "this example needs two GPUs, there %s %d\n", devices == 1 ? "is" : "are", devices);
    return 1;
  }
  int granted = 0;
  CHECK(cudaDeviceCanAccessPeer(&granted, 0, 1));
  if (!granted) {
    std::fprintf(stderr, "GPU 0 has no peer access to GPU 1: see nvidia-smi topo -p2p r\n");
    return 1;
  }

  constexpr size_t kLargest = size_t{64} << 20;
  std::uint8_t *source = nullptr, *destination = nullptr, *stage = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&destination, kLargest));
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&source, kLargest));
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  CHECK(cudaMallocHost(&stage, kLargest));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  std::vector<std::uint8_t> sent(kLargest), received(kLargest);
  for (size_t i = 0; i < kLargest; ++i) sent[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
  CHECK(cudaMemcpy(source, sent.data(), kLargest, cudaMemcpyDefault));

  // Sentinel, one transfer, read back through the destination's own GPU: no number without right bytes.
  const auto verify = [&](const std::function<void()>& transfer, size_t bytes) {
    CHECK(cudaSetDevice(1));
    CHECK(cudaMemset(destination, 0xA5, bytes));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    transfer();
    CHECK(cudaSetDevice(1));
    CHECK(cudaMemcpy(received.data(), destination, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaSetDevice(0));
    if (!std::equal(sent.begin(), sent.begin() + bytes, received.begin())) {
      std::fprintf(stderr, "%zu bytes did not arrive as they were sent\n", bytes);
      std::exit(1);
    }
  };

  std::printf("%12s %12s %12s %8s\n", "bytes", "peer_us", "staged_us", "ratio");
  for (size_t bytes = 8; bytes <= kLargest; bytes *= 2) {
    const auto peer = [&] {
      CHECK(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, stream));
      spin(stream);
    };
    const auto staged = [&] {
      CHECK(cudaMemcpyAsync(stage, source, bytes, cudaMemcpyDeviceToHost, stream));
      CHECK(cudaMemcpyAsync(destination, stage, bytes, cudaMemcpyHostToDevice, stream));
      spin(stream);
    };
    verify(peer, bytes);
    verify(staged, bytes);
    const int samples = bytes > (size_t{1} << 20) ? 50 : 500;
    const double peer_us = median_us(peer, samples);
    const double staged_us = median_us(staged, samples);
    std::printf("%12zu %12.2f %12.2f %8.2f\n", bytes, peer_us, staged_us, staged_us / peer_us);
  }

  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(stage));
  CHECK(cudaFree(source));
  CHECK(cudaFree(destination));
  return 0;
}
