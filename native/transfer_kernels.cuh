// Kernels that move bytes, keep a stream busy, or hold it back. All parameters are 64 bits wide. Each spin
// ends at a deadline of the GPU's global timer.
#pragma once

#include "transfer_layout.h"

namespace p2p {

// Loads that are in flight at once, for a thread.
constexpr unsigned kUnroll = 8;
// Polls of a flag between two looks at the timer.
constexpr unsigned kPollsPerLook = 64;

__device__ inline std::uint64_t timerNs() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ inline std::uint64_t threadOfGrid() {
  return std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline std::uint64_t threadsOfGrid() {
  return std::uint64_t(gridDim.x) * blockDim.x;
}

// Copies `count` elements: all threads of the grid side by side, several loads of each in flight.
template <typename Element>
__device__ void copyElements(Element* dst, const Element* src, std::uint64_t count) {
  const std::uint64_t step = threadsOfGrid();
  std::uint64_t at = threadOfGrid();
  Element held[kUnroll];
  for (; at + (kUnroll - 1) * step < count; at += kUnroll * step) {
#pragma unroll
    for (unsigned i = 0; i < kUnroll; ++i) held[i] = src[at + i * step];
#pragma unroll
    for (unsigned i = 0; i < kUnroll; ++i) dst[at + i * step] = held[i];
  }
#pragma unroll
  for (unsigned i = 0; i < kUnroll; ++i) {
    if (at + i * step < count) held[i] = src[at + i * step];
  }
#pragma unroll
  for (unsigned i = 0; i < kUnroll; ++i) {
    if (at + i * step < count) dst[at + i * step] = held[i];
  }
}

// Copies with the widest element that both addresses allow, and the bytes before and after it one by one.
template <typename Element>
__device__ void copyWide(std::uint8_t* dst, const std::uint8_t* src, std::uint64_t bytes) {
  std::uint64_t head =
      (sizeof(Element) - reinterpret_cast<std::uint64_t>(dst) % sizeof(Element)) % sizeof(Element);
  if (head > bytes) head = bytes;
  const std::uint64_t count = (bytes - head) / sizeof(Element);
  const std::uint64_t tail = head + count * sizeof(Element);
  copyElements(reinterpret_cast<Element*>(dst + head), reinterpret_cast<const Element*>(src + head), count);
  const std::uint64_t edge = threadOfGrid();
  if (edge < head) dst[edge] = src[edge];
  if (edge < bytes - tail) dst[tail + edge] = src[tail + edge];
}

__device__ inline void copyBytes(std::uint8_t* dst, const std::uint8_t* src, std::uint64_t bytes) {
  const std::uint64_t apart = reinterpret_cast<std::uint64_t>(dst) ^ reinterpret_cast<std::uint64_t>(src);
  if (apart % 16 == 0)
    copyWide<uint4>(dst, src, bytes);
  else if (apart % 8 == 0)
    copyWide<std::uint64_t>(dst, src, bytes);
  else if (apart % 4 == 0)
    copyWide<std::uint32_t>(dst, src, bytes);
  else
    copyElements(dst, src, bytes);
}

__device__ inline std::uint64_t loadFlag(const std::uint64_t* flag) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}

__device__ inline void storeFlag(std::uint64_t* flag, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

__device__ inline uint4 loadLine(const uint4* line) {
  uint4 value;
  asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(line)
               : "memory");
  return value;
}

__device__ inline void storeLine(uint4* line, uint4 value) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(line), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ inline ulonglong2 loadPair(const ulonglong2* pair) {
  ulonglong2 value;
  asm volatile("ld.volatile.global.v2.u64 {%0,%1}, [%2];"
               : "=l"(value.x), "=l"(value.y)
               : "l"(pair)
               : "memory");
  return value;
}

__device__ inline void storePair(ulonglong2* pair, ulonglong2 value) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1,%2};" ::"l"(pair), "l"(value.x), "l"(value.y) : "memory");
}

// The iteration that a kernel is in.
__device__ inline std::uint64_t iterationOf(const TransferCell* cell) {
  return *const_cast<const volatile std::uint64_t*>(&cell->iteration) + 1;
}

// Every thread calls it when its work is done; true for one thread of the grid, in the block that came last.
// What all threads stored before is then ordered before what that thread stores, for the whole system.
__device__ inline bool lastOfGrid(TransferCell* cell) {
  __syncthreads();
  if (threadIdx.x != 0) return false;
  __threadfence_system();
  const bool last = atomicAdd(reinterpret_cast<unsigned long long*>(&cell->arrivals), 1ull) == gridDim.x - 1;
  if (last) __threadfence_system();
  return last;
}

__device__ inline void endIteration(TransferCell* cell, std::uint64_t iteration) {
  cell->arrivals = 0;
  cell->iteration = iteration;
}

// The deadline of a spin.
class Deadline {
 public:
  __device__ explicit Deadline(std::uint64_t limitNs) : begin_(timerNs()), limitNs_(limitNs) {}

  // Asked once a poll; looks at the timer now and then.
  __device__ bool passed() {
    if (++polls_ % kPollsPerLook != 0) return false;
    return timerNs() - begin_ >= limitNs_;
  }

 private:
  std::uint64_t begin_;
  std::uint64_t limitNs_;
  unsigned polls_ = 0;
};

// Tells the host, in page-locked memory, that a receive gave up.
__device__ inline void report(std::uint32_t* where) {
  *static_cast<volatile std::uint32_t*>(where) = 1;
  __threadfence_system();
}

}  // namespace p2p

extern "C" __global__ void __launch_bounds__(512)
    p2p_copy(std::uint8_t* dst, const std::uint8_t* src, std::uint64_t bytes) {
  p2p::copyBytes(dst, src, bytes);
}

// Runs for `ns` nanoseconds, in one thread. Its bound, should the global timer stand still: a number of clock
// cycles that no GPU passes sooner.
extern "C" __global__ void p2p_compute(std::uint64_t ns) {
  const std::uint64_t begin = p2p::timerNs();
  const long long cycles = clock64();
  while (p2p::timerNs() - begin < ns && static_cast<std::uint64_t>(clock64() - cycles) < 4 * ns) {
  }
}

// Holds its stream, in one thread, until the host stores `number` or a later one into `flag`, in page-locked
// memory; gives up after `limitNs`.
extern "C" __global__ void p2p_gate(const std::uint32_t* flag, std::uint64_t number, std::uint64_t limitNs,
                                    std::uint32_t* outcome) {
  const std::uint64_t begin = p2p::timerNs();
  std::uint32_t result = p2p::kGateOpened;
  while (!p2p::llReached(*static_cast<const volatile std::uint32_t*>(flag), number)) {
    if (p2p::timerNs() - begin < limitNs) continue;
    result = p2p::kGateGaveUp;
    break;
  }
  *static_cast<volatile std::uint32_t*>(outcome) = result;
  __threadfence_system();
}

extern "C" __global__ void __launch_bounds__(512)
    p2p_put_flag(std::uint8_t* window, const std::uint8_t* src, std::uint64_t bytes, p2p::TransferCell* cell,
                 std::uint64_t index, std::uint64_t puts, std::uint64_t* flag) {
  const std::uint64_t iteration = p2p::iterationOf(cell);
  p2p::copyBytes(window, src, bytes);
  if (!p2p::lastOfGrid(cell)) return;
  p2p::storeFlag(flag, p2p::transferNumber(iteration, index, puts));
  p2p::endIteration(cell, iteration);
}

extern "C" __global__ void __launch_bounds__(512)
    p2p_put_ll(uint4* window, const uint2* src, std::uint64_t bytes, p2p::TransferCell* cell,
               std::uint64_t index, std::uint64_t puts) {
  const std::uint64_t iteration = p2p::iterationOf(cell);
  const auto flag = static_cast<std::uint32_t>(p2p::transferNumber(iteration, index, puts));
  const std::uint64_t count = bytes / p2p::kLlPayloadBytes;
  for (std::uint64_t i = p2p::threadOfGrid(); i < count; i += p2p::threadsOfGrid()) {
    const uint2 data = src[i];
    p2p::storeLine(window + i, make_uint4(data.x, flag, data.y, flag));
  }
  if (p2p::lastOfGrid(cell)) p2p::endIteration(cell, iteration);
}

// Thread `lane % 8` of a line holds words 2 × (lane % 8) and the one after it; the last holds the flag
// instead of a second word. All threads of a warp store at once, so that a line arrives whole.
extern "C" __global__ void __launch_bounds__(512)
    p2p_put_ll128(ulonglong2* window, const unsigned long long* src, std::uint64_t bytes,
                  p2p::TransferCell* cell, std::uint64_t index, std::uint64_t puts) {
  const std::uint64_t iteration = p2p::iterationOf(cell);
  const std::uint64_t number = p2p::transferNumber(iteration, index, puts);
  const std::uint64_t words = bytes / 8;
  const std::uint64_t lines = (words + p2p::kLl128Words - 1) / p2p::kLl128Words;
  const unsigned part = threadIdx.x % 8;
  const unsigned lineOfWarp = threadIdx.x % 32 / 8;
  const std::uint64_t step = p2p::threadsOfGrid() / 8;
  for (std::uint64_t first = p2p::threadOfGrid() / 32 * p2p::kLl128LinesOfWarp; first < lines;
       first += step) {
    const std::uint64_t line = first + lineOfWarp;
    const std::uint64_t word = line * p2p::kLl128Words + 2 * part;
    ulonglong2 value;
    value.x = word < words ? src[word] : 0;
    value.y = part == 7 ? number : word + 1 < words ? src[word + 1] : 0;
    __syncwarp();
    if (line < lines) p2p::storePair(window + line * 8 + part, value);
  }
  if (p2p::lastOfGrid(cell)) p2p::endIteration(cell, iteration);
}

// Waits for a put by flag; the payload is in place. One thread.
extern "C" __global__ void p2p_receive_flag(p2p::TransferCell* cell, std::uint64_t index, std::uint64_t puts,
                                            const std::uint64_t* flag, std::uint32_t* expired) {
  const std::uint64_t iteration = p2p::iterationOf(cell);
  const std::uint64_t number = p2p::transferNumber(iteration, index, puts);
  p2p::Deadline deadline(cell->limitNs);
  while (p2p::loadFlag(flag) < number) {
    if (!deadline.passed()) continue;
    p2p::report(expired);
    break;
  }
  p2p::endIteration(cell, iteration);
}

extern "C" __global__ void __launch_bounds__(512)
    p2p_receive_ll(uint2* dst, const uint4* window, std::uint64_t bytes, p2p::TransferCell* cell,
                   std::uint64_t index, std::uint64_t puts, std::uint32_t* expired) {
  const std::uint64_t iteration = p2p::iterationOf(cell);
  const std::uint64_t number = p2p::transferNumber(iteration, index, puts);
  const std::uint64_t count = bytes / p2p::kLlPayloadBytes;
  p2p::Deadline deadline(cell->limitNs);
  bool late = false;
  for (std::uint64_t i = p2p::threadOfGrid(); i < count && !late; i += p2p::threadsOfGrid()) {
    uint4 line = p2p::loadLine(window + i);
    while (!(p2p::llReached(line.y, number) && p2p::llReached(line.w, number))) {
      if (deadline.passed()) {
        late = true;
        break;
      }
      line = p2p::loadLine(window + i);
    }
    if (!late) dst[i] = make_uint2(line.x, line.z);
  }
  if (late) p2p::report(expired);
  if (p2p::lastOfGrid(cell)) p2p::endIteration(cell, iteration);
}

// A warp takes four lines at a time and reads them again until the flags of all are there: what a thread
// holds of a line belongs to the flag that was loaded with it.
extern "C" __global__ void __launch_bounds__(512)
    p2p_receive_ll128(unsigned long long* dst, const ulonglong2* window, std::uint64_t bytes,
                      p2p::TransferCell* cell, std::uint64_t index, std::uint64_t puts,
                      std::uint32_t* expired) {
  constexpr unsigned kWarp = 0xffffffffu;
  const std::uint64_t iteration = p2p::iterationOf(cell);
  const std::uint64_t number = p2p::transferNumber(iteration, index, puts);
  const std::uint64_t words = bytes / 8;
  const std::uint64_t lines = (words + p2p::kLl128Words - 1) / p2p::kLl128Words;
  const unsigned part = threadIdx.x % 8;
  const unsigned lineOfWarp = threadIdx.x % 32 / 8;
  const std::uint64_t step = p2p::threadsOfGrid() / 8;
  p2p::Deadline deadline(cell->limitNs);
  bool late = false;
  // The bound is that of the warp's first line: all its threads go through the loop together.
  for (std::uint64_t first = p2p::threadOfGrid() / 32 * p2p::kLl128LinesOfWarp; first < lines && !late;
       first += step) {
    const std::uint64_t line = first + lineOfWarp;
    const bool mine = line < lines;
    ulonglong2 value = make_ulonglong2(0, 0);
    for (;;) {
      if (mine) value = p2p::loadPair(window + line * 8 + part);
      if (__all_sync(kWarp, !mine || part != 7 || value.y >= number)) break;
      if (__any_sync(kWarp, deadline.passed())) {
        late = true;
        break;
      }
    }
    const std::uint64_t word = line * p2p::kLl128Words + 2 * part;
    if (!late && mine && word < words) dst[word] = value.x;
    if (!late && mine && part != 7 && word + 1 < words) dst[word + 1] = value.y;
  }
  if (late && threadIdx.x % 32 == 0) p2p::report(expired);
  if (p2p::lastOfGrid(cell)) p2p::endIteration(cell, iteration);
}
