// Graphs made executable: a launch does all nodes, those of different captured streams side by side.
#include "fake_graph.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>

#include "fake_registry.h"
#include "fake_stream.h"
#include "fake_tracing.h"

using namespace p2p::cu;
using namespace fake;

struct CUgraphExec_st {
  std::mutex mutex;
  std::shared_ptr<const CUgraph_st> graph;

  explicit CUgraphExec_st(std::shared_ptr<const CUgraph_st> graph) : graph(std::move(graph)) {}
};

namespace {

Registry<CUgraphExec_st>& executables() {
  static auto& once = *new Registry<CUgraphExec_st>("graphExecs");
  return once;
}

// CUPTI's number of cuGraphLaunch.
constexpr std::uint32_t kLaunchCbid = 514;

void runGraph(const CUgraph_st& graph, std::uint32_t correlation) {
  std::size_t lanes = 0;
  for (const auto& node : graph.nodes) lanes = std::max(lanes, node->lane + 1);
  std::deque<std::atomic<bool>> done(graph.nodes.size());
  const auto runLane = [&](std::size_t lane) {
    const InLaunch launch(correlation);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const CUgraphNode_st& node = *graph.nodes[i];
      if (node.lane != lane) continue;
      for (const std::size_t before : node.after) waitUntil([&] { return done[before].load(); });
      node.task();
      done[i] = true;
    }
  };
  if (lanes <= 1) {
    runLane(0);
    return;
  }
  std::vector<Task> tasks;
  for (std::size_t lane = 0; lane < lanes; ++lane) tasks.push_back([&runLane, lane] { runLane(lane); });
  runSideBySide(tasks);
}

}  // namespace

extern "C" {

Result cuGraphInstantiateWithFlags(GraphExec* executable, Graph graph, unsigned long long) {
  ENTER("cuGraphInstantiateWithFlags");
  const auto own = findGraph(graph);
  if (!own) return kInvalidHandle;
  if (const Result state = currentState()) return state;
  *executable = executables().add(std::make_shared<CUgraphExec_st>(std::make_shared<CUgraph_st>(*own)));
  return kSuccess;
}

Result cuGraphExecUpdate_v2(GraphExec executable, Graph graph, GraphUpdateInfo* info) {
  ENTER("cuGraphExecUpdate_v2");
  const auto own = executables().find(executable);
  const auto with = findGraph(graph);
  if (!own || !with) return kInvalidHandle;
  const std::lock_guard lock(own->mutex);
  *info = {kGraphUpdateSuccess, nullptr, nullptr};
  const auto& from = own->graph->nodes;
  const auto& to = with->nodes;
  if (from.size() != to.size()) info->result = kGraphUpdateTopologyChanged;
  for (std::size_t i = 0; i < to.size() && info->result == kGraphUpdateSuccess; ++i) {
    if (from[i]->after != to[i]->after) info->result = kGraphUpdateTopologyChanged;
    if (from[i]->type != to[i]->type) info->result = kGraphUpdateNodeTypeChanged;
    if (info->result != kGraphUpdateSuccess) info->errorNode = to[i].get();
  }
  if (info->result != kGraphUpdateSuccess) return kGraphExecUpdateFailure;
  own->graph = std::make_shared<CUgraph_st>(*with);
  return kSuccess;
}

Result cuGraphLaunch(GraphExec executable, Stream stream) {
  ENTER("cuGraphLaunch");
  const TracedCall traced(kLaunchCbid);
  const auto own = executables().find(executable);
  const auto on = findStream(stream);
  if (!own || !on) return kInvalidHandle;
  if (const Result state = on->context->broken) return state;
  std::shared_ptr<const CUgraph_st> graph;
  {
    const std::lock_guard lock(own->mutex);
    graph = own->graph;
  }
  submit(on, kNodeGraph, [graph, correlation = traced.correlation()] { runGraph(*graph, correlation); });
  return kSuccess;
}

Result cuGraphExecDestroy(GraphExec executable) {
  ENTER("cuGraphExecDestroy");
  return executables().remove(executable) ? kSuccess : kInvalidHandle;
}

}  // extern "C"
