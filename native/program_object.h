// A program as JavaScript gives it.
#pragma once

#include <napi.h>

#include "program.h"

namespace p2p {

// Reads and checks the argument of prepare(). Throws a kUsage failure that names the member.
ProgramRows programOf(const Napi::Object& program);

}  // namespace p2p
