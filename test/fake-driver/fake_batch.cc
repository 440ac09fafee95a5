// Batches of copies, in the forms of CUDA 12.8 and 13.0.
#include "fake_calls.h"
#include "fake_copy.h"
#include "fake_tracing.h"

using namespace p2p::cu;
using namespace fake;

namespace {

// CUPTI's numbers of the calls.
constexpr std::uint32_t kBatch = 776;
constexpr std::uint32_t kBatchV2 = 796;

Result submitBatch(const DevicePtr* dsts, const DevicePtr* srcs, const std::size_t* sizes, std::size_t count,
                   const CopyAttributes* attributes, const std::size_t* firsts, std::size_t attributeCount,
                   Stream stream, std::size_t* failed, std::uint32_t correlation) {
  *failed = SIZE_MAX;
  // Each set of attributes is for the copies from its first on; together they are for all.
  if (count == 0 || !dsts || !srcs || !sizes || !attributes || !firsts) return kInvalidValue;
  if (attributeCount == 0 || attributeCount > count || firsts[0] != 0) return kInvalidValue;
  for (std::size_t i = 0; i < attributeCount; ++i) {
    if (attributes[i].sourceOrder < kSourceOrderStream || attributes[i].sourceOrder > kSourceOrderAny)
      return kInvalidValue;
    if (i > 0 && (firsts[i] <= firsts[i - 1] || firsts[i] >= count)) return kInvalidValue;
  }
  for (std::size_t i = 0; i < count; ++i) {
    *failed = i;
    if (sizes[i] == 0) return kInvalidValue;
    if (const Result result = submitCopy(dsts[i], srcs[i], sizes[i], stream, correlation)) return result;
  }
  return kSuccess;
}

}  // namespace

extern "C" {

Result cuMemcpyBatchAsync(DevicePtr* dsts, DevicePtr* srcs, std::size_t* sizes, std::size_t count,
                          CopyAttributes* attributes, std::size_t* firsts, std::size_t attributeCount,
                          std::size_t* failed, Stream stream) {
  ENTER("cuMemcpyBatchAsync");
  const TracedCall traced(kBatch);
  std::size_t index = SIZE_MAX;
  const Result result = submitBatch(dsts, srcs, sizes, count, attributes, firsts, attributeCount, stream,
                                    &index, traced.correlation());
  if (failed && result != kSuccess) *failed = index;
  return result;
}

Result cuMemcpyBatchAsync_v2(DevicePtr* dsts, DevicePtr* srcs, std::size_t* sizes, std::size_t count,
                             CopyAttributes* attributes, std::size_t* firsts, std::size_t attributeCount,
                             Stream stream) {
  ENTER("cuMemcpyBatchAsync_v2");
  const TracedCall traced(kBatchV2);
  std::size_t index = SIZE_MAX;
  return submitBatch(dsts, srcs, sizes, count, attributes, firsts, attributeCount, stream, &index,
                     traced.correlation());
}

}  // extern "C"
