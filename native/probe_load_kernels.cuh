// Load latency: a chain of nodes is linked, looked over by who owns and who reads it, and followed by one
// thread, so that what is timed is a chain of dependent loads and not their overlap.
#pragma once

#include "probe_device.cuh"

namespace p2p {

__device__ inline Word nextNode(Word node, Word nodes, const std::uint32_t* table) {
  if (table) return table[node];
  return node + 1 == nodes ? 0 : node + 1;
}

}  // namespace p2p

// Links nodes of a chain, `stride` bytes apart, by address: node i to node next[i], or to the one after it
// without a table.
extern "C" __global__ void p2p_probe_link(p2p::Word base, p2p::Word stride, p2p::Word nodes,
                                          const std::uint32_t* next) {
  const p2p::Word step = p2p::Word(gridDim.x) * blockDim.x;
  for (p2p::Word i = p2p::Word(blockIdx.x) * blockDim.x + threadIdx.x; i < nodes; i += step) {
    *reinterpret_cast<p2p::Word*>(base + i * stride) = base + p2p::nextNode(i, nodes, next) * stride;
  }
}

// How the GPU that runs it sees a chain. result[0]: links that lead out of the chain or, where `exact`, not
// where the table (without one: the order) says; result[1]: sum of the numbers of the nodes that are led to.
extern "C" __global__ void p2p_probe_survey(p2p::Word base, p2p::Word stride, p2p::Word nodes,
                                            const std::uint32_t* next, std::uint32_t exact,
                                            p2p::Word* result) {
  const p2p::Word step = p2p::Word(gridDim.x) * blockDim.x;
  p2p::Word wrong = 0;
  p2p::Word sum = 0;
  for (p2p::Word i = p2p::Word(blockIdx.x) * blockDim.x + threadIdx.x; i < nodes; i += step) {
    const p2p::Word offset = p2p::loadRelaxed(base + i * stride) - base;
    const p2p::Word to = offset / stride;
    const bool inside = to < nodes && to * stride == offset;
    wrong += !inside || (exact && to != p2p::nextNode(i, nodes, next));
    sum += inside ? to : 0;
  }
  if (wrong) atomicAdd(&result[0], wrong);
  atomicAdd(&result[1], sum);
}

// Reads a stretch of memory with all threads and keeps nothing: pushes everything else out of the L2, or,
// with a larger stride, brings a chain into it.
extern "C" __global__ void p2p_probe_touch(p2p::Word base, p2p::Word stride, p2p::Word count,
                                           p2p::Word* result) {
  const p2p::Word step = p2p::Word(gridDim.x) * blockDim.x;
  p2p::Word mixed = 0;
  for (p2p::Word i = p2p::Word(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    p2p::Word value;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(base + i * stride) : "memory");
    mixed ^= value;
  }
  // The loads need a use, and what they give is as good as never this.
  if (mixed == 0x5F3759DF5F3759DFull) atomicAdd(&result[1], 1);
}

// Follows a chain from the node at `start`. Of the grid only the block `block` works: the first blocks of a
// grid lie on different SMs, and the report says on which this one was.
extern "C" __global__ void p2p_probe_load(p2p::Word start, p2p::Word accesses, std::uint32_t block,
                                          p2p::Word limitNs, p2p::ProbeReport* report) {
  using namespace p2p;
  if (blockIdx.x != block || threadIdx.x != 0) return;
  const Word limit = globalTimer() + limitNs;
  ProbeState state = ProbeState::kDone;
  Word node = start;
  Word left = accesses;
  Stopwatch watch;
  watch.start();
  while (left > 0) {
    const Word piece = left < kPiece ? left : kPiece;
    // The address of a load is what the one before gave; counting goes on beside it and costs nothing.
#pragma unroll 16
    for (Word i = 0; i < piece; ++i) node = loadRelaxed(node);
    left -= piece;
    if (left > 0 && globalTimer() > limit) {
      state = ProbeState::kExpired;
      break;
    }
  }
  watch.stop(node);
  writeReport(report, state, accesses - left, watch, node);
}
