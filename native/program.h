// A program in plain C++: what the typed arrays of kernel/lab/native.ts say, checked completely, so that
// nothing behind it needs to doubt an index or a size.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace p2p {

enum class Place { kDevice = 0, kPinned = 1, kPageable = 2 };
// Where memory of a GPU comes from.
enum class Allocator { kMalloc, kPool, kVmm, kIpc };
enum class Opcode {
  kCopy = 1,
  kRecord = 2,
  kWait = 3,
  kSync = 4,
  kSignal = 5,
  kAwait = 6,
  kCompute = 7,
  kLaunch = 8,
  kPut = 9,
  kReceive = 10,
};
// Who copies: cuMemcpyAsync, cuMemcpyPeerAsync, cuMemcpyBatchAsync, a kernel on the GPU of the stream, or
// cuMemcpy3DPeerAsync.
enum class CopyApi { kDefault = 0, kPeer = 1, kBatch = 2, kKernel = 3, kPeer3d = 4 };
enum class SyncMethod { kSpin = 0, kYield = 1, kBlock = 2, kPollEvent = 3, kPollFlag = 4 };
enum class Protocol { kFlag = 0, kLl = 1, kLl128 = 2 };
enum class NamedKernel { kEmpty = 0 };

struct BufferRow {
  Place place;
  int gpu;  // -1 on the host
  std::uint64_t bytes;
  Allocator allocator = Allocator::kMalloc;
  // kIpc: what another process exported.
  std::array<std::uint8_t, 64> handle{};
};

struct OperationRow {
  Opcode code;
  int stream;
  int a;  // copy, put: source buffer; receive: window; record, wait: event; signal, await: buffer
  int b;  // copy: destination buffer; put: window; receive: buffer to unpack into, or -1
  std::uint64_t bytes;  // compute: nanoseconds
  std::uint64_t srcOffset;
  std::uint64_t dstOffset;  // signal, await: of the word
  int flag;                 // CopyApi, SyncMethod, Protocol or NamedKernel
  int c = -1;               // put, receive: buffer of the flag word, or -1
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
  // Whether the operations of an iteration are captured into a graph that each iteration launches.
  bool graph = false;

  // The stream that the work of an operation is submitted to: that of the first for a graph, which is
  // launched whole.
  int submitStream(const OperationRow& row) const { return graph ? operations.front().stream : row.stream; }
};

// Bytes of a window that hold a payload.
std::uint64_t windowBytes(Protocol protocol, std::uint64_t bytes);

// The arrays as they come from JavaScript.
struct ProgramArrays {
  std::span<const double> buffers;
  std::span<const std::int32_t> streams;
  double eventCount;
  std::span<const double> operations;
  std::span<const std::int32_t> peers;
  std::span<const double> sources;
  std::span<const double> checks;
  bool graph;
  // 64 bytes for each buffer of kIpc, in their order.
  std::span<const std::uint8_t> handles = {};
};

// Reads the arrays. Throws a kUsage failure that names the array, the row and what is wrong with it; GPU
// ordinals are checked against the driver when their contexts are retained.
ProgramRows readProgram(const ProgramArrays& arrays);

}  // namespace p2p
