#include "program_checks.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "errors.h"

namespace p2p {

namespace {

// An event belongs to the context of the stream that records it: all records of an event must be on one GPU,
// and a wait for an event that nothing records would wait for nothing.
void checkEvents(const ProgramRows& program) {
  std::vector<int> gpuOfEvent(static_cast<std::size_t>(program.eventCount), -1);
  for (const OperationRow& operation : program.operations) {
    if (operation.code != Opcode::kRecord) continue;
    int& gpu = gpuOfEvent[static_cast<std::size_t>(operation.a)];
    const int own = program.streams[static_cast<std::size_t>(operation.stream)];
    if (gpu >= 0 && gpu != own) {
      throw usage("event " + std::to_string(operation.a) + " is recorded on GPU " + std::to_string(gpu) +
                      " and on GPU " + std::to_string(own),
                  "Use one event for each GPU.");
    }
    gpu = own;
  }
  for (const OperationRow& operation : program.operations) {
    if (operation.code == Opcode::kWait && gpuOfEvent[static_cast<std::size_t>(operation.a)] < 0)
      throw usage("event " + std::to_string(operation.a) + " is waited for but never recorded",
                  "Record the event first.");
  }
}

void checkSignals(const ProgramRows& program) {
  for (const OperationRow& await : program.operations) {
    if (await.code != Opcode::kAwait) continue;
    const bool signalled =
        std::any_of(program.operations.begin(), program.operations.end(), [&](const OperationRow& row) {
          return row.code == Opcode::kSignal && row.a == await.a && row.dstOffset == await.dstOffset;
        });
    if (!signalled)
      throw usage("buffer " + std::to_string(await.a) + "+" + std::to_string(await.dstOffset) +
                      " is awaited but never signalled",
                  "Signal it on another stream.");
  }
}

// Numbers count the puts into a window: each receive takes one, and a flag belongs to one window.
void checkTransfers(const ProgramRows& program) {
  std::map<std::tuple<int, int, int>, int> puts;
  std::map<int, int> windowOfFlag;
  for (const OperationRow& row : program.operations) {
    if (row.code != Opcode::kPut) continue;
    ++puts[{row.b, row.flag, row.c}];
    if (row.c < 0) continue;
    const auto [at, isNew] = windowOfFlag.try_emplace(row.c, row.b);
    if (!isNew && at->second != row.b)
      throw usage("buffer " + std::to_string(row.c) + " holds the flag of two windows",
                  "Give each window a flag of its own.");
  }
  for (const OperationRow& row : program.operations) {
    if (row.code == Opcode::kReceive && --puts[{row.a, row.flag, row.c}] < 0)
      throw usage("buffer " + std::to_string(row.a) + " receives more often than is put into it in that way",
                  "Put into it with the same protocol and flag.");
  }
}

void checkGraph(const ProgramRows& program) {
  bool synced = false;
  for (const OperationRow& row : program.operations) {
    if (row.code == Opcode::kSignal || row.code == Opcode::kAwait)
      throw usage("a graph cannot count iterations", "Order its streams by events.");
    if (synced && row.code != Opcode::kSync)
      throw usage("a graph cannot hold a host sync", "Move the syncs to the end.");
    synced = synced || row.code == Opcode::kSync;
  }
}

}  // namespace

void checkProgram(const ProgramRows& program) {
  checkEvents(program);
  checkSignals(program);
  checkTransfers(program);
  if (program.graph) checkGraph(program);
}

}  // namespace p2p
