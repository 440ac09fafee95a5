// What an operation of a program is, in words, for messages and the names of ranges.
#pragma once

#include <string>

#include "program.h"

namespace p2p {

// `operation 2 (copy of GPU 0 → GPU 1)`; for a sync also what its stream was to do before.
std::string operationText(const ProgramRows& program, int operation);

// `copy GPU 0 → GPU 1, 1048576 bytes and 2 more`: the first operation, and how many there are beside.
std::string programText(const ProgramRows& program);

}  // namespace p2p
