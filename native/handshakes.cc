#include "handshakes.h"

#include <cstring>
#include <tuple>

#include "driver_library.h"

namespace p2p {

namespace {

// How long clearing flags and windows may take.
constexpr std::uint64_t kClearNs = 10'000'000'000;

// Puts and receives that belong together: window, protocol, flag.
using Route = std::tuple<int, int, int>;

Route routeOf(const OperationRow& row) {
  return {row.code == Opcode::kPut ? row.b : row.a, row.flag, row.c};
}

bool transfers(const OperationRow& row) {
  return row.code == Opcode::kPut || row.code == Opcode::kReceive;
}

}  // namespace

Handshakes::Handshakes(const ProgramRows& program, const Resources& resources)
    : program_(program), resources_(resources) {
  std::map<Route, std::uint64_t> puts;
  for (const OperationRow& row : program.operations) {
    if (!transfers(row)) continue;
    ++counts_[program.streams[static_cast<std::size_t>(row.stream)]];
    if (row.code == Opcode::kPut) ++puts[routeOf(row)];
  }
  if (counts_.empty()) return;
  for (const auto& [gpu, count] : counts_)
    cells_[gpu] = std::make_unique<DeviceMemory>(resources.context(gpu), count * sizeof(TransferCell));

  std::map<int, std::size_t> used;
  std::map<std::pair<Opcode, Route>, std::uint64_t> seen;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const OperationRow& row = program.operations[i];
    if (!transfers(row)) continue;
    const int gpu = program.streams[static_cast<std::size_t>(row.stream)];
    Place place;
    place.cell = cells_.at(gpu)->address() + used[gpu]++ * sizeof(TransferCell);
    place.index = seen[{row.code, routeOf(row)}]++;
    place.puts = puts.at(routeOf(row));
    places_[static_cast<int>(i)] = place;
    if (row.code == Opcode::kReceive) receives_.push_back(static_cast<int>(i));
  }
  const std::size_t wordBytes = (receives_.size() * sizeof(std::uint32_t) + 7) / 8 * 8;
  words_ = std::make_unique<PinnedMemory>(resources.anyContext(), wordBytes + sizeof(TransferCell));
  first_ = reinterpret_cast<std::uint32_t*>(words_->data());
  last_ = first_ + receives_.size();
  for (std::size_t i = 0; i < receives_.size(); ++i)
    places_.at(receives_[i]).expired = reinterpret_cast<cu::DevicePtr>(first_ + i);
}

int Handshakes::expiredOperation() const {
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    if (static_cast<const volatile std::uint32_t*>(first_)[i] != 0) return receives_[i];
  }
  return -1;
}

void Handshakes::zero(int buffer, std::uint64_t bytes) const {
  const BufferRow& row = program_.buffers[static_cast<std::size_t>(buffer)];
  if (row.place != p2p::Place::kDevice) {
    std::memset(resources_.host(buffer), 0, bytes);
    return;
  }
  const CurrentContext current(*resources_.context(row.gpu));
  P2P_CALL(cuMemsetD8Async, resources_.address(buffer), 0, bytes, resources_.serviceStream(row.gpu).handle());
}

void Handshakes::storeWord(const OperationRow& operation, std::uint32_t value) const {
  const BufferRow& row = program_.buffers[static_cast<std::size_t>(operation.a)];
  if (row.place != p2p::Place::kDevice) {
    auto* const word =
        reinterpret_cast<volatile std::uint32_t*>(resources_.host(operation.a) + operation.dstOffset);
    *word = value;
    return;
  }
  const CurrentContext current(*resources_.context(row.gpu));
  P2P_CALL(cuMemsetD32Async, resources_.address(operation.a) + operation.dstOffset, value, 1,
           resources_.serviceStream(row.gpu).handle());
}

bool Handshakes::releaseSignals(std::uint32_t number) const {
  bool any = false;
  for (const OperationRow& row : program_.operations) {
    if (row.code != Opcode::kSignal) continue;
    storeWord(row, number);
    any = true;
  }
  return any;
}

void Handshakes::reset(std::uint32_t number, std::uint64_t limitNs) {
  (void)releaseSignals(number);
  for (const OperationRow& row : program_.operations) {
    if (row.code != Opcode::kPut) continue;
    const auto protocol = static_cast<Protocol>(row.flag);
    if (protocol == Protocol::kFlag)
      zero(row.c, sizeof(std::uint64_t));
    else
      zero(row.b, windowBytes(protocol, row.bytes));
  }
  if (words_) {
    std::memset(first_, 0, static_cast<std::size_t>(last_ - first_) * sizeof *first_);
    const TransferCell cell{0, limitNs, 0};
    auto* const source = words_->data() + (receives_.size() * sizeof(std::uint32_t) + 7) / 8 * 8;
    std::memcpy(source, &cell, sizeof cell);
    for (const auto& [gpu, memory] : cells_) {
      const CurrentContext current(*resources_.context(gpu));
      for (std::size_t i = 0; i < counts_.at(gpu); ++i)
        P2P_CALL(cuMemcpyAsync, memory->address() + i * sizeof cell, reinterpret_cast<cu::DevicePtr>(source),
                 sizeof cell, resources_.serviceStream(gpu).handle());
    }
  }
  for (const auto& [gpu, context] : resources_.contexts()) resources_.settle(gpu, kClearNs, "clearing flags");
  limitNs_ = limitNs;
}

}  // namespace p2p
