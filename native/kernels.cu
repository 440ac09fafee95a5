// Device code of the addon. kernels.ptx is built from it by build-ptx.sh and must load on Volta and on
// drivers of the CUDA 11.0 age, so nothing newer is used here.
// The order is that of the functions in kernels.ptx.
// clang-format off
#include "pattern.h"
#include "transfer_kernels.cuh"
#include "probe_load_kernels.cuh"
#include "probe_pair_kernels.cuh"
#include "probe_single_kernels.cuh"
// clang-format on

// Writes the pattern of a seed from `offset` on, or its complement, over `bytes` bytes.
extern "C" __global__ void p2p_fill(std::uint8_t* data, std::uint64_t bytes, std::uint64_t seed,
                                    std::uint64_t offset, std::uint32_t complement) {
  const std::uint64_t step = std::uint64_t(gridDim.x) * blockDim.x;
  for (std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes; i += step)
    data[i] = complement ? p2p::sentinelByte(seed, offset + i) : p2p::patternByte(seed, offset + i);
}

// Adds to `wrong` how many of `bytes` bytes differ from the pattern of a seed from `offset` on.
extern "C" __global__ void p2p_check(const std::uint8_t* data, std::uint64_t bytes, std::uint64_t seed,
                                     std::uint64_t offset, unsigned long long* wrong) {
  const std::uint64_t step = std::uint64_t(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes; i += step)
    mine += data[i] != p2p::patternByte(seed, offset + i);
  if (mine) atomicAdd(wrong, mine);
}

// Does nothing: what is left is the cost of a launch or of a graph's node.
extern "C" __global__ void p2p_empty() {}
