// A program in plain C++: what the typed arrays of kernel/lab/native.ts say, checked completely, so that
// nothing behind it needs to doubt an index or a size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace p2p {

enum class Place { kDevice = 0, kPinned = 1, kPageable = 2 };
enum class Opcode { kCopy = 1, kRecord = 2, kWait = 3, kSync = 4 };
enum class CopyApi { kDefault = 0, kPeer = 1 };
enum class SyncMethod { kSpin = 0, kYield = 1, kBlock = 2 };

struct BufferRow {
  Place place;
  int gpu;  // -1 on the host
  std::uint64_t bytes;
};

struct OperationRow {
  Opcode code;
  int stream;
  int a;  // copy: source buffer; record, wait: event
  int b;  // copy: destination buffer
  std::uint64_t bytes;
  std::uint64_t srcOffset;
  std::uint64_t dstOffset;
  int flag;  // copy: CopyApi; sync: SyncMethod
};

struct PeerRow {
  int from;
  int to;
  bool enabled;
};

struct SourceRow {
  int buffer;
  std::uint64_t seed;
};

struct CheckRow {
  int buffer;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t seed;
  std::uint64_t patternOffset;
};

struct ProgramRows {
  std::vector<BufferRow> buffers;
  std::vector<int> streams;  // GPU of each
  int eventCount = 0;
  std::vector<OperationRow> operations;
  std::vector<PeerRow> peers;
  std::vector<SourceRow> sources;
  std::vector<CheckRow> checks;
};

// The arrays as they come from JavaScript.
struct ProgramArrays {
  std::span<const double> buffers;
  std::span<const std::int32_t> streams;
  double eventCount;
  std::span<const double> operations;
  std::span<const std::int32_t> peers;
  std::span<const double> sources;
  std::span<const double> checks;
};

// Reads the arrays. Throws a kUsage failure that names the array, the row and what is wrong with it; GPU
// ordinals are checked against the driver when their contexts are retained.
ProgramRows readProgram(const ProgramArrays& arrays);

}  // namespace p2p
