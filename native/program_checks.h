// What must hold between the operations of a program, each of which is right by itself.
#pragma once

#include "program.h"

namespace p2p {

// Throws a kUsage failure: an event of two GPUs, a wait for what nothing does, a flag of two windows, what a
// graph cannot hold.
void checkProgram(const ProgramRows& program);

}  // namespace p2p
