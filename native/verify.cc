#include "verify.h"

#include <algorithm>
#include <cstring>

#include "driver_library.h"
#include "host_pattern.h"

namespace p2p {

namespace {

// Seed of the sentinel where no check says what should arrive; programs number their seeds from small values.
constexpr std::uint64_t kNoSeed = UINT64_MAX;

}  // namespace

void Verifier::launch(int gpu, bool fillKernel, std::uint64_t bytes, void** arguments) const {
  constexpr unsigned kThreads = 256;
  const DeviceContext& context = *resources_.context(gpu);
  const std::uint64_t wanted = (bytes + kThreads - 1) / kThreads;
  const auto most = static_cast<std::uint64_t>(context.multiprocessors()) * 8;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, most));
  const CurrentContext current(context);
  P2P_CALL(cuLaunchKernel, context.kernel(fillKernel ? Kernel::kFill : Kernel::kCheck), blocks, 1, 1,
           kThreads, 1, 1, 0, resources_.serviceStream(gpu).handle(), arguments, nullptr);
}

void Verifier::fillStretch(int buffer, std::uint64_t at, std::uint64_t bytes, std::uint64_t seed,
                           std::uint64_t offset, bool complement) const {
  const BufferRow& row = program_.buffers[static_cast<std::size_t>(buffer)];
  if (row.place != Place::kDevice) {
    fillPattern(resources_.host(buffer) + at, bytes, seed, offset, complement);
    return;
  }
  cu::DevicePtr data = resources_.address(buffer) + at;
  std::uint32_t flag = complement ? 1 : 0;
  void* arguments[] = {&data, &bytes, &seed, &offset, &flag};
  launch(row.gpu, true, bytes, arguments);
}

bool Verifier::isSource(int buffer) const {
  return std::any_of(program_.sources.begin(), program_.sources.end(),
                     [&](const SourceRow& source) { return source.buffer == buffer; });
}

// Each stretch once: a buffer that a source or a check fills whole gets no sentinels beneath.
void Verifier::fill() const {
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const int buffer = static_cast<int>(i);
    const std::uint64_t bytes = program_.buffers[i].bytes;
    const bool covered =
        std::any_of(program_.checks.begin(), program_.checks.end(), [&](const CheckRow& check) {
          return check.buffer == buffer && check.offset == 0 && check.bytes == bytes;
        });
    if (!covered && !isSource(buffer)) fillStretch(buffer, 0, bytes, kNoSeed, 0, true);
  }
  for (const CheckRow& check : program_.checks) {
    if (!isSource(check.buffer))
      fillStretch(check.buffer, check.offset, check.bytes, check.seed, check.patternOffset, true);
  }
  for (const SourceRow& source : program_.sources) {
    const BufferRow& row = program_.buffers[static_cast<std::size_t>(source.buffer)];
    fillStretch(source.buffer, 0, row.bytes, source.seed, 0, false);
  }
  for (const BufferRow& row : program_.buffers) {
    if (row.place == Place::kDevice) resources_.settle(row.gpu, limitNs_, "filling");
  }
}

std::uint64_t Verifier::countOnGpu(const CheckRow& check, int gpu) const {
  const CurrentContext current(*resources_.context(gpu));
  const cu::Stream stream = resources_.serviceStream(gpu).handle();
  cu::DevicePtr data = resources_.address(check.buffer) + check.offset;
  std::uint64_t bytes = check.bytes;
  std::uint64_t seed = check.seed;
  std::uint64_t offset = check.patternOffset;
  cu::DevicePtr counter = resources_.counter(gpu);
  void* arguments[] = {&data, &bytes, &seed, &offset, &counter};
  const auto piece = reinterpret_cast<cu::DevicePtr>(resources_.piece());
  std::memset(resources_.piece(), 0, sizeof(std::uint64_t));
  P2P_CALL(cuMemcpyAsync, counter, piece, sizeof(std::uint64_t), stream);
  launch(gpu, false, bytes, arguments);
  P2P_CALL(cuMemcpyAsync, piece, counter, sizeof(std::uint64_t), stream);
  resources_.settle(gpu, limitNs_, "checking");
  std::uint64_t wrong = 0;
  std::memcpy(&wrong, resources_.piece(), sizeof wrong);
  return wrong;
}

Difference Verifier::readBack(const CheckRow& check, int gpu) const {
  const CurrentContext current(*resources_.context(gpu));
  // Where it takes more than one piece, its halves take turns: one comes while the other is compared.
  const bool whole = check.bytes <= resources_.pieceBytes();
  const std::size_t most = whole ? resources_.pieceBytes() : resources_.pieceBytes() / 2;
  const auto half = [&](std::uint64_t at) { return resources_.piece() + (at / most % 2) * most; };
  const auto length = [&](std::uint64_t at) { return std::min<std::uint64_t>(most, check.bytes - at); };
  const auto begin = [&](std::uint64_t at) {
    P2P_CALL(cuMemcpyAsync, reinterpret_cast<cu::DevicePtr>(half(at)),
             resources_.address(check.buffer) + check.offset + at, length(at),
             resources_.serviceStream(gpu).handle());
  };
  Difference total;
  begin(0);
  for (std::uint64_t at = 0; at < check.bytes; at += most) {
    resources_.settle(gpu, limitNs_, "reading back");
    if (at + most < check.bytes) begin(at + most);
    const Difference piece = comparePattern(half(at), length(at), check.seed, check.patternOffset + at);
    total.wrong += piece.wrong;
    total.sentinel += piece.sentinel;
    if (total.firstWrong < 0 && piece.firstWrong >= 0)
      total.firstWrong = static_cast<std::int64_t>(check.offset + at) + piece.firstWrong;
  }
  return total;
}

std::vector<CheckResult> Verifier::compare() const {
  std::vector<CheckResult> results;
  for (const CheckRow& check : program_.checks) {
    CheckResult result;
    result.buffer = check.buffer;
    result.bytes = check.bytes;
    const BufferRow& row = program_.buffers[static_cast<std::size_t>(check.buffer)];
    Difference seen;
    if (row.place == Place::kDevice) {
      result.wrongByOwner = countOnGpu(check, row.gpu);
      seen = readBack(check, row.gpu);
    } else {
      seen = comparePattern(resources_.host(check.buffer) + check.offset, check.bytes, check.seed,
                            check.patternOffset);
      if (seen.firstWrong >= 0) seen.firstWrong += static_cast<std::int64_t>(check.offset);
      result.wrongByOwner = seen.wrong;
    }
    result.wrongByReadBack = seen.wrong;
    result.sentinelBytes = seen.sentinel;
    result.firstWrong = seen.firstWrong;
    results.push_back(result);
  }
  return results;
}

}  // namespace p2p
