// Chapter 08: what has to be done before a network card may touch memory, as far as it can be done without a
// card: page-locking host memory, and a DMA-BUF of GPU memory, which is what a card's driver is handed for
// GPUDirect RDMA. Build and run on a machine with one GPU:
//   nvcc -O2 -std=c++17 -o 08_register_cost 08_register_cost.cu -lcuda && ./08_register_cost
// Prints, for each size, the median cost of cudaHostRegister and its undoing, and of
// cuMemGetHandleForAddressRange where the driver has it. Exits with 1 when a call fails or registered memory
// does not carry bytes right.
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check((call), #call, __LINE__)

static double us_since(const std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

static double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// Whether bytes go through registered memory to the GPU and back unharmed.
static bool carries(std::uint8_t* host, std::uint8_t* device, size_t bytes) {
  std::vector<std::uint8_t> sent(bytes);
  for (size_t i = 0; i < bytes; ++i) sent[i] = static_cast<std::uint8_t>(i * 2654435761u >> 11);
  std::memcpy(host, sent.data(), bytes);
  CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  std::memset(host, 0, bytes);
  CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
  return std::memcmp(host, sent.data(), bytes) == 0;
}

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 1) {
    std::fprintf(stderr, "this example needs a GPU, there is none that can be used\n");
    return 1;
  }
  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(nullptr));
  int dmabuf = 0;
  const bool told = cuDeviceGetAttribute(&dmabuf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0) == CUDA_SUCCESS;
  std::printf("DMA-BUF of GPU memory: %s\n",
              told && dmabuf ? "supported" : "not supported by this driver or kernel");

  constexpr size_t kLargest = size_t{64} << 20;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* host = static_cast<std::uint8_t*>(std::aligned_alloc(page, kLargest));
  std::uint8_t* device = nullptr;
  CHECK(cudaMalloc(&device, kLargest));
  if (host == nullptr) {
    std::fprintf(stderr, "no host memory\n");
    return 1;
  }
  std::memset(host, 1, kLargest);

  std::printf("%12s %14s %14s %14s\n", "bytes", "register_us", "unregister_us", "dma_buf_us");
  for (size_t bytes = size_t{64} << 10; bytes <= kLargest; bytes *= 4) {
    std::vector<double> in, out, handles;
    for (int i = 0; i < 30; ++i) {
      auto begin = std::chrono::steady_clock::now();
      CHECK(cudaHostRegister(host, bytes, cudaHostRegisterDefault));
      in.push_back(us_since(begin));
      if (i == 0 && !carries(host, device, bytes)) {
        std::fprintf(stderr, "%zu bytes did not come back as they were sent\n", bytes);
        return 1;
      }
      begin = std::chrono::steady_clock::now();
      CHECK(cudaHostUnregister(host));
      out.push_back(us_since(begin));
      if (!told || !dmabuf) continue;
      int file = -1;
      begin = std::chrono::steady_clock::now();
      const CUresult result = cuMemGetHandleForAddressRange(&file, reinterpret_cast<CUdeviceptr>(device),
                                                            bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
      if (result != CUDA_SUCCESS) continue;
      handles.push_back(us_since(begin));
      close(file);
    }
    std::printf("%12zu %14.1f %14.1f ", bytes, median(in), median(out));
    if (handles.empty())
      std::printf("%14s\n", "-");
    else
      std::printf("%14.1f\n", median(handles));
  }
  CHECK(cudaFree(device));
  std::free(host);
  return 0;
}
