// How puts tell their receivers that the data is there, the same for host code, for kernels.cu and for the
// stand-in driver: the lines of the protocols, and what a put or receive keeps on its GPU from one iteration
// to the next, so that a launch, or a graph, needs no new arguments.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define P2P_HOST_DEVICE __host__ __device__
#else
#define P2P_HOST_DEVICE
#endif

namespace p2p {

// LL: lines of 8 bytes, 4 of data and 4 of flag; a thread stores two lines at once.
inline constexpr std::uint64_t kLlPayloadBytes = 8;
inline constexpr std::uint64_t kLlWindowBytes = 16;
// LL128: lines of 128 bytes, 15 words of data and one of flag; 8 threads store a line, a warp four.
inline constexpr std::uint64_t kLl128Words = 15;
inline constexpr std::uint64_t kLl128LineBytes = 128;
inline constexpr unsigned kLl128LinesOfWarp = 4;

// What a put or a receive keeps between iterations.
struct TransferCell {
  std::uint64_t iteration;  // iterations done
  std::uint64_t limitNs;    // how long a receive waits before it gives up
  std::uint64_t arrivals;   // blocks of the running kernel that are done
};

// The number that marks the data of an iteration (from 1) where a window takes `puts` puts in each, counted
// from 0. Receivers take newer data for theirs: a put that runs ahead overwrites what it carried before.
P2P_HOST_DEVICE inline std::uint64_t transferNumber(std::uint64_t iteration, std::uint64_t index,
                                                    std::uint64_t puts) {
  return (iteration - 1) * puts + index + 1;
}

// Whether a flag of 32 bits has reached a number, whose upper bits it cannot hold.
P2P_HOST_DEVICE inline bool llReached(std::uint32_t flag, std::uint64_t number) {
  return static_cast<std::int32_t>(flag - static_cast<std::uint32_t>(number)) >= 0;
}

// What a gate kernel says when it is over.
enum GateOutcome : std::uint32_t { kGateWaiting = 0, kGateOpened = 1, kGateGaveUp = 2 };

}  // namespace p2p
