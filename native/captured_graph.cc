#include "captured_graph.h"

#include <utility>

#include "driver_library.h"

namespace p2p {

namespace {

// The graph that an executable one is made from; not needed afterwards.
class Template {
 public:
  explicit Template(cu::Graph graph) : graph_(graph) {}
  ~Template() { noteRelease(driver().cuGraphDestroy(graph_)); }
  Template(const Template&) = delete;
  Template& operator=(const Template&) = delete;

  cu::Graph handle() const { return graph_; }

 private:
  cu::Graph graph_;
};

}  // namespace

CapturedGraph::CapturedGraph(std::shared_ptr<DeviceContext> context, cu::Graph graph, Uses uses)
    : context_(std::move(context)), uses_(std::move(uses)) {
  const Template whole(graph);
  const CurrentContext current(*context_);
  P2P_CALL(cuGraphGetNodes, whole.handle(), nullptr, &nodes_);
  P2P_CALL_OPTIONAL(cuGraphInstantiateWithFlags, &exec_, whole.handle(), 0);
}

CapturedGraph::~CapturedGraph() {
  noteRelease(driver().cuGraphExecDestroy(exec_));
}

}  // namespace p2p
