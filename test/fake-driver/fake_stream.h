// Streams: each is done by a worker of its own, so that what waits in one never keeps another.
#pragma once

#include <memory>

#include "fake_context.h"
#include "fake_graph.h"
#include "fake_worker.h"

struct CUstream_st {
  CUctx_st* const context;
  const std::uint32_t id;  // as CUPTI numbers streams
  fake::Worker worker;
  std::shared_ptr<fake::Capture> capture;  // through captureOf and setCapture only

  CUstream_st(CUctx_st* context, std::uint32_t id) : context(context), id(id), worker(context->broken) {}
};

namespace fake {

std::shared_ptr<CUstream_st> findStream(CUstream_st* handle);

// Puts a task at the end of a stream; while the stream is captured, into its graph.
void submit(const std::shared_ptr<CUstream_st>& stream, p2p::cu::GraphNodeType type, Task task);

// Waits until a stream is done, and answers what its context then is.
p2p::cu::Result waitFor(const CUstream_st& stream);

// The capture that a stream takes part in; nullptr: none.
std::shared_ptr<Capture> captureOf(const CUstream_st& stream);
void setCapture(CUstream_st& stream, std::shared_ptr<Capture> capture);
// Takes all streams out of a capture.
void endCapture(const std::shared_ptr<Capture>& capture);

std::shared_ptr<CUgraph_st> findGraph(CUgraph_st* handle);

}  // namespace fake
