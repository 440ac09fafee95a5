// Capture of streams: instead of being done, tasks become nodes of a graph.
#include <algorithm>
#include <set>

#include "fake_graph.h"
#include "fake_registry.h"
#include "fake_stream.h"

using namespace p2p::cu;

namespace fake {

Capture::Capture(const CUstream_st* origin) : origin_(origin) {
  lanes_[origin] = {0, {}};
}

void Capture::add(const CUstream_st* stream, GraphNodeType type, Task task) {
  const std::lock_guard lock(mutex_);
  Lane& lane = lanes_.at(stream);
  graph_->nodes.push_back(
      std::make_shared<CUgraphNode_st>(CUgraphNode_st{type, std::move(task), lane.index, lane.tail}));
  lane.tail = {graph_->nodes.size() - 1};
}

std::vector<std::size_t> Capture::tail(const CUstream_st* stream) const {
  const std::lock_guard lock(mutex_);
  return lanes_.at(stream).tail;
}

void Capture::join(const CUstream_st* stream, const std::vector<std::size_t>& nodes) {
  const std::lock_guard lock(mutex_);
  auto& tail = lanes_.try_emplace(stream, Lane{lanes_.size(), {}}).first->second.tail;
  tail.insert(tail.end(), nodes.begin(), nodes.end());
}

void Capture::invalidate() {
  const std::lock_guard lock(mutex_);
  invalid_ = true;
}

bool Capture::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

CaptureStatus Capture::status() const {
  const std::lock_guard lock(mutex_);
  return invalid_ ? kCaptureInvalidated : kCaptureActive;
}

Result Capture::finish(std::shared_ptr<CUgraph_st>& graph) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  if (invalid_) return kStreamCaptureInvalidated;
  // Every node of every stream has to lie before the end of the origin.
  std::set<std::size_t> before;
  std::vector<std::size_t> open = lanes_.at(origin_).tail;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (!before.insert(node).second) continue;
    const auto& after = graph_->nodes[node]->after;
    open.insert(open.end(), after.begin(), after.end());
  }
  if (before.size() != graph_->nodes.size()) return kStreamCaptureUnjoined;
  graph = std::move(graph_);
  return kSuccess;
}

namespace {

Registry<CUgraph_st>& graphs() {
  static auto& once = *new Registry<CUgraph_st>("graphs");
  return once;
}

}  // namespace

std::shared_ptr<CUgraph_st> findGraph(CUgraph_st* handle) {
  return graphs().find(handle);
}

}  // namespace fake

using namespace fake;

extern "C" {

Result cuStreamBeginCapture_v2(Stream stream, CaptureMode) {
  ENTER("cuStreamBeginCapture_v2");
  const auto own = findStream(stream);
  if (!own) return kInvalidHandle;
  if (const Result state = own->context->broken) return state;
  if (captureOf(*own)) return kIllegalState;
  setCapture(*own, std::make_shared<Capture>(stream));
  return kSuccess;
}

Result cuStreamEndCapture(Stream stream, Graph* graph) {
  ENTER("cuStreamEndCapture");
  *graph = nullptr;
  const auto own = findStream(stream);
  if (!own) return kInvalidHandle;
  const auto capture = captureOf(*own);
  if (!capture) return kIllegalState;
  if (!capture->isOrigin(stream)) return kStreamCaptureUnmatched;
  endCapture(capture);
  std::shared_ptr<CUgraph_st> captured;
  if (const Result result = capture->finish(captured)) return result;
  *graph = graphs().add(std::move(captured));
  return kSuccess;
}

Result cuStreamIsCapturing(Stream stream, CaptureStatus* status) {
  ENTER("cuStreamIsCapturing");
  const auto own = findStream(stream);
  if (!own) return kInvalidHandle;
  const auto capture = captureOf(*own);
  *status = capture ? capture->status() : kCaptureNone;
  return kSuccess;
}

// With `nodes` null only the number.
Result cuGraphGetNodes(Graph graph, GraphNode* nodes, std::size_t* count) {
  ENTER("cuGraphGetNodes");
  const auto own = findGraph(graph);
  if (!own) return kInvalidHandle;
  if (nodes) {
    for (std::size_t i = 0; i < *count; ++i) nodes[i] = i < own->nodes.size() ? own->nodes[i].get() : nullptr;
  }
  *count = own->nodes.size();
  return kSuccess;
}

Result cuGraphNodeGetType(GraphNode node, GraphNodeType* type) {
  ENTER("cuGraphNodeGetType");
  if (!node) return kInvalidHandle;
  *type = node->type;
  return kSuccess;
}

Result cuGraphDestroy(Graph graph) {
  ENTER("cuGraphDestroy");
  return graphs().remove(graph) ? kSuccess : kInvalidHandle;
}

}  // extern "C"
