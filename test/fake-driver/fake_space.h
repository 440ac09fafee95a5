// The address space of the stand-in's device memory. An address that the program sees lies in a reserved
// range that nobody may touch, so that host code that reads device memory crashes as it would with a real
// driver; the bytes behind it are mapped a second time for the workers, from a file in memory that another
// process can open.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../native/cuda_api.h"

namespace fake {

// New memory holds no zeros: whoever relies on them is found out. Only so much of it, because touching a page
// makes it real.
inline constexpr std::size_t kGarbageBytes = 64 << 10;
inline constexpr int kGarbage = 0xcd;

// A range of addresses that no one else has; 0 when there is none. Ranges are used again as late as possible,
// so that a stale address hits nothing.
p2p::cu::DevicePtr takeRange(std::size_t bytes);

// Gives a range back and drops the bytes behind it.
void giveRange(p2p::cu::DevicePtr address);

// Whether an address is one of device memory, allocated or not: for the host it means nothing.
bool inDeviceSpace(p2p::cu::DevicePtr address);

// The bytes behind an address of such a range.
std::byte* bytesBehind(p2p::cu::DevicePtr address);

// Where those bytes stand in the file, and the file.
std::uint64_t fileOffset(p2p::cu::DevicePtr address);
int memoryFile();

}  // namespace fake
