// The kernel that does nothing.
#include "fake_kernels.h"

using namespace fake;

namespace {

const Kernel kEmpty("p2p_empty", [](Launch&) {});

}  // namespace
