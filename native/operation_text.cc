#include "operation_text.h"

namespace p2p {

namespace {

// A sync names no more operations than these.
constexpr int kMostNamed = 3;

std::string placeText(const ProgramRows& program, int buffer) {
  const BufferRow& row = program.buffers[static_cast<std::size_t>(buffer)];
  return row.place == Place::kDevice ? "GPU " + std::to_string(row.gpu) : "host";
}

std::string gpuText(const ProgramRows& program, const OperationRow& row) {
  return "GPU " + std::to_string(program.streams[static_cast<std::size_t>(row.stream)]);
}

// Where the puts into the window of a receive come from.
std::string senderText(const ProgramRows& program, const OperationRow& receive) {
  for (const OperationRow& row : program.operations) {
    if (row.code == Opcode::kPut && row.b == receive.a && row.flag == receive.flag && row.c == receive.c)
      return gpuText(program, row);
  }
  return "?";
}

std::string whatText(const ProgramRows& program, const OperationRow& row) {
  switch (row.code) {
    case Opcode::kCopy:
      return "copy " + placeText(program, row.a) + " → " + placeText(program, row.b);
    case Opcode::kPut:
      return "put " + placeText(program, row.a) + " → " + placeText(program, row.b);
    case Opcode::kReceive:
      return "receive " + senderText(program, row) + " → " + gpuText(program, row);
    case Opcode::kRecord:
      return "record of event " + std::to_string(row.a);
    case Opcode::kWait:
      return "wait for event " + std::to_string(row.a);
    case Opcode::kSignal:
      return "signal from " + gpuText(program, row) + " to " + placeText(program, row.a);
    case Opcode::kAwait:
      return "await on " + gpuText(program, row) + " of a signal to " + placeText(program, row.a);
    case Opcode::kCompute:
      return "compute on " + gpuText(program, row);
    case Opcode::kLaunch:
      return "launch on " + gpuText(program, row);
    case Opcode::kSync:
      return "sync of stream " + std::to_string(row.stream);
  }
  return "?";
}

std::string numbered(const ProgramRows& program, int operation, const std::string& more = "") {
  const OperationRow& row = program.operations[static_cast<std::size_t>(operation)];
  return "operation " + std::to_string(operation) + " (" + whatText(program, row) + more + ")";
}

}  // namespace

std::string operationText(const ProgramRows& program, int operation) {
  const OperationRow& row = program.operations[static_cast<std::size_t>(operation)];
  if (row.code != Opcode::kSync) return numbered(program, operation);
  std::string before;
  int named = 0;
  for (int i = 0; i < operation; ++i) {
    const OperationRow& earlier = program.operations[static_cast<std::size_t>(i)];
    if (earlier.code == Opcode::kSync || (earlier.stream != row.stream && !program.graph)) continue;
    if (named == kMostNamed) {
      before += ", …";
      break;
    }
    before += (named++ ? ", " : " after ") + whatText(program, earlier);
  }
  return numbered(program, operation, before);
}

std::string programText(const ProgramRows& program) {
  if (program.operations.empty()) return "nothing";
  const OperationRow& first = program.operations.front();
  const bool moves = first.code == Opcode::kCopy || first.code == Opcode::kPut;
  const std::size_t more = program.operations.size() - 1;
  return whatText(program, first) + (moves ? ", " + std::to_string(first.bytes) + " bytes" : "") +
         (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

}  // namespace p2p
