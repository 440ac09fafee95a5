#include "program.h"

#include <cmath>
#include <string>

#include "errors.h"

namespace p2p {

namespace {

constexpr double kMaxSafeInteger = 9007199254740991.0;
constexpr double kMaxOrdinal = 1023;
constexpr std::size_t kMaxRows = 1'000'000;
constexpr double kMaxEvents = 65'536;

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

OperationRow readOperation(const Row<double>& row, const ProgramRows& program) {
  OperationRow operation{};
  operation.code = static_cast<Opcode>(static_cast<int>(row.number(0, "opcode", 1, 4)));
  operation.stream = row.index(1, "stream", program.streams.size());
  switch (operation.code) {
    case Opcode::kCopy: {
      operation.a = row.index(2, "source buffer", program.buffers.size());
      operation.b = row.index(3, "destination buffer", program.buffers.size());
      operation.bytes = row.size(4, "bytes", 1);
      operation.srcOffset = row.size(5, "source offset");
      operation.dstOffset = row.size(6, "destination offset");
      operation.flag = static_cast<int>(row.number(7, "copy function", 0, 1));
      const BufferRow& src = program.buffers[static_cast<std::size_t>(operation.a)];
      const BufferRow& dst = program.buffers[static_cast<std::size_t>(operation.b)];
      row.inside(operation.srcOffset, operation.bytes, src.bytes, "the source");
      row.inside(operation.dstOffset, operation.bytes, dst.bytes, "the destination");
      if (operation.a == operation.b) throw row.wrong("source and destination are the same buffer");
      if (operation.flag == static_cast<int>(CopyApi::kPeer) && (src.gpu < 0 || dst.gpu < 0))
        throw row.wrong("a peer copy joins two GPUs, but one buffer is on the host");
      break;
    }
    case Opcode::kRecord:
    case Opcode::kWait:
      operation.a = row.index(2, "event", static_cast<std::size_t>(program.eventCount));
      break;
    case Opcode::kSync:
      operation.flag = static_cast<int>(row.number(7, "sync method", 0, 2));
      break;
  }
  return operation;
}

// An event belongs to the context of the stream that records it: all records of an event must be on one GPU,
// and a wait for an event that nothing records would wait for nothing.
void checkEvents(const ProgramRows& program) {
  std::vector<int> gpuOfEvent(static_cast<std::size_t>(program.eventCount), -1);
  for (const OperationRow& operation : program.operations) {
    if (operation.code != Opcode::kRecord) continue;
    int& gpu = gpuOfEvent[static_cast<std::size_t>(operation.a)];
    const int own = program.streams[static_cast<std::size_t>(operation.stream)];
    if (gpu >= 0 && gpu != own) {
      throw usage("event " + std::to_string(operation.a) + " is recorded on GPU " + std::to_string(gpu) +
                      " and on GPU " + std::to_string(own),
                  "Use one event for each GPU.");
    }
    gpu = own;
  }
  for (const OperationRow& operation : program.operations) {
    if (operation.code == Opcode::kWait && gpuOfEvent[static_cast<std::size_t>(operation.a)] < 0)
      throw usage("event " + std::to_string(operation.a) + " is waited for but never recorded",
                  "Record the event first.");
  }
}

}  // namespace

ProgramRows readProgram(const ProgramArrays& arrays) {
  ProgramRows program;
  eachRow<double>("buffers", arrays.buffers, 3, [&](const Row<double>& row) {
    BufferRow buffer{};
    buffer.place = static_cast<Place>(static_cast<int>(row.number(0, "place", 0, 2)));
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
  checkEvents(program);
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
