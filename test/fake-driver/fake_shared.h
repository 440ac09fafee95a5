// Memory of one process in another: what a handle says of it, and how it is reached.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fake_memory.h"

namespace fake {

// Names the process, its memory file and the place in it.
struct Shared {
  std::uint64_t magic;
  std::uint64_t offset;
  std::uint64_t bytes;
  int process;
  int file;
  int place;  // of the GPU in the machine
};

inline constexpr std::uint64_t kSharedMagic = 0x6b61662d63706932;

Shared sharedOf(const Allocation& allocation);

// The device that has a place in the machine; -1 where CUDA does not show it.
int deviceAt(int place);

// The other process's memory, mapped into this one; nullptr when it cannot be reached.
std::byte* mapShared(const Shared& shared);

}  // namespace fake
