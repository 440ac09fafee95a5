// Chapter 04: what each call of CUDA's peer-to-peer API costs the host, and what happens with peer access
// off. Build and run on a machine with two GPUs that grant each other peer access:
//   nvcc -O2 -std=c++17 -o 04_peer_api 04_peer_api.cu && ./04_peer_api
// Prints the attributes of both ordered pairs, the time of each preparing call, and the time of one copy by
// each copying call, until the host knows that it is complete. Exits with 1 when bytes arrive wrong.
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

using Clock = std::chrono::steady_clock;

static double since_us(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

static double median_us(int samples, const std::function<double()>& once) {
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) times.push_back(once());
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  return times[samples / 2];
}

// Access that somebody else has turned on already is no failure. The error is taken out of the runtime's
// state, or the next cudaGetLastError would report it.
static void enable(int peer) {
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled)
    (void)cudaGetLastError();
  else
    CHECK(status);
}

static void attributes(int from, int to) {
  int access = 0, rank = 0, atomics = 0, arrays = 0;
  CHECK(cudaDeviceCanAccessPeer(&access, from, to));
  CHECK(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, from, to));
  CHECK(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from, to));
  CHECK(cudaDeviceGetP2PAttribute(&arrays, cudaDevP2PAttrCudaArrayAccessSupported, from, to));
  std::printf("GPU %d -> GPU %d: access %d, native atomics %d, array access %d, performance rank %d\n", from,
              to, access, atomics, arrays, rank);
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
  attributes(0, 1);
  attributes(1, 0);

  constexpr size_t kLargest = size_t{4} << 20;
  std::uint8_t *source = nullptr, *destination = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&destination, kLargest));
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&source, kLargest));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  // Preparing calls. The very first enabling stands by itself: it is not like the later ones.
  const auto first = Clock::now();
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  std::printf("\n%-34s %12.2f us\n", "cudaDeviceEnablePeerAccess, first", since_us(first));
  const auto line = [](const char* name, double us) { std::printf("%-34s %12.2f us\n", name, us); };
  line("cudaDeviceCanAccessPeer", median_us(1000, [] {
         int can = 0;
         const auto begin = Clock::now();
         CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
         return since_us(begin);
       }));
  line("cudaDeviceEnablePeerAccess, again", median_us(1000, [] {
         const auto begin = Clock::now();
         const cudaError_t status = cudaDeviceEnablePeerAccess(1, 0);
         const double us = since_us(begin);
         if (status != cudaErrorPeerAccessAlreadyEnabled) CHECK(status);
         (void)cudaGetLastError();
         return us;
       }));
  line("cudaDeviceDisablePeerAccess", median_us(50, [] {
         enable(1);
         const auto begin = Clock::now();
         CHECK(cudaDeviceDisablePeerAccess(1));
         return since_us(begin);
       }));
  line("cudaDeviceEnablePeerAccess, later", median_us(50, [] {
         const auto begin = Clock::now();
         CHECK(cudaDeviceEnablePeerAccess(1, 0));
         const double us = since_us(begin);
         CHECK(cudaDeviceDisablePeerAccess(1));
         return us;
       }));

  std::vector<std::uint8_t> sent(kLargest), received(kLargest);
  for (size_t i = 0; i < kLargest; ++i) sent[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
  CHECK(cudaMemcpy(source, sent.data(), kLargest, cudaMemcpyDefault));

  const auto verify = [&](const char* name, const std::function<void()>& copy, size_t bytes) {
    CHECK(cudaSetDevice(1));
    CHECK(cudaMemset(destination, 0xA5, bytes));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    copy();
    CHECK(cudaSetDevice(1));
    CHECK(cudaMemcpy(received.data(), destination, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaSetDevice(0));
    if (std::equal(sent.begin(), sent.begin() + bytes, received.begin())) return;
    std::fprintf(stderr, "%s: %zu bytes did not arrive as they were sent\n", name, bytes);
    std::exit(1);
  };

  for (const bool access : {true, false}) {
    if (access)
      enable(1);
    else
      CHECK(cudaDeviceDisablePeerAccess(1));
    std::printf("\npeer access %s\n%-34s %12s %12s\n", access ? "on" : "off", "copy", "bytes", "us");
    for (const size_t bytes : {size_t{8}, size_t{64} << 10, kLargest}) {
      const auto async = [&] {
        CHECK(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, stream));
        CHECK(cudaStreamSynchronize(stream));
      };
      const auto peer = [&] {
        CHECK(cudaMemcpyPeerAsync(destination, 1, source, 0, bytes, stream));
        CHECK(cudaStreamSynchronize(stream));
      };
      const auto box = [&] {
        cudaMemcpy3DPeerParms parameters = {};
        parameters.srcDevice = 0;
        parameters.dstDevice = 1;
        parameters.srcPtr = make_cudaPitchedPtr(source, bytes, bytes, 1);
        parameters.dstPtr = make_cudaPitchedPtr(destination, bytes, bytes, 1);
        parameters.extent = make_cudaExtent(bytes, 1, 1);
        CHECK(cudaMemcpy3DPeerAsync(&parameters, stream));
        CHECK(cudaStreamSynchronize(stream));
      };
      // Takes no stream and does not wait for the host: the end is known only by waiting for the whole
      // device.
      const auto blocking = [&] {
        CHECK(cudaMemcpyPeer(destination, 1, source, 0, bytes));
        CHECK(cudaDeviceSynchronize());
      };
      const std::pair<const char*, std::function<void()>> calls[] = {{"cudaMemcpyAsync, default", async},
                                                                     {"cudaMemcpyPeerAsync", peer},
                                                                     {"cudaMemcpy3DPeerAsync", box},
                                                                     {"cudaMemcpyPeer", blocking}};
      for (const auto& [name, copy] : calls) {
        verify(name, copy, bytes);
        const double us = median_us(500, [&copy = copy] {
          const auto begin = Clock::now();
          copy();
          return since_us(begin);
        });
        std::printf("%-34s %12zu %12.2f\n", name, bytes, us);
      }
    }
  }

  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(source));
  CHECK(cudaFree(destination));
  return 0;
}
