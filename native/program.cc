#include "program.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "errors.h"
#include "program_checks.h"
#include "transfer_layout.h"

namespace p2p {

namespace {

constexpr double kMaxSafeInteger = 9007199254740991.0;
constexpr double kMaxOrdinal = 1023;
constexpr std::size_t kMaxRows = 1'000'000;
constexpr double kMaxEvents = 65'536;
constexpr double kMaxComputeNs = 1e9;

// One row of an array; every read names the column for the error.
template <typename T>
class Row {
 public:
  Row(const char* array, std::size_t index, std::span<const T> cells)
      : array_(array), index_(index), cells_(cells) {}

  double number(std::size_t column, const char* name, double low, double high) const {
    const double value = static_cast<double>(cells_[column]);
    if (!(value >= low && value <= high) || value != std::floor(value)) {
      throw wrong(std::string(name) + " is " + std::to_string(value) + ", not a whole number from " +
                  std::to_string(static_cast<long long>(low)) + " to " +
                  std::to_string(static_cast<long long>(high)));
    }
    return value;
  }

  int index(std::size_t column, const char* name, std::size_t count) const {
    if (count == 0) throw wrong(std::string(name) + " names something, but there is none");
    return static_cast<int>(number(column, name, 0, static_cast<double>(count - 1)));
  }

  std::uint64_t size(std::size_t column, const char* name, double low = 0) const {
    return static_cast<std::uint64_t>(number(column, name, low, kMaxSafeInteger));
  }

  // A stretch must lie inside its buffer; both numbers are below 2^53, so the sum cannot wrap.
  void inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t whole, const char* name) const {
    if (offset + bytes > whole) {
      throw wrong(std::to_string(bytes) + " bytes at offset " + std::to_string(offset) + " do not fit in " +
                  name + " of " + std::to_string(whole) + " bytes");
    }
  }

  // Kernels and streams reach memory of GPUs and page-locked host memory only.
  void reachable(const BufferRow& buffer, const char* name) const {
    if (buffer.place == Place::kPageable)
      throw wrong(std::string(name) + " is pageable host memory, which a GPU cannot reach");
  }

  Failure wrong(const std::string& what) const {
    return usage(std::string(array_) + ", row " + std::to_string(index_) + ": " + what,
                 "Build programs with lab.program(), which checks them.");
  }

 private:
  const char* array_;
  std::size_t index_;
  std::span<const T> cells_;
};

template <typename T, typename Read>
void eachRow(const char* array, std::span<const T> cells, std::size_t columns, Read read) {
  if (cells.size() % columns != 0 || cells.size() / columns > kMaxRows) {
    throw usage(std::string(array) + " has " + std::to_string(cells.size()) + " elements, not rows of " +
                    std::to_string(columns),
                "Build programs with lab.program(), which checks them.");
  }
  for (std::size_t i = 0; i * columns < cells.size(); ++i)
    read(Row<T>(array, i, cells.subspan(i * columns, columns)));
}

const BufferRow& bufferOf(const ProgramRows& program, int index) {
  return program.buffers[static_cast<std::size_t>(index)];
}

void readCopy(const Row<double>& row, const ProgramRows& program, OperationRow& operation) {
  operation.a = row.index(2, "source buffer", program.buffers.size());
  operation.b = row.index(3, "destination buffer", program.buffers.size());
  operation.bytes = row.size(4, "bytes", 1);
  operation.srcOffset = row.size(5, "source offset");
  operation.dstOffset = row.size(6, "destination offset");
  operation.flag = static_cast<int>(row.number(7, "copy function", 0, 4));
  const BufferRow& src = bufferOf(program, operation.a);
  const BufferRow& dst = bufferOf(program, operation.b);
  row.inside(operation.srcOffset, operation.bytes, src.bytes, "the source");
  row.inside(operation.dstOffset, operation.bytes, dst.bytes, "the destination");
  if (operation.a == operation.b) throw row.wrong("source and destination are the same buffer");
  const auto api = static_cast<CopyApi>(operation.flag);
  if ((api == CopyApi::kPeer || api == CopyApi::kPeer3d) && (src.gpu < 0 || dst.gpu < 0))
    throw row.wrong("a peer copy joins two GPUs, but one buffer is on the host");
  if (api == CopyApi::kKernel) {
    row.reachable(src, "the source");
    row.reachable(dst, "the destination");
  }
}

// The word of a flag or signal: aligned, so that it is stored whole.
void readWord(const Row<double>& row, const ProgramRows& program, OperationRow& operation) {
  operation.a = row.index(2, "buffer", program.buffers.size());
  operation.dstOffset = row.size(6, "offset");
  const BufferRow& buffer = bufferOf(program, operation.a);
  row.inside(operation.dstOffset, 4, buffer.bytes, "the buffer");
  row.reachable(buffer, "the buffer");
  if (operation.dstOffset % 4 != 0) throw row.wrong("the word is not at a multiple of 4 bytes");
}

// What a put and a receive have in common; `window` and `payload` are buffers that were read before.
void readTransfer(const Row<double>& row, const ProgramRows& program, OperationRow& operation, int window,
                  int payload) {
  operation.bytes = row.size(4, "bytes", 8);
  if (operation.bytes % 8 != 0) throw row.wrong("the payload is not a multiple of 8 bytes");
  operation.flag = static_cast<int>(row.number(7, "protocol", 0, 2));
  const auto protocol = static_cast<Protocol>(operation.flag);
  row.inside(0, windowBytes(protocol, operation.bytes), bufferOf(program, window).bytes, "the window");
  row.inside(0, operation.bytes, bufferOf(program, payload).bytes, "the buffer of the payload");
  row.reachable(bufferOf(program, window), "the window");
  row.reachable(bufferOf(program, payload), "the buffer of the payload");
  if (protocol != Protocol::kFlag) {
    if (payload == window) throw row.wrong("payload and window are the same buffer");
    return;
  }
  operation.c = row.index(5, "flag buffer", program.buffers.size());
  row.inside(0, 8, bufferOf(program, operation.c).bytes, "the buffer of the flag");
  row.reachable(bufferOf(program, operation.c), "the buffer of the flag");
  if (operation.c == operation.a || operation.c == operation.b)
    throw row.wrong("the flag lies in the buffer of the data");
}

OperationRow readOperation(const Row<double>& row, const ProgramRows& program) {
  OperationRow operation{};
  operation.code = static_cast<Opcode>(static_cast<int>(row.number(0, "opcode", 1, 10)));
  operation.stream = row.index(1, "stream", program.streams.size());
  operation.c = -1;
  switch (operation.code) {
    case Opcode::kCopy:
      readCopy(row, program, operation);
      break;
    case Opcode::kRecord:
    case Opcode::kWait:
      operation.a = row.index(2, "event", static_cast<std::size_t>(program.eventCount));
      break;
    case Opcode::kSync:
      operation.flag = static_cast<int>(row.number(7, "sync method", 0, 4));
      break;
    case Opcode::kSignal:
    case Opcode::kAwait:
      readWord(row, program, operation);
      break;
    case Opcode::kCompute:
      operation.bytes = static_cast<std::uint64_t>(row.number(4, "nanoseconds", 1, kMaxComputeNs));
      break;
    case Opcode::kLaunch:
      operation.flag = static_cast<int>(row.number(7, "kernel", 0, 0));
      break;
    case Opcode::kPut:
      operation.a = row.index(2, "source buffer", program.buffers.size());
      operation.b = row.index(3, "window", program.buffers.size());
      if (operation.a == operation.b) throw row.wrong("source and window are the same buffer");
      readTransfer(row, program, operation, operation.b, operation.a);
      break;
    case Opcode::kReceive:
      operation.a = row.index(2, "window", program.buffers.size());
      operation.b = -1;
      if (row.number(7, "protocol", 0, 2) != static_cast<int>(Protocol::kFlag))
        operation.b = row.index(3, "buffer to unpack into", program.buffers.size());
      readTransfer(row, program, operation, operation.a, operation.b < 0 ? operation.a : operation.b);
      break;
  }
  return operation;
}

}  // namespace

std::uint64_t windowBytes(Protocol protocol, std::uint64_t bytes) {
  switch (protocol) {
    case Protocol::kFlag:
      return bytes;
    case Protocol::kLl:
      return bytes / kLlPayloadBytes * kLlWindowBytes;
    case Protocol::kLl128:
      return (bytes / 8 + kLl128Words - 1) / kLl128Words * kLl128LineBytes;
  }
  return bytes;
}

ProgramRows readProgram(const ProgramArrays& arrays) {
  ProgramRows program;
  program.graph = arrays.graph;
  std::size_t handled = 0;
  eachRow<double>("buffers", arrays.buffers, 3, [&](const Row<double>& row) {
    BufferRow buffer{};
    const int place = static_cast<int>(row.number(0, "place", 0, 5));
    buffer.place = place > 2 ? Place::kDevice : static_cast<Place>(place);
    buffer.allocator = place == 3   ? Allocator::kPool
                       : place == 4 ? Allocator::kVmm
                       : place == 5 ? Allocator::kIpc
                                    : Allocator::kMalloc;
    if (buffer.allocator == Allocator::kIpc) {
      if (arrays.handles.size() - handled < buffer.handle.size())
        throw row.wrong("handles holds no 64 bytes for it");
      std::copy_n(arrays.handles.begin() + static_cast<std::ptrdiff_t>(handled), buffer.handle.size(),
                  buffer.handle.begin());
      handled += buffer.handle.size();
    }
    buffer.gpu = buffer.place == Place::kDevice ? static_cast<int>(row.number(1, "GPU", 0, kMaxOrdinal)) : -1;
    buffer.bytes = row.size(2, "bytes", 1);
    program.buffers.push_back(buffer);
  });
  eachRow<std::int32_t>("streams", arrays.streams, 1, [&](const Row<std::int32_t>& row) {
    program.streams.push_back(static_cast<int>(row.number(0, "GPU", 0, kMaxOrdinal)));
  });
  program.eventCount = static_cast<int>(
      Row<double>("eventCount", 0, std::span(&arrays.eventCount, 1)).number(0, "eventCount", 0, kMaxEvents));
  eachRow<double>("operations", arrays.operations, 8,
                  [&](const Row<double>& row) { program.operations.push_back(readOperation(row, program)); });
  if (program.operations.empty())
    throw usage("operations is empty", "A program needs at least one copy and a sync.");
  checkProgram(program);
  eachRow<std::int32_t>("peers", arrays.peers, 3, [&](const Row<std::int32_t>& row) {
    const PeerRow peer{static_cast<int>(row.number(0, "accessing GPU", 0, kMaxOrdinal)),
                       static_cast<int>(row.number(1, "owning GPU", 0, kMaxOrdinal)),
                       row.number(2, "enabled", 0, 1) == 1};
    if (peer.from == peer.to) throw row.wrong("a GPU is no peer of itself");
    program.peers.push_back(peer);
  });
  eachRow<double>("sources", arrays.sources, 2, [&](const Row<double>& row) {
    program.sources.push_back({row.index(0, "buffer", program.buffers.size()), row.size(1, "seed")});
  });
  eachRow<double>("checks", arrays.checks, 5, [&](const Row<double>& row) {
    const CheckRow check{row.index(0, "buffer", program.buffers.size()), row.size(1, "offset"),
                         row.size(2, "bytes", 1), row.size(3, "seed"), row.size(4, "pattern offset")};
    row.inside(check.offset, check.bytes, program.buffers[static_cast<std::size_t>(check.buffer)].bytes,
               "the buffer");
    program.checks.push_back(check);
  });
  return program;
}

}  // namespace p2p
