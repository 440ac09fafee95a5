// What an operation of a program is, in words, for messages.
#pragma once

#include <string>

#include "program.h"

namespace p2p {

// `operation 2 (copy of GPU 0 → GPU 1)`; for a sync also what its stream was to do before.
std::string operationText(const ProgramRows& program, int operation);

}  // namespace p2p
