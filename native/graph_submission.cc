#include "graph_submission.h"

#include <string>

#include "clock.h"
#include "driver_library.h"

namespace p2p {

// A graph that was captured.
class GraphSubmission::Captured {
 public:
  explicit Captured(cu::Graph handle) : handle_(handle) {}
  ~Captured() { noteRelease(driver().cuGraphDestroy(handle_)); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  cu::Graph handle() const { return handle_; }

  std::size_t nodes() const {
    std::size_t count = 0;
    P2P_CALL(cuGraphGetNodes, handle_, nullptr, &count);
    return count;
  }

 private:
  cu::Graph handle_;
};

namespace {

cu::GraphExec instantiate(cu::Graph graph) {
  cu::GraphExec executable = nullptr;
  P2P_CALL_OPTIONAL(cuGraphInstantiateWithFlags, &executable, graph, 0ull);
  return executable;
}

// A driver that does not capture an operation says so in one of these ways.
bool refusesCapture(cu::Result result) {
  return (result >= cu::kStreamCaptureUnsupported && result <= cu::kStreamCaptureWrongThread) ||
         result == cu::kNotSupported || result == cu::kNotPermitted;
}

double since(std::uint64_t beginNs) {
  return static_cast<double>(nowNs() - beginNs);
}

}  // namespace

GraphSubmission::GraphSubmission(const ProgramRows& program, const Resources& resources, StepTable operations)
    : resources_(resources), operations_(std::move(operations)), origin_(program.operations.front().stream) {
  fork_ = std::make_unique<Event>(resources_.stream(origin_).context());
  for (const int stream : operations_.streams)
    joins_.push_back(std::make_unique<Event>(resources_.stream(stream).context()));
  const CurrentContext current(*operations_.first);
  graph_ = capture();
  executable_ = instantiate(graph_->handle());
}

GraphSubmission::~GraphSubmission() {
  if (executable_) noteRelease(driver().cuGraphExecDestroy(executable_));
}

// The other streams begin when the first one does and are waited for by it in the end: between the two every
// stream runs by itself, as it does without a graph.
cu::Result GraphSubmission::record() const {
  const cu::EntryPoints& entries = driver();
  const Stream& origin = resources_.stream(origin_);
  cu::Result result = entries.cuCtxSetCurrent(origin.context()->handle());
  if (result == cu::kSuccess) result = entries.cuEventRecord(fork_->handle(), origin.handle());
  const auto others = [&](auto each) {
    for (std::size_t i = 0; i < operations_.streams.size() && result == cu::kSuccess; ++i) {
      if (operations_.streams[i] == origin_) continue;
      const Stream& stream = resources_.stream(operations_.streams[i]);
      result = entries.cuCtxSetCurrent(stream.context()->handle());
      if (result == cu::kSuccess) result = each(stream, joins_[i]->handle());
    }
  };
  others([&](const Stream& stream, cu::Event) {
    return entries.cuStreamWaitEvent(stream.handle(), fork_->handle(), 0);
  });
  if (result == cu::kSuccess) result = entries.cuCtxSetCurrent(operations_.first->handle());
  if (result == cu::kSuccess) {
    const StepResult ran = runSteps(entries, operations_.begin(), operations_.submitted(), 0, 0);
    result = ran.result;
    refused_ = ran.step;
  }
  others([&](const Stream& stream, cu::Event join) { return entries.cuEventRecord(join, stream.handle()); });
  if (result == cu::kSuccess) result = entries.cuCtxSetCurrent(origin.context()->handle());
  for (std::size_t i = 0; i < joins_.size() && result == cu::kSuccess; ++i) {
    if (operations_.streams[i] != origin_)
      result = entries.cuStreamWaitEvent(origin.handle(), joins_[i]->handle(), 0);
  }
  return result;
}

std::unique_ptr<GraphSubmission::Captured> GraphSubmission::capture() const {
  refused_ = nullptr;
  const Stream& origin = resources_.stream(origin_);
  // Other threads may go on with what a capture of the whole process would forbid them.
  P2P_CALL(cuStreamBeginCapture_v2, origin.handle(), cu::kCaptureThreadLocal);
  const cu::Result recorded = record();
  cu::Graph handle = nullptr;
  const cu::Result ended = driver().cuStreamEndCapture(origin.handle(), &handle);
  auto graph = handle ? std::make_unique<Captured>(handle) : nullptr;
  const cu::Result result = recorded != cu::kSuccess ? recorded : ended;
  if (result == cu::kSuccess) return graph;
  const std::string call = refused_ ? callName(refused_->what) : "cuStreamEndCapture";
  if (!refused_ || !refusesCapture(result)) throw cudaFailure(result, call.c_str(), "(capturing a graph)");
  throw notAvailable("the driver does not capture operation " + std::to_string(refused_->operation) + " (" +
                         call + ") into a graph: " + resultName(result),
                     "Use .submitBy(\"stream\"), or another way to do that operation.");
}

GraphCosts GraphSubmission::costs(std::size_t repetitions) const {
  GraphCosts costs;
  costs.nodes = graph_->nodes();
  const auto update = driver().cuGraphExecUpdate_v2;
  const CurrentContext current(*operations_.first);
  for (std::size_t i = 0; i < repetitions; ++i) {
    std::uint64_t begin = nowNs();
    const std::unique_ptr<Captured> graph = capture();
    costs.captureNs.push_back(since(begin));
    begin = nowNs();
    const cu::GraphExec executable = instantiate(graph->handle());
    costs.instantiateNs.push_back(since(begin));
    noteRelease(driver().cuGraphExecDestroy(executable));
    if (!update) continue;
    cu::GraphUpdateInfo info{};
    begin = nowNs();
    const cu::Result result = update(executable_, graph->handle(), &info);
    costs.updateNs.push_back(since(begin));
    check(result, "cuGraphExecUpdate");
  }
  return costs;
}

}  // namespace p2p
