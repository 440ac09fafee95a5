// What the environment orders, read once; README.md has the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fake {

std::string setting(const char* name);
long number(const char* name, long otherwise);

// CLOCK_MONOTONIC_RAW.
std::uint64_t nowNs();

// Ways in which the path between two GPUs misbehaves (P2PLAB_FAKE_MODE).
enum class Fault { kNoPeer, kMirror, kZeroWrite, kHang, kLostFlag, kCorrupt };

// Whether the fault is ordered for what moves from one device to another. P2PLAB_FAKE_PAIRS names them by
// their place in the machine.
bool faulty(Fault fault, int from, int to);
// The same for GPUs by their place in the machine.
bool faultyInMachine(Fault fault, int from, int to);

// Why there is no peer access: what stands behind the colon in `no-peer:REASON`; empty when nothing does.
std::string noPeerReason();

// The byte of an allocation that writes through a corrupting window damage (P2PLAB_FAKE_CORRUPT_AT).
std::size_t corruptOffset();

// How long freeing memory of a GPU takes: the driver waits for the work of the GPU first
// (P2PLAB_FAKE_FREE_NS).
std::uint64_t freeNs();

// How long a copy takes, at least.
std::uint64_t copyNs();

}  // namespace fake
