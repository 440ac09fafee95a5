// Streams, events, batches and graphs of the stand-in driver.
#include <atomic>

#include "stand_in.h"
#include "tracer.h"

namespace p2p {

namespace {

// Work behind a gate waits, work of other streams does not, and an event carries the wait from one to the
// other.
void order() {
  Two two;
  const PinnedMemory gate(two.contexts[0], 8);
  std::memset(gate.data(), 0, 8);
  const auto flag = reinterpret_cast<cu::DevicePtr>(gate.data());
  const Event event(two.contexts[0]);
  OK(driver().cuStreamWaitValue32_v2(two.streams[0].handle(), flag, 1, cu::kWaitValueGeq));
  OK(fill(two.contexts[0], two.streams[0].handle(), two.memory[0].address(), 1));
  {
    const CurrentContext current(*two.contexts[0]);
    OK(driver().cuEventRecord(event.handle(), two.streams[0].handle()));
  }
  OK(driver().cuStreamWaitEvent(two.streams[1].handle(), event.handle(), 0));
  OK(fill(two.contexts[1], two.streams[1].handle(), two.memory[1].address(), 2));
  const Stream free(two.contexts[1]);
  OK(fill(two.contexts[1], free.handle(), two.memory[1].address(), 3));
  OK(settle(free.handle()));
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 3) == 0);
  EXPECT_RESULT(driver().cuStreamQuery(two.streams[0].handle()), cu::kNotReady);
  EXPECT_RESULT(driver().cuStreamQuery(two.streams[1].handle()), cu::kNotReady);
  EXPECT_RESULT(driver().cuEventQuery(event.handle()), cu::kNotReady);
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(gate.data())).store(1);
  OK(settle(two.streams[1].handle()));
  OK(driver().cuEventQuery(event.handle()));
  EXPECT(wrong(bytesOf(two.contexts[0], two.memory[0].address()), 1) == 0);
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 2) == 0);
}

// Two streams that answer each other's word run at the same time.
void conversation() {
  Two two;
  peer(0, 1);
  peer(1, 0);
  for (int gpu : {0, 1})
    OK(driver().cuMemsetD32Async(two.memory[gpu].address(), 0, 1, two.streams[gpu].handle()));
  for (int gpu : {0, 1}) OK(settle(two.streams[gpu].handle()));
  for (std::uint32_t round = 1; round <= 20; ++round) {
    OK(driver().cuStreamWriteValue32_v2(two.streams[0].handle(), two.memory[1].address(), round, 0));
    OK(driver().cuStreamWaitValue32_v2(two.streams[0].handle(), two.memory[0].address(), round, 0));
    OK(driver().cuStreamWaitValue32_v2(two.streams[1].handle(), two.memory[1].address(), round, 0));
    OK(driver().cuStreamWriteValue32_v2(two.streams[1].handle(), two.memory[0].address(), round, 0));
  }
  for (int gpu : {0, 1}) OK(settle(two.streams[gpu].handle()));
  EXPECT(wordOf(two.contexts[0], two.memory[0].address()) == 20);
}

// Batches name the copy that is refused, and move all of them otherwise.
void batch() {
  Two two;
  peer(0, 1);
  OK(fill(two.contexts[0], two.streams[0].handle(), two.memory[0].address(), 8));
  cu::DevicePtr sources[] = {two.memory[0].address(), two.memory[0].address() + 1024};
  cu::DevicePtr destinations[] = {two.memory[1].address(), two.memory[1].address() + 1024};
  std::size_t sizes[] = {1024, kBytes - 1024};
  cu::CopyAttributes attributes{cu::kSourceOrderStream, {}, {}, 0};
  std::size_t first = 0;
  std::size_t failed = 0;
  const cu::Stream stream = two.streams[0].handle();
  OK(driver().cuMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, &first, 1, &failed, stream));
  OK(driver().cuMemcpyBatchAsync_v2(destinations, sources, sizes, 2, &attributes, &first, 1, stream));
  OK(settle(stream));
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 8) == 0);
  sizes[1] = kBytes;
  EXPECT_RESULT(
      driver().cuMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, &first, 1, &failed, stream),
      cu::kInvalidValue);
  EXPECT(failed == 1);
  attributes.sourceOrder = static_cast<cu::CopySourceOrder>(0);
  EXPECT_RESULT(
      driver().cuMemcpyBatchAsync_v2(destinations, sources, sizes, 2, &attributes, &first, 1, stream),
      cu::kInvalidValue);
  OK(settle(stream));
}

// Events that time measure what lies between them, and only those.
void elapsed() {
  const SharedContext context = DeviceContext::of(0);
  const CurrentContext current(*context);
  const Stream stream(context);
  const DeviceMemory memory(context, kBytes);
  cu::Event events[2] = {};
  for (cu::Event& event : events) OK(driver().cuEventCreate(&event, 0));
  float ms = 0;
  EXPECT_RESULT(driver().cuEventElapsedTime(&ms, events[0], events[1]), cu::kInvalidHandle);
  OK(driver().cuEventRecord(events[0], stream.handle()));
  OK(driver().cuMemcpyAsync(memory.address(), memory.address() + 64, 64, stream.handle()));
  OK(driver().cuEventRecord(events[1], stream.handle()));
  OK(driver().cuEventSynchronize(events[1]));
  OK(driver().cuEventElapsedTime(&ms, events[0], events[1]));
  EXPECT(ms >= 2.0F);
  const Event untimed(context);
  OK(driver().cuEventRecord(untimed.handle(), stream.handle()));
  OK(settle(stream.handle()));
  EXPECT_RESULT(driver().cuEventElapsedTime(&ms, events[0], untimed.handle()), cu::kInvalidHandle);
  for (cu::Event event : events) OK(driver().cuEventDestroy_v2(event));
}

// A graph of two streams: each launch does all of it again, with the dependencies that were captured.
void capture() {
  Two two;
  peer(0, 1);
  const Event fork(two.contexts[0]);
  const Event join(two.contexts[1]);
  const auto record = [&](int gpu, const Event& event) {
    const CurrentContext current(*two.contexts[gpu]);
    OK(driver().cuEventRecord(event.handle(), two.streams[gpu].handle()));
  };
  const auto captured = [&](std::uint64_t seed, bool joined) {
    OK(driver().cuStreamBeginCapture_v2(two.streams[0].handle(), cu::kCaptureRelaxed));
    OK(fill(two.contexts[0], two.streams[0].handle(), two.memory[0].address(), seed));
    record(0, fork);
    OK(driver().cuStreamWaitEvent(two.streams[1].handle(), fork.handle(), 0));
    OK(driver().cuMemcpyAsync(two.memory[1].address(), two.memory[0].address(), kBytes,
                              two.streams[1].handle()));
    record(1, join);
    if (joined) OK(driver().cuStreamWaitEvent(two.streams[0].handle(), join.handle(), 0));
    cu::Graph graph = nullptr;
    EXPECT_RESULT(driver().cuStreamEndCapture(two.streams[0].handle(), &graph),
                  joined ? cu::kSuccess : cu::kStreamCaptureUnjoined);
    return graph;
  };
  const std::vector<std::byte> before = bytesOf(two.contexts[1], two.memory[1].address());
  EXPECT(captured(1, false) == nullptr);
  const cu::Graph first = captured(1, true);
  EXPECT(bytesOf(two.contexts[1], two.memory[1].address()) == before);
  std::size_t count = 0;
  OK(driver().cuGraphGetNodes(first, nullptr, &count));
  EXPECT(count == 2);
  cu::GraphNode nodes[2] = {};
  OK(driver().cuGraphGetNodes(first, nodes, &count));
  cu::GraphNodeType type = cu::kNodeEmpty;
  OK(driver().cuGraphNodeGetType(nodes[1], &type));
  EXPECT(type == cu::kNodeMemcpy);

  cu::GraphExec executable = nullptr;
  {
    const CurrentContext current(*two.contexts[0]);
    OK(driver().cuGraphInstantiateWithFlags(&executable, first, 0));
  }
  OK(driver().cuGraphLaunch(executable, two.streams[0].handle()));
  OK(settle(two.streams[0].handle()));
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 1) == 0);
  const cu::Graph second = captured(2, true);
  cu::GraphUpdateInfo info{};
  OK(driver().cuGraphExecUpdate_v2(executable, second, &info));
  for (int launch = 0; launch < 3; ++launch) OK(driver().cuGraphLaunch(executable, two.streams[0].handle()));
  OK(settle(two.streams[0].handle()));
  EXPECT(wrong(bytesOf(two.contexts[1], two.memory[1].address()), 2) == 0);

  // What was recorded in a capture is no point to wait for outside of it.
  EXPECT_RESULT(driver().cuStreamWaitEvent(two.streams[0].handle(), fork.handle(), 0), cu::kCapturedEvent);
  EXPECT_RESULT(driver().cuEventQuery(fork.handle()), cu::kCapturedEvent);

  // Another shape is no update, and a captured stream cannot be asked whether it is done.
  OK(driver().cuStreamBeginCapture_v2(two.streams[0].handle(), cu::kCaptureRelaxed));
  OK(fill(two.contexts[0], two.streams[0].handle(), two.memory[0].address(), 3));
  cu::Graph other = nullptr;
  OK(driver().cuStreamEndCapture(two.streams[0].handle(), &other));
  EXPECT_RESULT(driver().cuGraphExecUpdate_v2(executable, other, &info), cu::kGraphExecUpdateFailure);
  EXPECT(info.result == cu::kGraphUpdateTopologyChanged);
  OK(driver().cuStreamBeginCapture_v2(two.streams[0].handle(), cu::kCaptureRelaxed));
  EXPECT_RESULT(driver().cuStreamQuery(two.streams[0].handle()), cu::kStreamCaptureUnsupported);
  cu::Graph none = nullptr;
  EXPECT_RESULT(driver().cuStreamEndCapture(two.streams[0].handle(), &none), cu::kStreamCaptureInvalidated);
  for (const cu::Graph graph : {first, second, other}) OK(driver().cuGraphDestroy(graph));
  OK(driver().cuGraphExecDestroy(executable));
}

// CUPTI tells of kernels by name, of copies, memory sets, waits and calls but polls; the work of a graph
// belongs to its launch.
void traced() {
  Two two;
  peer(0, 1);
  const cu::Stream stream = two.streams[0].handle();
  const auto work = [&] {
    OK(fill(two.contexts[0], stream, two.memory[0].address(), 1));
    OK(driver().cuMemcpyAsync(two.memory[1].address(), two.memory[0].address(), kBytes, stream));
    OK(driver().cuMemsetD32Async(two.memory[0].address(), 7, kBytes / 4, stream));
  };
  OK(driver().cuStreamBeginCapture_v2(stream, cu::kCaptureRelaxed));
  work();
  cu::Graph graph = nullptr;
  OK(driver().cuStreamEndCapture(stream, &graph));
  cu::GraphExec executable = nullptr;
  {
    const CurrentContext current(*two.contexts[0]);
    OK(driver().cuGraphInstantiateWithFlags(&executable, graph, 0));
  }
  Tracer tracer({true, true}, 10);
  const std::uint64_t zero = tracer.now();
  work();
  while (driver().cuStreamQuery(stream) == cu::kNotReady) {
  }
  OK(driver().cuGraphLaunch(executable, stream));
  OK(settle(stream));
  std::map<std::string, double> calls;
  std::vector<TraceRecord> kernels;
  std::vector<TraceRecord> copies;
  std::vector<TraceRecord> sets;
  std::vector<TraceRecord> syncs;
  for (const TraceRecord& record : tracer.finish(zero)) {
    if (record.kind == TraceRecord::Kind::kApi) calls[record.name] = record.correlation;
    if (record.kind == TraceRecord::Kind::kKernel) kernels.push_back(record);
    if (record.kind == TraceRecord::Kind::kCopy) copies.push_back(record);
    if (record.kind == TraceRecord::Kind::kMemset) sets.push_back(record);
    if (record.kind == TraceRecord::Kind::kSync) syncs.push_back(record);
  }
  EXPECT(kernels.size() == 2 && copies.size() == 2);
  for (int i : {0, 1}) {
    EXPECT(kernels[i].name == "p2p_fill" && kernels[i].device == 0 && copies[i].name == "PtoP");
    EXPECT(copies[i].bytes == kBytes && copies[i].stream == kernels[i].stream);
  }
  EXPECT(copies[0].correlation == calls.at("cuMemcpyAsync"));
  EXPECT(sets.size() == 2 && sets[0].bytes == kBytes && sets[0].stream == copies[0].stream);
  EXPECT(sets[0].correlation == calls.at("cuMemsetD32Async"));
  // The polls are neither calls nor synchronisation.
  EXPECT(!calls.contains("cuStreamQuery"));
  EXPECT(syncs.size() == 1 && syncs[0].name == "stream synchronize" && syncs[0].stream == copies[0].stream);
  EXPECT(syncs[0].correlation == calls.at("cuStreamSynchronize"));
  EXPECT(copies[0].correlation != kernels[0].correlation);
  EXPECT(kernels[1].correlation == copies[1].correlation && sets[1].correlation == copies[1].correlation);
  EXPECT(kernels[1].correlation > copies[0].correlation);
  OK(driver().cuGraphDestroy(graph));
  OK(driver().cuGraphExecDestroy(executable));
}

// The process ends with work in every stream that never completes, and streams destroyed before it does.
void endless() {
  Two two;
  const PinnedMemory gate(two.contexts[0], 8);
  std::memset(gate.data(), 0, 8);
  const auto flag = reinterpret_cast<cu::DevicePtr>(gate.data());
  for (Stream& stream : two.streams) OK(driver().cuStreamWaitValue32_v2(stream.handle(), flag, 1, 0));
  const Stream destroyed(two.contexts[0]);
  OK(driver().cuStreamWaitValue32_v2(destroyed.handle(), flag, 1, 0));
  std::exit(0);
}

}  // namespace

Tests streamTests() {
  return {{"order", order},     {"conversation", conversation}, {"batch", batch},  {"elapsed", elapsed},
          {"capture", capture}, {"endless", endless},           {"traced", traced}};
}

}  // namespace p2p
