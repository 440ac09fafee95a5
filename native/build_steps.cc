// Turns the operations of a program into steps.
#include <algorithm>

#include "driver_library.h"
#include "steps.h"

namespace p2p {

namespace {

// The event or the word by which a sync learns that its stream is complete is set after the last operation
// that is submitted, so that syncs which follow each other do not keep each other's from being submitted.
class Builder {
 public:
  Builder(const ProgramRows& program, const Resources& resources, const Handshakes* handshakes, Syncs syncs)
      : program_(program), resources_(resources), handshakes_(handshakes), syncs_(syncs) {}

  StepTable build(cu::GraphExec graph) {
    if (graph) {
      const int first = program_.operations.front().stream;
      Step step = stepOf(0, first);
      step.what = Step::Do::kGraph;
      step.graph = graph;
      submit(first, step);
    }
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      const OperationRow& row = program_.operations[i];
      if (row.code == Opcode::kSync) {
        if (syncs_ != Syncs::kLeftOut) syncsFrom(i);
      } else if (!graph) {
        operation(static_cast<int>(i), row);
      }
    }
    if (!table_.first) table_.first = resources_.stream(program_.operations.front().stream).context();
    return std::move(table_);
  }

 private:
  Step stepOf(int index, int stream) const {
    Step step{};
    step.operation = index;
    step.stream = resources_.stream(stream).handle();
    return step;
  }

  // As a program of several GPUs does with cudaSetDevice: submit with the stream's own context current.
  void submit(int stream, const Step& step) {
    const std::shared_ptr<DeviceContext>& context = resources_.stream(stream).context();
    if (!table_.first) {
      table_.first = context;
    } else if (context->handle() != current_) {
      Step change{};
      change.what = Step::Do::kSetContext;
      change.operation = step.operation;
      change.context = context->handle();
      table_.steps.push_back(change);
      table_.switches = true;
    }
    current_ = context->handle();
    if (std::find(table_.streams.begin(), table_.streams.end(), stream) == table_.streams.end())
      table_.streams.push_back(stream);
    table_.steps.push_back(step);
    table_.submitEnd = table_.steps.size();
  }

  void operation(int index, const OperationRow& row) {
    Step step = stepOf(index, row.stream);
    switch (row.code) {
      case Opcode::kCopy:
        if (!copy(row, step)) return;
        break;
      case Opcode::kRecord:
        step.what = Step::Do::kRecord;
        step.event = resources_.event(row.a)->handle();
        break;
      case Opcode::kWait:
        step.what = Step::Do::kWait;
        step.event = resources_.event(row.a)->handle();
        break;
      case Opcode::kSignal:
        (void)P2P_PRESENT(cuStreamWriteValue32_v2);
        step.what = Step::Do::kWriteValue;
        step.dst = resources_.address(row.a) + row.dstOffset;
        break;
      case Opcode::kAwait:
        (void)P2P_PRESENT(cuStreamWaitValue32_v2);
        step.what = Step::Do::kWaitValue;
        step.dst = resources_.address(row.a) + row.dstOffset;
        break;
      default:
        launch(index, row, step);
        break;
    }
    submit(row.stream, step);
  }

  void launch(int index, const OperationRow& row, Step& step) {
    step.what = Step::Do::kLaunch;
    table_.launches.push_back(launchOf(row, index, resources_, *handshakes_));
    step.launch = table_.launches.back().get();
  }

  // False: the copy went into the batch of the step before it.
  bool copy(const OperationRow& row, Step& step) {
    step.src = resources_.address(row.a) + row.srcOffset;
    step.dst = resources_.address(row.b) + row.dstOffset;
    step.bytes = row.bytes;
    const auto gpuOf = [&](int buffer) { return program_.buffers[static_cast<std::size_t>(buffer)].gpu; };
    switch (static_cast<CopyApi>(row.flag)) {
      case CopyApi::kDefault:
        step.what = Step::Do::kCopy;
        return true;
      case CopyApi::kPeer:
      case CopyApi::kPeer3d:
        step.what =
            row.flag == static_cast<int>(CopyApi::kPeer) ? Step::Do::kCopyPeer : Step::Do::kCopyPeer3d;
        step.context = resources_.context(gpuOf(row.b))->handle();
        step.srcContext = resources_.context(gpuOf(row.a))->handle();
        return true;
      case CopyApi::kKernel:
        launch(step.operation, row, step);
        return true;
      case CopyApi::kBatch:
        break;
    }
    if (!table_.steps.empty()) {
      const Step& last = table_.steps.back();
      if (last.what == Step::Do::kCopyBatch && last.stream == step.stream &&
          last.batch->add(step.dst, step.src, step.bytes))
        return false;
    }
    step.what = Step::Do::kCopyBatch;
    table_.batches.push_back(std::make_unique<BatchCopy>());
    step.batch = table_.batches.back().get();
    (void)step.batch->add(step.dst, step.src, step.bytes);
    return true;
  }

  // The sync at `index`. The first of a run of syncs also submits what the others of the run need.
  void syncsFrom(std::size_t index) {
    const auto& operations = program_.operations;
    if (index == 0 || operations[index - 1].code != Opcode::kSync) {
      for (std::size_t i = index; i < operations.size() && operations[i].code == Opcode::kSync; ++i)
        mark(static_cast<int>(i), operations[i]);
    }
    const OperationRow& row = operations[index];
    Step step = stepOf(static_cast<int>(index), program_.submitStream(row));
    switch (static_cast<SyncMethod>(row.flag)) {
      case SyncMethod::kSpin:
        step.what = Step::Do::kSpin;
        break;
      case SyncMethod::kYield:
        step.what = Step::Do::kYield;
        break;
      case SyncMethod::kBlock:
        step.what = syncs_ == Syncs::kPolled ? Step::Do::kYield : Step::Do::kBlock;
        break;
      case SyncMethod::kPollEvent:
        step.what = Step::Do::kPollEvent;
        step.event = resources_.syncEvent(static_cast<int>(index)).handle();
        break;
      case SyncMethod::kPollFlag:
        step.what = Step::Do::kPollFlag;
        step.word = resources_.syncWord(static_cast<int>(index));
        break;
    }
    table_.steps.push_back(step);
  }

  void mark(int index, const OperationRow& row) {
    const auto method = static_cast<SyncMethod>(row.flag);
    if (method != SyncMethod::kPollEvent && method != SyncMethod::kPollFlag) return;
    Step step = stepOf(index, program_.submitStream(row));
    if (method == SyncMethod::kPollEvent) {
      step.what = Step::Do::kRecord;
      step.event = resources_.syncEvent(index).handle();
    } else {
      (void)P2P_PRESENT(cuStreamWriteValue32_v2);
      step.what = Step::Do::kWriteValue;
      step.dst = reinterpret_cast<cu::DevicePtr>(resources_.syncWord(index));
    }
    submit(program_.submitStream(row), step);
  }

  const ProgramRows& program_;
  const Resources& resources_;
  const Handshakes* handshakes_;
  Syncs syncs_;
  cu::Context current_ = nullptr;
  StepTable table_;
};

}  // namespace

StepTable buildSteps(const ProgramRows& program, const Resources& resources, const Handshakes& handshakes,
                     Syncs syncs) {
  return Builder(program, resources, &handshakes, syncs).build(nullptr);
}

StepTable buildGraphSteps(const ProgramRows& program, const Resources& resources, cu::GraphExec graph,
                          Syncs syncs) {
  return Builder(program, resources, nullptr, syncs).build(graph);
}

}  // namespace p2p
