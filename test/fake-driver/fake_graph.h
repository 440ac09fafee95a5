// Graphs, and the capture of what is submitted to streams into one.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "../../native/cuda_api.h"
#include "fake_worker.h"

struct CUgraphNode_st {
  p2p::cu::GraphNodeType type;
  fake::Task task;
  std::size_t lane;                // the stream that it was captured from
  std::vector<std::size_t> after;  // nodes of other lanes that it waits for
};

struct CUgraph_st {
  std::vector<std::shared_ptr<CUgraphNode_st>> nodes;  // each after those that it waits for
};

namespace fake {

// The points of a graph that an event recorded during a capture stands for.
struct CapturedPoint {
  std::shared_ptr<class Capture> capture;
  std::vector<std::size_t> nodes;
};

// One capture in progress. Every function locks by itself.
class Capture {
 public:
  explicit Capture(const CUstream_st* origin);

  void add(const CUstream_st* stream, p2p::cu::GraphNodeType type, Task task);
  // What has to be complete for all that the stream holds so far to be complete.
  std::vector<std::size_t> tail(const CUstream_st* stream) const;
  // Makes a stream wait for nodes, and takes it into the capture where it was not in it.
  void join(const CUstream_st* stream, const std::vector<std::size_t>& nodes);
  void invalidate();
  bool ended() const;

  p2p::cu::CaptureStatus status() const;
  bool isOrigin(const CUstream_st* stream) const { return stream == origin_; }
  // The graph; an error when the capture was invalidated or a stream did not join the origin again.
  p2p::cu::Result finish(std::shared_ptr<CUgraph_st>& graph);

 private:
  struct Lane {
    std::size_t index;
    std::vector<std::size_t> tail;
  };

  mutable std::mutex mutex_;
  const CUstream_st* const origin_;
  bool invalid_ = false;
  bool ended_ = false;
  std::map<const CUstream_st*, Lane> lanes_;
  std::shared_ptr<CUgraph_st> graph_ = std::make_shared<CUgraph_st>();
};

}  // namespace fake
