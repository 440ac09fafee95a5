// What the garbage collector lets go of. Freeing GPU memory waits until the GPU is done with its work, and
// the collector runs on JavaScript's thread: a thread of its own destroys it instead, so that nothing else
// waits.
#pragma once

#include <memory>

namespace p2p {

void discard(std::shared_ptr<const void> object);

// Whether all that was discarded is destroyed.
bool discardedAll();

}  // namespace p2p
