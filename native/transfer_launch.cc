#include "transfer_launch.h"

#include <algorithm>

#include "transfer_layout.h"

namespace p2p {

namespace {

constexpr unsigned kMostThreads = 512;
constexpr unsigned kWarp = 32;
constexpr std::uint64_t kVectorBytes = 16;

struct Grid {
  unsigned blocks;
  unsigned threads;
};

// One thread for each element until the GPU is full: then they take several each.
Grid gridFor(std::uint64_t elements, int multiprocessors, unsigned blocksOfOne) {
  const auto most = static_cast<std::uint64_t>(multiprocessors) * blocksOfOne;
  const std::uint64_t blocks =
      std::clamp<std::uint64_t>((elements + kMostThreads - 1) / kMostThreads, 1, most);
  const std::uint64_t threads = blocks > 1 ? kMostThreads : (elements + kWarp - 1) / kWarp * kWarp;
  return {static_cast<unsigned>(blocks),
          static_cast<unsigned>(std::clamp<std::uint64_t>(threads, kWarp, kMostThreads))};
}

// Copies fill a multiprocessor with two blocks.
Grid copyGrid(std::uint64_t bytes, int multiprocessors) {
  return gridFor((bytes + kVectorBytes - 1) / kVectorBytes, multiprocessors, 2);
}

// Puts and receives take one block each on a multiprocessor: both must be resident where they run on one GPU.
Grid lineGrid(Protocol protocol, std::uint64_t bytes, int multiprocessors) {
  const std::uint64_t elements =
      protocol == Protocol::kLl ? bytes / kLlPayloadBytes : windowBytes(protocol, bytes) / kVectorBytes;
  return gridFor(elements, multiprocessors, 1);
}

}  // namespace

KernelLaunch::KernelLaunch(cu::Function function, unsigned blocks, unsigned threads,
                           std::initializer_list<std::uint64_t> values)
    : function_(function), blocks_(blocks), threads_(threads) {
  std::copy(values.begin(), values.end(), values_.begin());
  for (std::size_t i = 0; i < kMostArguments; ++i) arguments_[i] = &values_[i];
}

std::unique_ptr<KernelLaunch> launchOf(const OperationRow& row, int index, const Resources& resources,
                                       const Handshakes& handshakes) {
  const DeviceContext& context = *resources.stream(row.stream).context();
  const int multiprocessors = context.multiprocessors();
  const auto kernel = [&](Kernel which) { return context.kernel(which); };
  const auto launch = [](cu::Function function, Grid grid, std::initializer_list<std::uint64_t> values) {
    return std::make_unique<KernelLaunch>(function, grid.blocks, grid.threads, values);
  };
  const auto address = [&](int buffer) { return resources.address(buffer); };
  const auto protocol = static_cast<Protocol>(row.flag);
  const Grid one{1, 1};
  switch (row.code) {
    case Opcode::kCopy:
      return launch(kernel(Kernel::kCopy), copyGrid(row.bytes, multiprocessors),
                    {address(row.b) + row.dstOffset, address(row.a) + row.srcOffset, row.bytes});
    case Opcode::kCompute:
      return launch(kernel(Kernel::kCompute), one, {row.bytes});
    case Opcode::kPut: {
      const Handshakes::Place& place = handshakes.place(index);
      if (protocol == Protocol::kFlag)
        return launch(
            kernel(Kernel::kPutFlag), copyGrid(row.bytes, multiprocessors),
            {address(row.b), address(row.a), row.bytes, place.cell, place.index, place.puts, address(row.c)});
      return launch(kernel(protocol == Protocol::kLl ? Kernel::kPutLl : Kernel::kPutLl128),
                    lineGrid(protocol, row.bytes, multiprocessors),
                    {address(row.b), address(row.a), row.bytes, place.cell, place.index, place.puts});
    }
    case Opcode::kReceive: {
      const Handshakes::Place& place = handshakes.place(index);
      if (protocol == Protocol::kFlag)
        return launch(kernel(Kernel::kReceiveFlag), one,
                      {place.cell, place.index, place.puts, address(row.c), place.expired});
      return launch(
          kernel(protocol == Protocol::kLl ? Kernel::kReceiveLl : Kernel::kReceiveLl128),
          lineGrid(protocol, row.bytes, multiprocessors),
          {address(row.b), address(row.a), row.bytes, place.cell, place.index, place.puts, place.expired});
    }
    default:
      return launch(kernel(Kernel::kEmpty), one, {});
  }
}

}  // namespace p2p
