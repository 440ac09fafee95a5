#include "batch_copy.h"

#include "driver_library.h"

namespace p2p {

namespace {

bool overlap(cu::DevicePtr a, std::size_t aBytes, cu::DevicePtr b, std::size_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

}  // namespace

BatchCopy::BatchCopy() {
  if (!driver().cuMemcpyBatchAsync_v2) (void)P2P_PRESENT(cuMemcpyBatchAsync);
  attributes_.sourceOrder = cu::kSourceOrderStream;
}

bool BatchCopy::add(cu::DevicePtr dst, cu::DevicePtr src, std::size_t bytes) {
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (overlap(dst, bytes, dsts_[i], sizes_[i]) || overlap(dst, bytes, srcs_[i], sizes_[i]) ||
        overlap(src, bytes, dsts_[i], sizes_[i]))
      return false;
  }
  dsts_.push_back(dst);
  srcs_.push_back(src);
  sizes_.push_back(bytes);
  return true;
}

cu::Result BatchCopy::submit(const cu::EntryPoints& entries, cu::Stream stream) noexcept {
  if (entries.cuMemcpyBatchAsync_v2)
    return entries.cuMemcpyBatchAsync_v2(dsts_.data(), srcs_.data(), sizes_.data(), sizes_.size(),
                                         &attributes_, &firstOfAttributes_, 1, stream);
  std::size_t failed = 0;
  return entries.cuMemcpyBatchAsync(dsts_.data(), srcs_.data(), sizes_.data(), sizes_.size(), &attributes_,
                                    &firstOfAttributes_, 1, &failed, stream);
}

}  // namespace p2p
