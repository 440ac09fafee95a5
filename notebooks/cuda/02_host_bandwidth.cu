// Chapter 02: what the PCIe link of each GPU carries, from and to page-locked and pageable host memory.
// Build and run on a machine with an NVIDIA GPU:
//   nvcc -O2 -std=c++17 -o 02_host_bandwidth 02_host_bandwidth.cu && ./02_host_bandwidth
// Prints for each GPU its PCI address and NUMA node, then the rate of one copy at a time by direction, memory
// and size. Exits with 1 when bytes come back wrong.
#include <cuda_runtime.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

static void check(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check((call), #call, __LINE__)

// First line of a file of sysfs; "unknown" where there is none, as in many virtual machines.
static std::string lineOf(const std::string& path) {
  std::string text = "unknown";
  if (FILE* file = std::fopen(path.c_str(), "r")) {
    char line[64] = {};
    if (std::fgets(line, sizeof line, file))
      text = std::string(line, std::string(line).find_last_not_of(" \n") + 1);
    std::fclose(file);
  }
  return text;
}

static double median_us(int samples, const std::function<void()>& once) {
  using clock = std::chrono::steady_clock;
  for (int i = 0; i < 3; ++i) once();  // warm-up: the link leaves its idle speed
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) {
    const auto begin = clock::now();
    once();
    times.push_back(std::chrono::duration<double, std::micro>(clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  return times[samples / 2];
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 1) {
    std::fprintf(stderr, "this example needs a GPU\n");
    return 1;
  }
  if (devices < 2) std::printf("one GPU: nothing to compare it with\n");

  constexpr size_t kLargest = size_t{64} << 20;
  std::vector<std::uint8_t> pageable(kLargest), seen(kLargest);
  for (size_t i = 0; i < kLargest; ++i) pageable[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);

  for (int gpu = 0; gpu < devices; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    char address[32] = {};
    CHECK(cudaDeviceGetPCIBusId(address, sizeof address, gpu));
    std::transform(address, address + sizeof address, address,
                   [](unsigned char c) { return std::tolower(c); });
    const std::string folder = std::string("/sys/bus/pci/devices/") + address;
    std::uint8_t *device = nullptr, *pinned = nullptr;
    CHECK(cudaMalloc(&device, kLargest));
    CHECK(cudaMallocHost(&pinned, kLargest));
    std::copy(pageable.begin(), pageable.end(), pinned);

    std::printf("\nGPU %d at %s, NUMA node %s\n%-8s %-9s %12s %12s %8s\n", gpu, address,
                lineOf(folder + "/numa_node").c_str(), "way", "memory", "bytes", "us", "GB/s");
    for (const size_t bytes : {size_t{64} << 10, size_t{1} << 20, kLargest}) {
      for (const bool locked : {true, false}) {
        std::uint8_t* host = locked ? pinned : pageable.data();
        for (const bool toGpu : {true, false}) {
          const auto copy = [&] {
            if (toGpu)
              CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
            else
              CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
          };
          const double us = median_us(bytes > (size_t{1} << 20) ? 30 : 200, copy);
          std::printf("%-8s %-9s %12zu %12.2f %8.2f\n", toGpu ? "to-gpu" : "to-host",
                      locked ? "pinned" : "pageable", bytes, us, bytes / (us * 1e3));
        }
      }
    }
    // The link was at work just now, so that this is not its idle speed.
    std::printf("link: %s now, %s at most, x%s of x%s\n", lineOf(folder + "/current_link_speed").c_str(),
                lineOf(folder + "/max_link_speed").c_str(), lineOf(folder + "/current_link_width").c_str(),
                lineOf(folder + "/max_link_width").c_str());
    CHECK(cudaMemset(device, 0, kLargest));
    CHECK(cudaMemcpy(device, pinned, kLargest, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(seen.data(), device, kLargest, cudaMemcpyDeviceToHost));
    if (!std::equal(seen.begin(), seen.end(), pageable.begin())) {
      std::fprintf(stderr, "GPU %d: bytes did not come back as they were sent\n", gpu);
      return 1;
    }
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
  }
  return 0;
}
