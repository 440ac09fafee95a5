// A graph made of what was submitted to a stream while it was captured, ready to be launched.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "context.h"
#include "work_uses.h"

namespace p2p {

class CapturedGraph {
 public:
  // Takes the graph, which the caller gives up in any case. Throws when it cannot be instantiated; a
  // kNotAvailable failure with drivers before CUDA 11.4.
  CapturedGraph(std::shared_ptr<DeviceContext> context, cu::Graph graph, Uses uses);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  cu::GraphExec handle() const { return exec_; }
  int gpu() const { return context_->gpu(); }
  std::size_t nodes() const { return nodes_; }
  // What its nodes use; the graph keeps it as long as it lives.
  const Uses& uses() const { return uses_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  cu::GraphExec exec_ = nullptr;
  std::size_t nodes_ = 0;
  Uses uses_;
};

static_assert(!std::is_copy_constructible_v<CapturedGraph> && !std::is_move_constructible_v<CapturedGraph>);

}  // namespace p2p
