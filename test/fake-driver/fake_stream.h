// Streams: each is done by a worker of its own, so that what waits in one never keeps another.
#pragma once

#include <memory>

#include "fake_context.h"
#include "fake_worker.h"

struct CUstream_st {
  CUctx_st* const context;
  fake::Worker worker;

  explicit CUstream_st(CUctx_st* context) : context(context), worker(context->broken) {}
};

namespace fake {

std::shared_ptr<CUstream_st> findStream(CUstream_st* handle);

// Puts a task at the end of a stream.
void submit(const std::shared_ptr<CUstream_st>& stream, Task task);

// Waits until a stream is done, and answers what its context then is.
p2p::cu::Result waitFor(const CUstream_st& stream);

}  // namespace fake
