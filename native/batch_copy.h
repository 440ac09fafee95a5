// Several copies that one call submits: cuMemcpyBatchAsync (CUDA 12.8). The driver does them in any order, so
// that none may touch what another writes.
#pragma once

#include <cstddef>
#include <vector>

#include "cuda_api.h"

namespace p2p {

class BatchCopy {
 public:
  // Throws a kNotAvailable failure where the driver has no batches.
  BatchCopy();

  // Adds a copy; false when it depends on one that is in the batch already.
  bool add(cu::DevicePtr dst, cu::DevicePtr src, std::size_t bytes);

  cu::Result submit(const cu::EntryPoints& entries, cu::Stream stream) noexcept;

 private:
  std::vector<cu::DevicePtr> dsts_;
  std::vector<cu::DevicePtr> srcs_;
  std::vector<std::size_t> sizes_;
  cu::CopyAttributes attributes_{};
  std::size_t firstOfAttributes_ = 0;
};

}  // namespace p2p
