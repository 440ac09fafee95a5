// Set-up work on graphs of empty kernels.
#include "clock.h"
#include "driver_library.h"
#include "objects.h"
#include "setup_costs.h"

namespace p2p {

namespace {

class Graph {
 public:
  explicit Graph(cu::Graph handle) : handle_(handle) {}
  ~Graph() { noteRelease(driver().cuGraphDestroy(handle_)); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  cu::Graph handle() const { return handle_; }

 private:
  cu::Graph handle_;
};

class GraphExec {
 public:
  explicit GraphExec(const Graph& graph) {
    P2P_CALL_OPTIONAL(cuGraphInstantiateWithFlags, &handle_, graph.handle(), 0);
  }
  ~GraphExec() { noteRelease(driver().cuGraphExecDestroy(handle_)); }
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  cu::GraphExec handle() const { return handle_; }

 private:
  cu::GraphExec handle_ = nullptr;
};

// graph-capture: cuStreamBeginCapture, n × cuLaunchKernel of an empty kernel into one stream,
// cuStreamEndCapture. graph-instantiate: cuGraphInstantiate of such a graph. graph-update: cuGraphExecUpdate
// of an instantiated graph by one that was captured anew.
class GraphWork : public SetupWork {
 public:
  GraphWork(const SetupRequest& request, const SetupContext& context)
      : kind_(request.kind), nodes_(request.nodes), context_(context), stream_(context) {
    const Graph graph(capture());
    std::size_t found = 0;
    P2P_CALL(cuGraphGetNodes, graph.handle(), nullptr, &found);
    if (found != nodes_)
      throw usage(
          "a captured graph has " + std::to_string(found) + " nodes instead of " + std::to_string(nodes_),
          "Report it with the driver's version.");
    (void)present(driver().cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
    if (kind_ != SetupKind::kGraphUpdate) return;
    (void)present(driver().cuGraphExecUpdate_v2, "cuGraphExecUpdate_v2");
    instantiated_ = std::make_unique<GraphExec>(graph);
  }

  double once() override {
    const std::uint64_t t0 = nowNs();
    const cu::Graph captured = capture();
    const std::uint64_t t1 = nowNs();
    const Graph graph(captured);
    if (kind_ == SetupKind::kGraphCapture) return static_cast<double>(t1 - t0);
    if (kind_ == SetupKind::kGraphInstantiate) {
      const std::uint64_t t2 = nowNs();
      const GraphExec exec(graph);
      return static_cast<double>(nowNs() - t2);
    }
    cu::GraphUpdateInfo info{};
    const std::uint64_t t2 = nowNs();
    const cu::Result updated = driver().cuGraphExecUpdate_v2(instantiated_->handle(), graph.handle(), &info);
    const std::uint64_t t3 = nowNs();
    check(updated, "cuGraphExecUpdate_v2");
    return static_cast<double>(t3 - t2);
  }

  std::string checked() const override {
    return "of " + std::to_string(nodes_) + " empty kernel nodes, as the captured graph said";
  }

 private:
  cu::Graph capture() const {
    const cu::Function kernel = context_->kernel(Kernel::kEmpty);
    P2P_CALL(cuStreamBeginCapture_v2, stream_.handle(), cu::kCaptureThreadLocal);
    cu::Result launched = cu::kSuccess;
    for (unsigned i = 0; i < nodes_ && launched == cu::kSuccess; ++i)
      launched = driver().cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream_.handle(), nullptr, nullptr);
    // Also after a launch that failed: a stream that is left capturing takes no more work.
    cu::Graph graph = nullptr;
    const cu::Result ended = driver().cuStreamEndCapture(stream_.handle(), &graph);
    if (launched == cu::kSuccess && ended == cu::kSuccess) return graph;
    if (graph) noteRelease(driver().cuGraphDestroy(graph));
    check(launched, "cuLaunchKernel");
    throw cudaFailure(ended, "cuStreamEndCapture");
  }

  SetupKind kind_;
  unsigned nodes_;
  SetupContext context_;
  Stream stream_;
  std::unique_ptr<GraphExec> instantiated_;
};

}  // namespace

std::unique_ptr<SetupWork> setupOfGraphs(const SetupRequest& request, const SetupContext& context) {
  return std::make_unique<GraphWork>(request, context);
}

}  // namespace p2p
