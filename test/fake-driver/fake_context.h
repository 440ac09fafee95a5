// Primary contexts, the one that is current in a thread, and peer access between them.
#pragma once

#include <atomic>
#include <set>

#include "../../native/cuda_api.h"

struct CUctx_st {
  int gpu = 0;
  int references = 0;
  std::set<int> peers;
  // The error that broke it, as an illegal address does; every later call answers it.
  std::atomic<p2p::cu::Result> broken{p2p::cu::kSuccess};
};

namespace fake {

// nullptr: none.
CUctx_st* currentContext();

// What a call in the current context has to answer before it does anything.
p2p::cu::Result currentState();

// Whether one GPU may access plain allocations of another.
bool peering(int from, int to);

}  // namespace fake
